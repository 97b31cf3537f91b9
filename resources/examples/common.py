"""Code that the examples share: their options, generated data, and the lines that they print at the end."""

import argparse
import hashlib
import socket

import torch


def options(text: str, budget: str = "70%") -> argparse.Namespace:
    """Reads the command line. Fixes the number of threads and the random seed, so every run prints the same
    digest."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--plain", action="store_true", help="train without rematlas")
    parser.add_argument("--budget", default=budget, help="bytes, 2GiB, or a share of the peak without a plan")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return parser.parse_args()


def texts(count: int, length: int = 64, vocabulary: int = 128) -> torch.Tensor:
    """Returns counting sequences with a random start and stride. A language model learns them quickly."""
    start, stride = torch.randint(vocabulary, (count, 1)), torch.randint(1, 4, (count, 1))
    return (start + stride * torch.arange(length)) % vocabulary


def images(count: int, size: int = 32, classes: int = 10) -> torch.utils.data.TensorDataset:
    """Returns images of noise with a stripe. The class of an image is the position of its stripe."""
    noise, labels = torch.randn(count, 3, size, size), torch.randint(classes, (count,))
    for image, label in zip(noise, labels):
        image[:, :, size * label // classes : size * (label + 1) // classes] += 2
    return torch.utils.data.TensorDataset(noise, labels)


def free_port() -> int:
    """Returns a free port on this machine. The processes of one training use it to find each other."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_plan(options: argparse.Namespace, *applied: torch.nn.Module) -> None:
    """Waits until the modules have their plans. Long trainings need not wait: they go on without a plan until
    the plan is ready. The examples are so short that they would end before the plans are ready."""
    if not options.plain:
        import rematlas

        for module in applied:
            rematlas.status(module).wait()


def digest(model: torch.nn.Module) -> str:
    """Returns a digest of the names, types, shapes and bits of all parameters and buffers. The processes
    first put sharded tensors together."""
    state = hashlib.sha256()
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
        tensor = tensor.detach().cpu().contiguous()
        state.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        state.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return state.hexdigest()


def status_line(module: torch.nn.Module) -> str:
    import rematlas

    s = rematlas.status(module)
    parts = [f"rematlas {s.state}, {s.replayed} steps replayed, {s.original} run by the original"]
    parts += [
        f"peak {plan.peak_bytes} of {plan.budget_bytes} bytes, overhead {plan.overhead:.4f}"
        for plan in s.plans
    ]
    return "; ".join([*parts, s.reason] if s.reason else parts)


def report(
    options: argparse.Namespace,
    model: torch.nn.Module,
    losses: list[float],
    *applied: torch.nn.Module,
    rank: int = 0,
) -> None:
    """Prints the status lines, the losses and the digest. `applied`: the modules that rematlas plans, by
    default the model itself. All processes call this function, but only the first prints."""
    lines = [] if options.plain else [status_line(module) for module in applied or [model]]
    # Nine digits distinguish any two float32 values
    lines += ["losses " + " ".join(f"{loss:.9g}" for loss in losses)]
    lines += ["weights " + digest(model)]
    if rank == 0:
        print(*lines, sep="\n", flush=True)
