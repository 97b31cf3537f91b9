"""Settings outside of the module that affect how its ops run. They are a part of a plan's key."""

import contextlib
import random
import sys
from typing import NamedTuple

import torch
from torch.autograd import forward_ad
from torch.nn.modules import module as nn_module
from torch.nn.utils import parametrize
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from ..compiled.memory import other_bytes
from ..errors import message
from ..library import ops
from . import offloading

# hooks of all modules, see torch.nn.modules.module.register_module_forward_hook
GLOBAL_HOOKS = (
    nn_module._global_forward_pre_hooks,
    nn_module._global_forward_hooks,
    nn_module._global_backward_pre_hooks,
    nn_module._global_backward_hooks,
)
global_hooks_seen = {}  # keeps these hooks alive, so that no other hook gets the same id


def current(device: str):
    """Returns the settings in force for a device such as "cuda:1". They are hashable. Steps under equal
    settings run the same ops in the same way."""
    device = device.partition(":")[0]
    autocast = torch.is_autocast_enabled(device)
    return (
        autocast and str(torch.get_autocast_dtype(device)),
        autocast and torch.is_autocast_cache_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_num_threads(),
        torch.get_default_dtype(),
        torch.get_float32_matmul_precision(),
        torch._C._get_flash_sdp_enabled(),
        torch._C._get_mem_efficient_sdp_enabled(),
        torch._C._get_math_sdp_enabled(),
        torch._C._get_mkldnn_enabled(),
        tuple(id(global_hooks_seen.setdefault(id(h), h)) for hooks in GLOBAL_HOOKS for h in hooks.values()),
    ) + (_cuda() if device == "cuda" else ())


def _cuda():
    return (
        torch._C._get_cudnn_enabled(),
        torch._C._get_cudnn_benchmark(),
        torch._C._get_cudnn_deterministic(),
        torch._C._get_cublas_allow_tf32(),
        torch._C._get_cudnn_allow_tf32(),
        torch._C._get_cudnn_sdp_enabled(),
    )


opened = set()  # devices on which memory could be measured


def unplannable(device: str) -> str:
    """Returns why no step can be planned on this device under the present settings; empty if steps can be
    planned."""
    if device not in opened:
        try:
            other_bytes([], [], device)
        except RuntimeError as error:
            return message(error)
        opened.add(device)
    if device != "cpu" and torch._C._get_cudnn_enabled() and torch._C._get_cudnn_benchmark():
        return (
            "torch.backends.cudnn.benchmark is on, which chooses kernels by what they take at the moment: set"
            " it to False"
        )
    return ""


def shares_casts(device: str) -> bool:
    """Says whether forwards in one autocast region share their casts of the weights."""
    return torch.is_autocast_enabled(device.partition(":")[0]) and torch.is_autocast_cache_enabled()


SHARED_CASTS = (
    "forwards share casts of weights in one autocast region: use one region for each forward, or"
    " cache_enabled=False"
)


class CastRegion:
    """The autocast region that the program is in. Autocast caches the cast of the tensor `weight` until the
    region ends. So while the cache returns the same cast, the program is still in the region."""

    def __init__(self, device: str):
        self.device = device.partition(":")[0]
        self.weight = torch.zeros((), dtype=torch.float32, device=device, requires_grad=True)
        self.is_shared = False  # several forwards in the region were open at the same time
        self.cast = self.cast_now()

    def cast_now(self):
        with torch._C.DisableTorchFunction():
            return ops.cached_cast(self.weight, torch.get_autocast_dtype(self.device))

    def goes_on(self) -> bool:
        """Says whether the program is still in this region."""
        return shares_casts(self.device) and self.cast_now() is self.cast

    def clear(self) -> None:
        """Clears the cache of autocast. Weights that were cast in the region are then cast again."""
        torch.clear_autocast_cache()
        self.cast = self.cast_now()


class Autocast:
    """The settings of autocast on a device at the time when this object is made. `again` returns a context
    that applies these settings."""

    __slots__ = ("cache", "device", "dtype", "enabled")

    def __init__(self, device: str):
        self.device = device.partition(":")[0]
        self.enabled = torch.is_autocast_enabled(self.device)
        self.dtype = torch.get_autocast_dtype(self.device)
        self.cache = torch.is_autocast_cache_enabled()

    def again(self):
        return torch.autocast(self.device, dtype=self.dtype, enabled=self.enabled, cache_enabled=self.cache)


class Bystander(NamedTuple):
    """Another tool that watches or replaces the ops of a call: for example a tracer, a dispatch mode, or
    hooks. The original must run such a call unchanged."""

    name: str
    advice: str  # what the user can do so that the call is planned
    allows_eviction: bool = False


OUTSIDE = "call the module outside of it"
JIT = Bystander("tracing by torch.jit", "trace the module before rematlas.apply or after rematlas.remove")
COMPILER = Bystander(
    "tracing by torch.compile or torch.export", "apply rematlas to what is not compiled or exported"
)
FORWARD_AD = Bystander("forward-mode differentiation (torch.autograd.forward_ad)", OUTSIDE)
FUNCTORCH = Bystander("a transform of torch.func", OUTSIDE)
CAPTURE = Bystander("the capture of a CUDA graph", OUTSIDE)
CHECKPOINT = Bystander(
    "torch.utils.checkpoint around the module", "call the module without it, for plans recompute", True
)
HOOKS = Bystander(
    "saved tensor hooks of your own (torch.autograd.graph)", "call the module outside of them", True
)
ANOMALY = Bystander("anomaly mode (torch.autograd.set_detect_anomaly)", "turn it off", True)
CACHED = Bystander(
    "torch.nn.utils.parametrize.cached() around the module",
    "call the module outside of it, because forwards share weights within it",
    True,
)


def bystander(module) -> Bystander | None:
    """Returns the bystander that prevents a plan from running this call of the module; None if there is
    none."""
    if torch._C._get_tracing_state() is not None:
        return JIT
    if torch.compiler.is_compiling():
        return COMPILER
    if forward_ad._current_level >= 0:
        return FORWARD_AD
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return FUNCTORCH
    if torch._C._len_torch_dispatch_stack() > 0:
        return Bystander(f"the dispatch mode {_names_of(_get_current_dispatch_mode_stack())}", OUTSIDE)
    if torch._C._len_torch_function_stack() > 0 and (foreign := _foreign_function_modes()):
        return Bystander(f"the function mode {_names_of(foreign)}", OUTSIDE, True)
    if (hooks := offloading.first_unknown()) is not None:
        pack_module = getattr(hooks[0], "__module__", None)
        return CHECKPOINT if pack_module == "torch.utils.checkpoint" else HOOKS
    if torch.is_anomaly_enabled():
        return ANOMALY
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        return CAPTURE
    if parametrize._cache_enabled and any(map(parametrize.is_parametrized, module.modules())):
        return CACHED
    return None


def _foreign_function_modes() -> list:
    from torch.utils._device import DeviceContext

    modes = [torch._C._get_function_stack_at(i) for i in range(torch._C._len_torch_function_stack())]
    return [mode for mode in modes if not isinstance(mode, DeviceContext)]


def _names_of(modes) -> str:
    return ", ".join(dict.fromkeys(type(mode).__name__ for mode in modes))


class Randomness:
    """The states of the random generators of Python and numpy. `moved` compares them later, to see whether
    somebody has drawn from these generators."""

    def __init__(self):
        self.state = self.read()

    @staticmethod
    def read():
        python = sys.modules.get("random")
        numpy = sys.modules.get("numpy")
        return (
            python.getstate() if python else None,
            numpy.random.get_state(legacy=True)[1].tobytes()
            + bytes(str(numpy.random.get_state()[2:]), "ascii")
            if numpy
            else None,
        )

    def moved(self):
        now = self.read()
        for name, before, after in zip(("Python", "numpy"), self.state, now):
            if before != after:
                return name
        return None


class Generators:
    """The states of the generators of torch (the host's and the device's), Python and numpy."""

    def __init__(self, device: str):
        self.device = device
        self.of_python = random.getstate()
        numpy = sys.modules.get("numpy")
        self.of_numpy = numpy.random.get_state() if numpy else None
        self.of_host = torch.get_rng_state()
        self.of_device = None if device == "cpu" else torch.cuda.get_rng_state(device)

    def put_back(self) -> None:
        random.setstate(self.of_python)
        if self.of_numpy is not None:
            sys.modules["numpy"].random.set_state(self.of_numpy)
        torch.set_rng_state(self.of_host)
        if self.of_device is not None:
            torch.cuda.set_rng_state(self.of_device, self.device)


@contextlib.contextmanager
def generators_put_back(device: str):
    """A context in which random numbers may be drawn; at its end the generators get their former states
    back."""
    generators = Generators(device)
    try:
        yield
    finally:
        generators.put_back()
