"""The mean of all codes, a simple rival: no binding of one thing to another, no order, no forgetting.

    write      s_{t+1} = s_t + e_t
    recall     r_t(q) = (s_t / t) ⊙ q

The product lets the query matter: it weighs the units of the mean, but brings nothing that no code had.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.memory.normalise import Normalise
from stawm.memory.normalised import NormalisedConfig, NormalisedMemory
from stawm.memory.protocol import MEMORIES


@dataclass(frozen=True)
class MeanOfCodesConfig(NormalisedConfig):
    """A memory that is the mean of what was written."""

    rule: str = "mean-of-codes"


@dataclass(frozen=True)
class Total:
    """The sum of the codes written so far, and how many these are."""

    total: Float[Tensor, "batch memory"]
    count: int


@MEMORIES.add("mean-of-codes")
class MeanOfCodes(NormalisedMemory):
    """A memory over any sequence of codes that keeps their mean."""

    Config = MeanOfCodesConfig
    holds = "total"

    def __init__(self, size: int, *, normalise: Normalise = "fixed") -> None:
        super().__init__(size, normalise)

    def start(self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Total:
        """The empty memory of `batch` sequences."""
        return Total(self.blank(batch, self.size, device=device, dtype=dtype), 0)

    def written(self, state: Total, code: Float[Tensor, "batch memory"]) -> Total:
        """The state with one more code in its sum."""
        return Total(state.total + code, state.count + 1)

    def stored(self, codes: Float[Tensor, "batch count memory"]) -> Total:
        """All codes in one sum."""
        return Total(codes.sum(1), codes.shape[1])

    def read(self, state: Total, queries: Float[Tensor, "batch query memory"]) -> Float[Tensor, "batch query memory"]:
        """The mean, unit by unit times the query; zero after no write."""
        return self._mean(state).unsqueeze(1) * queries

    def read_each(
        self, codes: Float[Tensor, "batch count memory"], queries: Float[Tensor, "batch query memory"]
    ) -> tuple[Float[Tensor, "batch query count memory"], Total]:
        """All from one running sum."""
        totals = codes.cumsum(1)
        counts = torch.arange(1, codes.shape[1] + 1, device=codes.device, dtype=codes.dtype)
        means = (totals / counts[:, None]).unsqueeze(1)
        return means * queries.unsqueeze(2), Total(totals[:, -1], codes.shape[1])

    def norm(self, state: Total) -> Float[Tensor, "batch"]:
        """The length of the mean."""
        return torch.linalg.vector_norm(self._mean(state), dim=-1)

    def state_size(self, count: int) -> int:
        """The sum, and the number of codes."""
        return self.size + 1

    def _mean(self, state: Total) -> Float[Tensor, "batch memory"]:
        return state.total / max(state.count, 1)
