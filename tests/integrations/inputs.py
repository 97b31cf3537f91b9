"""Random inputs from their own generators. Equal steps get equal inputs."""

import torch


def generator(step: int) -> torch.Generator:
    return torch.Generator().manual_seed(1000 + step)


def tokens(step: int, batch: int = 8, length: int = 48, vocabulary: int = 128) -> torch.Tensor:
    """Returns token ids from 3 upwards. Smaller ids mark padding, beginning and end."""
    return torch.randint(3, vocabulary, (batch, length), generator=generator(step))


def padded(
    ids: torch.Tensor, step: int, left: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns ids padded with 0 to one length, their attention mask, and labels that ignore the padding.

    The lengths of the texts differ from step to step, as in real data. The longest text fills its row.
    """
    batch, length = ids.shape
    lengths = torch.randint(length // 2, length, (batch, 1), generator=generator(step + 500))
    lengths[step % batch] = length
    position = torch.arange(length).expand(batch, length)
    mask = (position >= length - lengths if left else position < lengths).long()
    return ids * mask, mask, ids.masked_fill(mask == 0, -100)


def classes(step: int, shape: int | tuple = 8, count: int = 10) -> torch.Tensor:
    return torch.randint(
        count, shape if isinstance(shape, tuple) else (shape,), generator=generator(step + 200)
    )


def normal(step: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator(step + 300))
