"""The tensors of a call: whether a plan can take them, and their descriptions for keys of plans and for
messages."""

import torch


def runs_python(tensor) -> bool:
    """Says whether the tensor is of a class with __torch_dispatch__, which runs each op in Python. Only the
    class knows how much memory such a tensor takes."""
    return type(tensor) is not torch.Tensor and torch._C._dispatch_keys(tensor).has(
        torch._C.DispatchKey.Python
    )


def unfit_class(name, tensor) -> str:
    """Returns why a plan can neither take nor return the tensor; empty if a plan can."""
    if tensor.layout != torch.strided or tensor.is_nested:
        return (
            f"{name} is sparse, nested or opaque: plans take dense tensors (to_dense(), to_padded_tensor())"
        )
    if not runs_python(tensor):
        return ""
    return (
        f"{name} is a {type(tensor).__name__}, a class of tensors with __torch_dispatch__: plans take and"
        " hand out plain tensors"
    )


def unfit(inputs, device) -> str:
    for place, tensor in enumerate(inputs):
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            return (
                f"input {place} is a {type(tensor).__name__}, a class derived from torch.Tensor: give a plain"
                " tensor (as_subclass(torch.Tensor))"
            )
        if why := unfit_class(f"input {place}", tensor):
            return why
        if str(tensor.device) not in (device, "cpu"):
            return f"input {place} is on {tensor.device}, the model on {device}: move it there"
        if tensor.is_inference():
            return f"input {place} was made in inference mode: give a clone that is made outside of it"
    return ""


def geometry(inputs):
    """Returns a hashable description of the tensors: their types, shapes, strides, whether they need
    gradients or are lazily conjugated or negated, and which of them share memory at which offsets."""
    facts = [
        (
            t.dtype,
            t.shape,
            t.stride(),
            t.requires_grad,
            t.is_conj(),
            t.is_neg(),
            t.requires_grad and t.is_leaf,
        )
        for t in inputs
    ]
    if len(inputs) > 1:
        storages = [t.untyped_storage()._cdata for t in inputs]
        if len(set(storages)) < len(storages):
            least = {}
            for t, storage in zip(inputs, storages):
                least[storage] = min(least.get(storage, 1 << 62), t.storage_offset() * t.element_size())
            numbers = {storage: number for number, storage in enumerate(dict.fromkeys(storages))}
            facts.append(
                tuple(
                    (numbers[s], t.storage_offset() * t.element_size() - least[s])
                    for t, s in zip(inputs, storages)
                )
            )
    return tuple(facts)


def describe(tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}[{','.join(map(str, tensor.shape))}]"
