"""Softmax attention over all codes (Vaswani et al., 2017), the ceiling: nothing is compressed, nothing forgotten.

    write      the code e_t is kept
    recall     r_t(q) = Σ_{i<t} a_i e_i with a = softmax(q·k_i / τ) and k_i = e_i / |e_i| (zero for a blank code)

There are no learnt projections: codes and queries are learnt already, as for the other rules.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from stawm.errors import UsageError
from stawm.memory.normalise import Normalise, unit
from stawm.memory.normalised import Codes, NormalisedConfig, NormalisedMemory, added
from stawm.memory.protocol import MEMORIES
from stawm.ranges import Range

TEMPERATURE = Range(low=1e-3, high=1000)


@dataclass(frozen=True)
class AttentionConfig(NormalisedConfig):
    """A memory that keeps every code and attends to those that match."""

    rule: str = "attention"
    temperature: Annotated[float, TEMPERATURE] = 0.1
    """τ: the lower, the more the best match counts; matches of unit vectors lie between 0 and 1."""


@MEMORIES.add("attention")
class Attention(NormalisedMemory):
    """A memory over any sequence of codes that grows with each of them."""

    Config = AttentionConfig
    holds = "codes"

    def __init__(self, size: int, *, temperature: float = 0.1, normalise: Normalise = "fixed") -> None:
        super().__init__(size, normalise)
        self.check_rates(temperature)
        self.starting_rates = (temperature,)

    @property
    def temperature(self) -> float:
        """τ: the lower, the more the best match counts."""
        return self.starting_rates[0]

    def check_rates(self, *rates: float) -> None:
        """Refuse a temperature that is not one of the rule."""
        if rates[0] not in TEMPERATURE:
            raise UsageError(f"the temperature of attention is {rates[0]:g}; give a number {TEMPERATURE}")

    def extra_repr(self) -> str:
        """The settings, as `print(model)` shows them."""
        return f"{self.size}, temperature={self.temperature}"

    def start(self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Codes:
        """The empty memory of `batch` sequences."""
        return Codes(self.blank(batch, 0, self.size, device=device, dtype=dtype))

    def written(self, state: Codes, code: Float[Tensor, "batch memory"]) -> Codes:
        """The state with one more code."""
        return Codes(added(state.codes, code))

    def stored(self, codes: Float[Tensor, "batch count memory"]) -> Codes:
        """All codes as they are."""
        return Codes(codes)

    def read(self, state: Codes, queries: Float[Tensor, "batch query memory"]) -> Float[Tensor, "batch query memory"]:
        """The codes, each by how well it matches; zero after no write."""
        known = torch.ones(1, state.codes.shape[1], dtype=torch.bool, device=queries.device)
        return self._attended(state.codes, queries, known).squeeze(2)

    def read_each(
        self, codes: Float[Tensor, "batch count memory"], queries: Float[Tensor, "batch query memory"]
    ) -> tuple[Float[Tensor, "batch query count memory"], Codes]:
        """All in one masked product."""
        count = codes.shape[1]
        known = torch.ones(count, count, dtype=torch.bool, device=codes.device).tril()
        return self._attended(codes, queries, known), Codes(codes)

    def norm(self, state: Codes) -> Float[Tensor, "batch"]:
        """The root of the sum of all squares that are kept."""
        return torch.linalg.vector_norm(state.codes, dim=(1, 2))

    def state_size(self, count: int) -> int:
        """All codes."""
        return count * self.size

    def _attended(
        self, codes: Tensor, queries: Tensor, known: Bool[Tensor, "step count"]
    ) -> Float[Tensor, "batch query step memory"]:
        matches = torch.bmm(queries, unit(codes).mT).unsqueeze(2) / self.temperature
        shares = torch.where(known, matches, float("-inf")).softmax(-1)
        read = torch.bmm(shares.flatten(1, 2).to(codes.dtype), codes)
        return read.reshape(*shares.shape[:3], self.size)
