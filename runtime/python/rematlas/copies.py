"""Says which tensors a plan may copy to the host, and over which links. Makes tensors of a device that are
stored in host memory."""

import json
import os

import torch

from .errors import message
from .library import ops

CHOICES = ("none", "activations", "weights", "all")


class Copies:
    """The copies that a plan may make. `links`: the name of links (pcie3, pcie4, pcie5, c2c) or of a device
    (h200, ...), or the path of a profile of links or of a device. `in_training`: whether the plan is for a
    training program. Such a program may read parameters during a step, so parameters must not move within the
    step. Raises ValueError if an argument is wrong."""

    def __init__(self, offload, links, host_budget, device, in_training=True):
        if offload not in CHOICES:
            raise ValueError(
                f"rematlas: offload is {offload!r}; expected {', '.join(map(repr, CHOICES[:-1]))} or"
                f" {CHOICES[-1]!r}"
            )
        self.text = ""
        self.device = device
        self.moves_weights = offload in ("weights", "all")
        if offload == "none":
            for name, value in (("links", links), ("host_budget", host_budget)):
                if value is not None:
                    raise ValueError(f"rematlas: {name} is about copies to the host, and offload allows none")
            return
        if links is None:
            raise ValueError(
                "rematlas: links is missing: the name of the links that copies go over (pcie4, c2c, h200,"
                " ...), or a profile's path"
            )
        asked = {"offload": offload, "links": os.fspath(links), "in_training": in_training}
        if host_budget is not None:
            asked["host_budget"] = str(host_budget)
        self.text = json.dumps(asked)
        try:
            ops.check_copies(self.text)
        except RuntimeError as error:
            raise ValueError(message(error)) from None

    def filled(self, like, value):
        """Returns, for each tensor in `like`, a tensor of the device that is filled with `value`. If weights
        are on the host, the memory of these tensors is also on the host."""
        if not self.moves_weights:
            return [torch.full_like(tensor, value, memory_format=torch.preserve_format) for tensor in like]
        return (
            ops.host_tensors([tensor.detach() for tensor in like], self.device, float(value)) if like else []
        )

    def take_home(self, module):
        """Moves the parameters' memory to the host, and buffers to the device. The parameters remain tensors
        of the device: its kernels read and write them in host memory."""
        with torch.no_grad():
            parameters = [parameter for parameter in module.parameters() if parameter.numel() > 0]
            for parameter, tensor in zip(
                parameters,
                ops.host_tensors([parameter.detach() for parameter in parameters], self.device, None),
            ):
                parameter.data = tensor
            for submodule in module.modules():
                for name, buffer in submodule._buffers.items():
                    if buffer is not None and str(buffer.device) != self.device:
                        submodule._buffers[name] = buffer.to(self.device)
