"""How a module packs its output: tensors in tuples, lists and dictionaries."""

import torch


def structure_of(output):
    """As JSON can hold it. Raises TypeError for what cannot be put together again."""
    if isinstance(output, torch.Tensor):
        return "tensor"
    if type(output) is tuple:
        return {"tuple": [structure_of(item) for item in output]}
    if type(output) is list:
        return {"list": [structure_of(item) for item in output]}
    if type(output) is dict and all(isinstance(key, str) for key in output):
        return {"dict": [[key, structure_of(item)] for key, item in output.items()]}
    if output is None or isinstance(output, (bool, int, float, str)):
        return {"value": output}
    raise TypeError(
        f"rematlas: the model returns a {type(output).__name__}; "
        "tensors, tuples, lists and dictionaries with text keys of them can be returned"
    )


def flat(output) -> list[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = output.values()
    return [tensor for item in output for tensor in flat(item)] if not isinstance(output, (str, int, float, type(None))) else []


def flat_structure(count: int):
    """Of outputs of which nothing else is known: one is a tensor, several are a tuple."""
    return "tensor" if count == 1 else {"tuple": ["tensor"] * count}


def tensor_count(structure) -> int:
    if structure == "tensor":
        return 1
    ((kind, items),) = structure.items()
    if kind == "value":
        return 0
    return sum(tensor_count(item[1] if kind == "dict" else item) for item in items)


def packed(structure, tensors):
    """Puts the tensors of an iterator together."""
    if structure == "tensor":
        return next(tensors)
    ((kind, items),) = structure.items()
    if kind == "value":
        return items
    if kind == "dict":
        return {key: packed(item, tensors) for key, item in items}
    return (tuple if kind == "tuple" else list)(packed(item, tensors) for item in items)
