"""A long short-term memory (Hochreiter and Schmidhuber, 1997; with forget gates, Gers et al., 2000) as a rival.

    gates      (i, f, o, g) = A e_t + B h_t + b
    write      c_{t+1} = σ(f) c_t + σ(i) tanh(g),  h_{t+1} = σ(o) tanh(c_{t+1})
    recall     r(q) = φ(V h ⊙ σ(U q + u))

The query opens and shuts what is read, unit by unit. It is not added to h: a linear read-out of both could answer from
the query alone, and so past the memory. After no write h is zero, and so is the recall.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from stawm.errors import UsageError
from stawm.memory.activations import Activation, activation_for
from stawm.memory.normalise import Normalise
from stawm.memory.normalised import NormalisedConfig, NormalisedMemory, linear
from stawm.memory.protocol import MEMORIES
from stawm.ranges import Range

HIDDEN = Range(high=16_384)


@dataclass(frozen=True)
class LstmConfig(NormalisedConfig):
    """A recurrent network whose state is all that it remembers."""

    rule: str = "lstm"
    hidden: Annotated[int, HIDDEN] = 0
    """Units of the recurrent network, whose state holds two numbers for each; 0: as many as the memory is wide."""
    activation: str = "relu6"
    """φ: relu6, sigmoid or hardsigmoid."""


@dataclass(frozen=True)
class Cell:
    """The output of the network after the last write, and its cell."""

    hidden: Float[Tensor, "batch hidden"]
    cell: Float[Tensor, "batch hidden"]


@MEMORIES.add("lstm")
class Lstm(NormalisedMemory):
    """A memory over any sequence of codes of the same few numbers, however many are written."""

    Config = LstmConfig
    holds = "hidden"

    def __init__(
        self,
        size: int,
        *,
        hidden: int = 0,
        activation: str | Activation = "relu6",
        normalise: Normalise = "fixed",
    ) -> None:
        self.activation = activation_for(activation)
        super().__init__(size, normalise, self.activation.bound)
        if hidden not in HIDDEN:
            raise UsageError(f"a recurrent network of {hidden!r} units cannot be made; give a number {HIDDEN}")
        self.hidden = hidden or size
        self.enter = nn.Linear(size, 4 * self.hidden)
        self.again = nn.Linear(self.hidden, 4 * self.hidden, bias=False)
        self.value = nn.Linear(self.hidden, size, bias=False)
        self.ask = nn.Linear(size, size)
        with torch.no_grad():
            self.enter.bias[self.hidden : 2 * self.hidden].fill_(1.0)  # The forget gate starts open.

    def extra_repr(self) -> str:
        """The settings, as `print(model)` shows them."""
        return f"{self.size}, hidden={self.hidden}, activation={self.activation.name}"

    def start(self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Cell:
        """The empty memory of `batch` sequences."""
        blank = self.blank(batch, self.hidden, device=device, dtype=dtype)
        return Cell(blank, blank)

    def written(self, state: Cell, code: Float[Tensor, "batch memory"]) -> Cell:
        """The state after one step of the network."""
        return self._stepped(state, linear(self.enter, code))

    def read(self, state: Cell, queries: Float[Tensor, "batch query memory"]) -> Float[Tensor, "batch query memory"]:
        """φ(V h ⊙ σ(U q + u))."""
        return self.activation(linear(self.value, state.hidden).unsqueeze(1) * linear(self.ask, queries).sigmoid())

    def read_each(
        self, codes: Float[Tensor, "batch count memory"], queries: Float[Tensor, "batch query memory"]
    ) -> tuple[Float[Tensor, "batch query count memory"], Cell]:
        """What does not wait for the state, A e and U q, and what only reads it, V h, in one product each."""
        state, outputs = self.start(codes.shape[0], device=codes.device, dtype=codes.dtype), []
        for entering in linear(self.enter, codes).unbind(1):
            state = self._stepped(state, entering)
            outputs.append(state.hidden)
        values = linear(self.value, torch.stack(outputs, 1)).unsqueeze(1)
        return self.activation(values * linear(self.ask, queries).sigmoid().unsqueeze(2)), state

    def norm(self, state: Cell) -> Float[Tensor, "batch"]:
        """The length of the cell."""
        return torch.linalg.vector_norm(state.cell, dim=-1)

    def state_size(self, count: int) -> int:
        """Output and cell."""
        return 2 * self.hidden

    def _stepped(self, state: Cell, entering: Float[Tensor, "batch gates"]) -> Cell:
        gates = entering + linear(self.again, state.hidden)
        written, kept, shown, new = gates.chunk(4, dim=1)
        cell = kept.sigmoid() * state.cell + written.sigmoid() * new.tanh()
        hidden = shown.sigmoid() * cell.tanh()
        return Cell(hidden.to(state.hidden.dtype), cell.to(state.cell.dtype))
