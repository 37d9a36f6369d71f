"""Codes and queries to try a memory with."""

import torch
import torch.nn.functional as F
from torch import Tensor

from stawm.memory.hebb_rosenblatt import Read
from tiny_seed import SHIFT

READS: tuple[Read, ...] = ("codes", "responses")


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Codes or queries as ReLU6 leaves them: many zeros, the rest between 0 and about 2, a few saturated."""
    generator = torch.Generator().manual_seed(seed + SHIFT)
    values = F.relu6(torch.randn(shape, generator=generator, dtype=torch.float64))
    return torch.where(torch.rand(shape, generator=generator) < 0.05, 6.0, values).to(dtype)


def three_rates(delta: float = 0.2, eta: float = 0.4, theta: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
    first, second, third = torch.tensor([delta, eta, theta], dtype=torch.float64)
    return first, second, third
