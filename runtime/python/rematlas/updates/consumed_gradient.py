"""A stand-in for a gradient that a planned step has used up. An op on the stand-in raises an error, which
says that the gradient is gone."""

import torch

aten = torch.ops.aten
FROM_OUTSIDE = "parameters got gradients from outside of the module's own step (a penalty in the loss, say)"


class ConsumedGradient(torch.Tensor):
    """Replaces a gradient that the planned step has used and freed. The stand-in stays until the program sets
    gradients to zero or None."""

    spent = False  # optimizer.step() has been called since the backward
    zeroed = False  # the stand-in was zeroed in place after optimizer.step()
    found_inf = None  # under a GradScaler: whether gradients were not finite; if so, nothing was updated

    @staticmethod
    def __new__(cls, parameter):
        return torch.Tensor._make_wrapper_subclass(
            cls, parameter.shape, strides=parameter.stride(), dtype=parameter.dtype, device=parameter.device
        )

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if cls.is_zeroing_allowed(func, args):
            return cls.zero(func, args)
        if func is aten._amp_foreach_non_finite_check_and_unscale_.default and cls.knows_scale(args[0]):
            args[1].copy_(torch.maximum(args[1], args[0][0].found_inf))
            return None
        if func in (aten.add.Tensor, aten.add_.Tensor) and torch._C._current_graph_task_id() != -1:
            raise RuntimeError(
                f"rematlas: {FROM_OUTSIDE}, and were updated during this backward already (apply(...,"
                " optimizer=...)): go back to a checkpoint; where that is part of the training, leave"
                " optimizer= out"
            )
        raise RuntimeError(
            "rematlas: this gradient is gone: its parameter was updated during backward (apply(...,"
            " optimizer=...)). Where gradients are clipped by their norm, say so to apply with clip_norm=,"
            " which then does it: do not call clip_grad_norm_ as well; where several backwards come before a"
            " step, with accumulate=; where a GradScaler scales them, with scaler=; where they are looked"
            " at, leave optimizer= out"
        )

    @classmethod
    def is_zeroing_allowed(cls, func, args) -> bool:
        if func is aten._foreach_zero_.default:
            zeroed = args[0]
        elif func is aten.zero_.default:
            zeroed = args[:1]
        else:
            return False
        return bool(zeroed) and all(type(gradient) is not cls or gradient.spent for gradient in zeroed)

    @classmethod
    def zero(cls, func, args):
        several = func is aten._foreach_zero_.default
        for gradient in args[0] if several else args[:1]:
            if type(gradient) is cls:
                gradient.zeroed = True
            else:
                gradient.zero_()
        return None if several else args[0]

    @staticmethod
    def knows_scale(gradients) -> bool:
        return all(getattr(gradient, "found_inf", None) is not None for gradient in gradients)

    def __repr__(self):
        return "a gradient that was used during backward"


def is_real(gradient) -> bool:
    """Says whether the gradient exists and is not a stand-in."""
    return gradient is not None and type(gradient) is not ConsumedGradient
