"""The delta rule (Widrow and Hoff; Schlag et al., 2021): write only what the memory does not say already.

With W_0 = 0, a code e_t and its direction k_t = e_t / |e_t| (zero for a blank code), the state follows

    write      W_{t+1} = W_t + η k_t ⊗ (e_t − W_tᵀ k_t)
    recall     r_t(q) = φ(W_tᵀ q)

so with η = 1 asking with k_t right after its write brings back e_t, and what was stored in other directions stays. A
state holds the directions and the corrections u_t = η (e_t − W_tᵀ k_t), of which W_t = Σ_{i<t} k_i ⊗ u_i is made.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.errors import UsageError
from stawm.memory.activations import Activation, activation_for
from stawm.memory.normalise import Normalise, unit
from stawm.memory.normalised import NormalisedConfig, NormalisedMemory, added, decays, mixed, pair_norm
from stawm.memory.protocol import MEMORIES, Contents
from stawm.ranges import Range

CORRECTED = Range(open_low=True, high=1.0)


@dataclass(frozen=True)
class DeltaRuleConfig(NormalisedConfig):
    """A memory that corrects itself."""

    rule: str = "delta-rule"
    eta: Annotated[float, CORRECTED] = 1.0
    """How much of the difference a write corrects."""
    activation: str = "relu6"
    """φ: relu6, sigmoid or hardsigmoid."""
    normalise: Normalise = "none"
    """Unit codes and queries, and a layer norm of what is recalled: none, fixed, or learnt (with a gain)."""


@dataclass(frozen=True)
class Corrections:
    """The directions written so far and what was added along each, oldest first."""

    directions: Float[Tensor, "batch count memory"]
    corrections: Float[Tensor, "batch count memory"]


@MEMORIES.add("delta-rule")
class DeltaRule(NormalisedMemory):
    """A memory over any sequence of codes in which a write replaces what was stored in the same direction."""

    Config = DeltaRuleConfig
    holds = "directions"

    def __init__(
        self, size: int, *, eta: float = 1.0, activation: str | Activation = "relu6", normalise: Normalise = "none"
    ) -> None:
        self.activation = activation_for(activation)
        super().__init__(size, normalise, self.activation.bound)
        self.check_rates(eta)
        self.starting_rates = (eta,)

    @property
    def eta(self) -> float:
        """How much of the difference a write corrects."""
        return self.starting_rates[0]

    def check_rates(self, *rates: float) -> None:
        """Refuse an eta that is not one of the rule."""
        if rates[0] not in CORRECTED:
            raise UsageError(f"the delta rule's eta is {rates[0]:g}; give a number {CORRECTED}")

    def extra_repr(self) -> str:
        """The settings, as `print(model)` shows them."""
        return f"{self.size}, eta={self.eta}, activation={self.activation.name}"

    def start(
        self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Corrections:
        """The empty memory of `batch` sequences."""
        empty = self.blank(batch, 0, self.size, device=device, dtype=dtype)
        return Corrections(empty, empty)

    def written(self, state: Corrections, code: Float[Tensor, "batch memory"]) -> Corrections:
        """The state after the memory was corrected towards `code`."""
        direction = unit(code)
        said = torch.bmm(torch.bmm(direction.unsqueeze(1), state.directions.mT), state.corrections).squeeze(1)
        correction = self.eta * (code - said)
        return Corrections(added(state.directions, direction), added(state.corrections, correction))

    def read(
        self, state: Corrections, queries: Float[Tensor, "batch query memory"]
    ) -> Float[Tensor, "batch query memory"]:
        """φ(Wᵀ q)."""
        return self.activation(torch.bmm(torch.bmm(queries, state.directions.mT), state.corrections))

    def read_each(
        self, codes: Float[Tensor, "batch count memory"], queries: Float[Tensor, "batch query memory"]
    ) -> tuple[Float[Tensor, "batch query count memory"], Corrections]:
        """All in one masked product, after the writes one by one: W_t is the first t of the last state's pairs."""
        state = self.stored(codes)
        strengths = decays(codes.shape[1], 0.0, codes)
        return self.activation(mixed(queries.unsqueeze(2), state.directions, state.corrections, strengths)), state

    def matrix(self, state: Corrections) -> Float[Tensor, "batch memory memory"]:
        """W, input by output."""
        return torch.bmm(state.directions.mT, state.corrections)

    def norm(self, state: Corrections) -> Float[Tensor, "batch"]:
        """The Frobenius norm of W."""
        return pair_norm(state.directions, state.corrections)

    def state_size(self, count: int) -> int:
        """The pairs, or W where that is smaller."""
        return min(2 * count, self.size) * self.size

    def contents(self, codes: Float[Tensor, "batch count memory"]) -> Contents:
        """The directions and corrections of these codes; each direction should bring back its code."""
        state = self(codes, codes[:, 0]).state
        strengths = decays(codes.shape[1], 0.0, codes)
        wanted = self.normalise(self.normalise.unit(codes))
        return Contents(state.directions, state.corrections, strengths, state.directions, wanted)
