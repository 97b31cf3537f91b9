"""An absent device, described by a device profile.

with AbsentDevice("h100") as device:
    torch.cuda.is_available()       # True: the model's code takes the paths that it takes on the card
"""

import contextlib
import json
import os
import pathlib
import threading
import types
from functools import partial
from unittest import mock

import torch

from ..errors import message
from ..library import ops

# Functions of torch.cuda, and the values that they return within the context if the process has no device.
# Further functions, see `facts_told`, are replaced whether or not there is a device.
NOTHING_RUNS = [
    (torch.cuda, "is_available", True),
    (torch.cuda, "device_count", 1),
    (torch.cuda, "current_device", 0),
    (torch.cuda, "set_device", None),
    (torch.cuda, "_exchange_device", 0),
    (torch.cuda, "_maybe_exchange_device", 0),
    (torch.cuda, "is_current_stream_capturing", False),
    (torch.cuda, "synchronize", None),
    (torch.cuda, "empty_cache", None),
    (torch.cuda, "memory_allocated", 0),
    (torch.cuda, "max_memory_allocated", 0),
    (torch.cuda, "memory_reserved", 0),
    (torch.cuda, "reset_peak_memory_stats", None),
]
for module in (torch.cuda, torch.cuda.random):
    NOTHING_RUNS += [(module, name, None) for name in ("manual_seed", "manual_seed_all")]
    NOTHING_RUNS += [(module, "initial_seed", 0)]

# These functions of torch.cuda use the host's generator instead of the device's, see
# runtime/shapes/shape_device.cpp.
OF_HOSTS_GENERATOR = [
    (torch.cuda, "get_rng_state", lambda *_: torch.random.get_rng_state()),
    (torch.cuda, "set_rng_state", lambda state, *_: torch.random.set_rng_state(state)),
]
# Only one thread at a time may have an absent device.
TURN = threading.RLock()


@contextlib.contextmanager
def autocast_is_there():
    """A context in which torch.autocast("cuda") can be created as if a card were present. Without a card,
    torch disables an autocast region when the region is created. A region that is a decorator is created when
    its module is imported."""
    common = torch.cuda.amp.common
    with contextlib.ExitStack() as entered:
        if not torch.cuda.is_available():
            entered.enter_context(
                mock.patch.object(common, "amp_definitely_not_available", partial(tell, False))
            )
            entered.enter_context(mock.patch.object(torch.cuda, "is_bf16_supported", partial(tell, True)))
        yield


def tell(answer, *_, **__):
    return answer


def told(answers) -> list:
    """Returns (module, name, function) for each (module, name, answer); the function always returns the
    answer."""
    return [(module, name, partial(tell, answer)) for module, name, answer in answers]


class AbsentDevice:
    """An absent device. Within its context torch assumes that the device is present, but nothing can run on
    it. `profile`: the name or the path of a device profile. `host`: the name or the path of a host profile;
    by default the host that such devices usually have. Raises ValueError, with the known profiles, if there
    is no such profile."""

    def __init__(self, profile, host=None):
        self.profile = str(profile)
        try:
            self.facts = json.loads(ops.device_facts(self.profile))
            if host is not None:
                ops.check_host_profile(os.fspath(host))
        except RuntimeError as error:
            raise ValueError(message(error)) from None
        self.is_cuda = self.facts["kind"] == "cuda"
        self.name = "cuda:0" if self.is_cuda else "cpu"  # the device of its tensors, as torch names it
        # The device in the notation of the compiled part, see runtime/training/open_devices.h.
        self.recorded_as = f"meta:{self.profile}" + ("" if host is None else f"\n{os.fspath(host)}")
        self.open = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as entered:
            entered.enter_context(TURN)
            if self.is_cuda:
                functions = told(self.facts_told())
                if not torch.cuda.is_available():
                    entered.enter_context(mock.patch.object(torch.cuda, "_initialized", True))
                    functions += told(NOTHING_RUNS) + OF_HOSTS_GENERATOR
                for module, name, function in functions:
                    entered.enter_context(mock.patch.object(module, name, function))
                ops.stand_in_for(self.profile)
                entered.callback(ops.stand_in_for, "")
            # Autograd has no thread for a device that was absent when autograd was initialized, so backwards
            # run in the thread that calls them.
            entered.enter_context(torch.autograd.set_multithreading_enabled(False))
            self.open = entered.pop_all()
        return self

    def __exit__(self, *_):
        self.open.close()

    def facts_told(self) -> list:
        """Returns the answers of functions of torch.cuda about the device: (module, name of the function,
        answer)."""
        capability = divmod(round(self.facts["capability"] * 10), 10)
        memory = self.facts["memory_bytes"]
        properties = types.SimpleNamespace(
            name=self.facts["name"], major=capability[0], minor=capability[1], total_memory=memory
        )
        says = {
            "get_device_name": self.facts["name"],
            "get_device_capability": capability,
            "get_device_properties": properties,
            "is_bf16_supported": capability >= (8, 0),
            "mem_get_info": (memory, memory),
        }
        return [(torch.cuda, name, answer) for name, answer in says.items()]


def device_named(device: str | None, profile, host=None) -> AbsentDevice:
    """Returns the device of the profile, with this host. Raises ValueError if `device` ("cpu", "cuda",
    "cuda:0" or None) is of another kind than the profile."""
    found = AbsentDevice(profile, host)
    if device is not None and str(device) not in ("meta", found.facts["kind"], found.name):
        raise ValueError(
            f"rematlas: device is {device!r}, and the device profile {pathlib.Path(profile).name} is of a"
            f" {found.facts['kind']} device: give {found.facts['kind']!r}, or leave device out"
        )
    return found
