"""What outside of the module decides how its ops run: part of the key of a plan."""

import sys

import torch
from torch.overrides import TorchFunctionMode

from ..compiled.memory import other_bytes
from ..errors import message
from ..library import ops


def current(device: str):
    """Of a device such as "cuda:1". Hashable. Equal settings give equal steps."""
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


opened = set()  # devices


def unplannable(device: str) -> str:
    """Why no step can be planned for on this device under these settings."""
    if device not in opened:
        try:
            other_bytes([], [], device)
        except RuntimeError as error:
            return message(error)
        opened.add(device)
    if device != "cpu" and torch._C._get_cudnn_enabled() and torch._C._get_cudnn_benchmark():
        return "torch.backends.cudnn.benchmark is on, which chooses kernels by what they take at the moment"
    return ""


def shares_casts(device: str) -> bool:
    """Whether forwards in one region of autocast share their casts of the weights."""
    return torch.is_autocast_enabled(device.partition(":")[0]) and torch.is_autocast_cache_enabled()


SHARED_CASTS = (
    "forwards share casts of weights in one autocast region: use one region for each forward, or"
    " cache_enabled=False"
)


class CastRegion:
    """The region of autocast that the program is in: it keeps the cast of what stands for weights."""

    def __init__(self, device: str):
        self.device = device.partition(":")[0]
        self.weight = torch.zeros((), dtype=torch.float32, device=device, requires_grad=True)
        self.cast = self.cast_now()
        self.is_shared = False  # several forwards in it have been open at a time

    def cast_now(self):
        return ops.cached_cast(self.weight, torch.get_autocast_dtype(self.device))

    def goes_on(self) -> bool:
        """Says whether the program is still in it."""
        return shares_casts(self.device) and self.cast_now() is self.cast


class Autocast:
    """The settings of autocast on a device now. `again` is a context that puts them in force."""

    __slots__ = ("cache", "device", "dtype", "enabled")

    def __init__(self, device: str):
        self.device = device.partition(":")[0]
        self.enabled = torch.is_autocast_enabled(self.device)
        self.dtype = torch.get_autocast_dtype(self.device)
        self.cache = torch.is_autocast_cache_enabled()

    def again(self):
        return torch.autocast(self.device, dtype=self.dtype, enabled=self.enabled, cache_enabled=self.cache)


def leaves_alone() -> bool:
    """Somebody else watches or replaces ops (a tracer, a mode, functorch): the original must run as it is."""
    return (
        torch._C._get_tracing_state() is not None
        or torch._C._len_torch_dispatch_stack() > 0
        or (torch._C._len_torch_function_stack() > 0 and _foreign_function_mode())
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
        or torch.is_anomaly_enabled()
        or torch.compiler.is_compiling()
        or (torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())
    )


def _foreign_function_mode() -> bool:
    from torch.utils._device import DeviceContext

    modes = [torch._C._get_function_stack_at(i) for i in range(torch._C._len_torch_function_stack())]
    return any(not isinstance(mode, DeviceContext) for mode in modes)


class Randomness:
    """The states of the generators outside of torch, by which one sees whether somebody has drawn from
    them."""

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


class ValuesRead(TorchFunctionMode):
    """Notes when the program takes values out of tensors by ways that no op shows."""

    READS = {
        torch.Tensor.tolist: "tolist()",
        torch.Tensor.numpy: "numpy()",
        torch.Tensor.__array__: "numpy",
        torch.Tensor.data_ptr: "data_ptr()",
        torch.Tensor.untyped_storage: "untyped_storage()",
        torch.Tensor.storage: "storage()",
        torch.Tensor.__dlpack__: "dlpack",
    }
    LENGTHS = {torch.ctc_loss: slice(2, 4), torch.nn.functional.ctc_loss: slice(2, 4)}

    def __init__(self, recording):
        super().__init__()
        self.recording = recording

    def __torch_function__(self, function, types, args=(), kwargs=None):
        # Fake tensors are made of geometry alone
        makes_fake = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None
        how = not makes_fake and self.READS.get(function)
        if how and args and self.recording.depends_on_data(args[0]):
            self.refuse(f"{how}: the program takes values out of torch")
        if function in self.LENGTHS:
            for value in args[self.LENGTHS[function]]:
                if isinstance(value, torch.Tensor) and self.recording.depends_on_data(value):
                    self.refuse("ctc_loss reads its lengths where no op shows it")
        return function(*args, **(kwargs or {}))

    def refuse(self, why):
        line = self.recording.line()
        self.recording.refuse(f"{why}{' at ' + line if line else ''}")
