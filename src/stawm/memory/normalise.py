"""Codes, queries and recalls on one scale, so that no memory answers louder for longer codes or more writes.

    codes, queries    ê = e / |e|, and zero for a blank one, so that only their directions count
    recalls           LN(r) = (r − mean r) / √(var r + ε/M), over the M units; "learnt" scales each unit by a gain

There is no learnt shift: whoever reads a recall through a linear map has one. ε is divided by M since the variance of a
vector of length 1 is about 1/M: so a weak recall is damped alike in a narrow and in a wide memory, and one that is zero
everywhere stays zero, with finite gradients.
"""

import math
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.errors import UsageError

Normalise = Literal["none", "fixed", "learnt"]
"""Nothing is normalised; unit codes and queries, and a layer norm of the recall; the same with a learnt gain."""
BLANK = 1e-12
"""A vector no longer than this has no direction."""
EPSILON = 1e-5


def unit(vector: Float[Tensor, "*rest memory"]) -> Float[Tensor, "*rest memory"]:
    """The vectors at length 1; a blank one stays zero and passes no gradient on, in half precision too."""
    length = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    return (vector / torch.where(length > BLANK, length, math.inf)).to(vector.dtype)


class Normaliser(nn.Module):
    """What a memory of width `size` does to its codes, queries and recalls."""

    gain: Tensor

    def __init__(self, size: int, choice: Normalise = "none") -> None:
        super().__init__()
        if choice not in get_args(Normalise):
            raise UsageError(f"unknown memory normalise {choice!r}; choose {', '.join(get_args(Normalise))}")
        self.size, self.choice = size, choice
        if choice == "learnt":
            self.gain = nn.Parameter(torch.ones(size))

    def __bool__(self) -> bool:
        """Whether anything is normalised."""
        return self.choice != "none"

    def extra_repr(self) -> str:
        """The choice, as `print(model)` shows it."""
        return self.choice

    def unit(self, vector: Float[Tensor, "*rest memory"]) -> Float[Tensor, "*rest memory"]:
        """Codes or queries at length 1, or as they are."""
        return unit(vector) if self else vector

    def forward(self, recall: Float[Tensor, "*rest memory"]) -> Float[Tensor, "*rest memory"]:
        """The layer norm of a recall, or the recall as it is."""
        if not self:
            return recall
        scaled = F.layer_norm(recall, (self.size,), eps=EPSILON / self.size)
        return scaled * self.gain.to(scaled.dtype) if self.choice == "learnt" else scaled

    def bound(self, units: float) -> float:
        """The most that a unit of a recall can be, if it is at most `units` before its layer norm.

        A layer norm has mean 0 and mean square at most 1. One unit is largest if all others are equal: at a, they are
        at −a / (M − 1), and a² + a² / (M − 1) = M gives a = √(M − 1). A learnt gain may carry it anywhere.
        """
        if self.choice == "fixed":
            return math.sqrt(self.size - 1)
        return math.inf if self else units
