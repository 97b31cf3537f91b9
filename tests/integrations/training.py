"""An ordinary training loop that records digests of all state that each step leaves behind."""

import dataclasses
import hashlib
import random
from collections.abc import Callable, Iterator, Mapping

import numpy
import torch

from case import Case

Record = dict[str, str]  # digests by the names of the tensors and states
WAITS = (2, 4)  # after these steps the loop waits for plans, and later steps are replayed


def digest(tensor: torch.Tensor) -> str:
    """Returns a digest of the tensor's type, shape and bits."""
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu()
    made = hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)} ".encode())
    made.update(tensor.contiguous().flatten().view(torch.uint8).numpy())
    return made.hexdigest()


def tensors_in(value, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the tensors of a model's output with their names. Searches dictionaries, tuples, and objects
    such as a cache of keys and values."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from tensors_in(item, f"{name}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from tensors_in(item, f"{name}.{index}")
    elif hasattr(value, "__dict__"):
        yield from tensors_in(vars(value), name)


def generators() -> Record:
    """Returns digests of the states of the random generators that a model may use."""
    _, numbers, position, *_ = numpy.random.get_state()
    return {
        "generator of torch": digest(torch.get_rng_state()),
        "generator of numpy": digest(torch.from_numpy(numbers.astype("int64"))) + f" {position}",
        "generator of Python": hashlib.sha256(repr(random.getstate()).encode()).hexdigest(),
    }


@dataclasses.dataclass
class Step:
    loss: float
    record: Record


def train(case: Case, steps: int, apply: Callable | None = None) -> list[Step]:
    """Trains for `steps` steps. `apply` changes the model before the first step, and returns an object whose
    `wait()` returns when planning has ended."""
    torch.manual_seed(7), numpy.random.seed(7), random.seed(7)
    model = case.model.train()
    status = apply(model) if apply else None
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 4) / (1 + step)
    )
    done = []
    for step in range(steps):
        batch = case.batch(step)
        optimizer.zero_grad(set_to_none=True)
        with case.context():
            output = model(*batch.args, **batch.kwargs)
            loss = case.loss(output, batch.target)
        record = {"loss": digest(loss)} | {
            name: digest(tensor) for name, tensor in tensors_in(output, "output")
        }
        loss.backward()
        for name, parameter in model.named_parameters():
            record[f"gradient of {name}"] = "none" if parameter.grad is None else digest(parameter.grad)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        scheduler.step()
        record |= {f"parameter {name}": digest(parameter) for name, parameter in model.named_parameters()}
        record |= {f"buffer {name}": digest(buffer) for name, buffer in model.named_buffers()}
        done.append(Step(loss.item(), record | generators()))
        if status is not None and step + 1 in WAITS:
            status.wait()
    return done


def first_difference(one: list[Step], other: list[Step]) -> str | None:
    """Returns the first difference in the order of training, or None if all bits are the same."""
    for number, (a, b) in enumerate(zip(one, other), 1):
        for name in a.record | b.record:
            if a.record.get(name) != b.record.get(name):
                return f"step {number}: {name}"
    return None if len(one) == len(other) else f"{len(one)} steps against {len(other)}"
