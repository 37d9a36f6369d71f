"""No memory, the floor: nothing is written, and every recall is zero, so that heads answer by their biases.

A run with it looks dead, as it is: train it with `--training.give-up 0`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.memory.normalised import NormalisedMemory
from stawm.memory.protocol import MEMORIES, MemoryConfig


@dataclass(frozen=True)
class NoneConfig(MemoryConfig):
    """No memory at all."""

    rule: str = "none"


@dataclass(frozen=True)
class Nothing:
    """What is left of any sequence of codes."""

    nothing: Float[Tensor, "batch 0"]


@MEMORIES.add("none")
class NoMemory(NormalisedMemory):
    """A memory that holds nothing."""

    Config = NoneConfig
    holds = "nothing"

    def __init__(self, size: int) -> None:
        super().__init__(size, "none")

    def start(
        self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Nothing:
        """Nothing, for `batch` sequences."""
        return Nothing(self.blank(batch, 0, device=device, dtype=dtype))

    def written(self, state: Nothing, code: Float[Tensor, "batch memory"]) -> Nothing:
        """The state as it was."""
        return state

    def read(self, state: Nothing, queries: Float[Tensor, "batch query memory"]) -> Float[Tensor, "batch query memory"]:
        """Zeros, whatever is asked."""
        return torch.zeros_like(queries)

    def norm(self, state: Nothing) -> Float[Tensor, "batch"]:
        """Zero."""
        return state.nothing.sum(1)

    def state_size(self, count: int) -> int:
        """No number."""
        return 0
