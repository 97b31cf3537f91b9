"""Digests of tensors, which are equal only if the tensors have the same bits."""

import hashlib

import torch


def digest_of(tensors) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
        digest.update(tensor.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
