"""The gated delta rule (Yang et al., 2024, "Gated Delta Networks"): each code says what is kept and how much corrected.

With W_0 = 0, a code e_t, its direction k_t = e_t / |e_t| (zero for a blank code) and gates (a_t, b_t) = G e_t + g,

    gates      α_t = σ(a_t), the share of W that is kept; β_t = σ(b_t), the share of the difference that is corrected
    write      W_{t+1} = α_t (W_t − β_t k_t ⊗ W_tᵀ k_t) + β_t k_t ⊗ e_t
    recall     r_t(q) = φ(W_tᵀ q)

This is α_t W_t + k_t ⊗ u_t with u_t = β_t (e_t − α_t W_tᵀ k_t), so a state holds the pairs (k_t, u_t) and the logarithm
of the share of each that is left. With α = 1 and one β it is the delta rule.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.memory.activations import Activation, activation_for
from stawm.memory.normalise import Normalise, unit
from stawm.memory.normalised import NormalisedConfig, NormalisedMemory, added, linear, mixed, pair_norm
from stawm.memory.protocol import MEMORIES

KEPT = 3.0
"""The bias from which the gate of what is kept starts: σ(3) = 0.95, so a fresh memory hardly forgets."""


@dataclass(frozen=True)
class GatedDeltaConfig(NormalisedConfig):
    """A memory that learns what to keep and what to correct."""

    rule: str = "gated-delta"
    activation: str = "relu6"
    """φ: relu6, sigmoid or hardsigmoid."""


@dataclass(frozen=True)
class Gated:
    """The directions written so far, what was added along each, and the log of the share of it that is left."""

    directions: Float[Tensor, "batch count memory"]
    corrections: Float[Tensor, "batch count memory"]
    left: Float[Tensor, "batch count"]


@MEMORIES.add("gated-delta")
class GatedDelta(NormalisedMemory):
    """A memory over any sequence of codes whose writes decide what to forget and how much to correct."""

    Config = GatedDeltaConfig
    holds = "directions"

    def __init__(self, size: int, *, activation: str | Activation = "relu6", normalise: Normalise = "fixed") -> None:
        self.activation = activation_for(activation)
        super().__init__(size, normalise, self.activation.bound)
        self.gates = nn.Linear(size, 2)
        with torch.no_grad():
            self.gates.bias.copy_(torch.tensor([KEPT, 0.0]))

    def extra_repr(self) -> str:
        """The settings, as `print(model)` shows them."""
        return f"{self.size}, activation={self.activation.name}"

    def start(self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Gated:
        """The empty memory of `batch` sequences."""
        empty = self.blank(batch, 0, self.size, device=device, dtype=dtype)
        return Gated(empty, empty, empty[..., 0])

    def written(self, state: Gated, code: Float[Tensor, "batch memory"]) -> Gated:
        """The state after the memory forgot and was corrected as `code` says."""
        kept, corrected = linear(self.gates, code).unsqueeze(1).unbind(2)
        left, direction = state.left + F.logsigmoid(kept), unit(code)
        matches = torch.bmm(direction.unsqueeze(1), state.directions.mT) * left.exp().unsqueeze(1)
        correction = corrected.sigmoid() * (code - torch.bmm(matches.to(code.dtype), state.corrections).squeeze(1))
        return Gated(
            added(state.directions, direction),
            added(state.corrections, correction),
            added(left.to(code.dtype), torch.zeros_like(code[:, 0])),
        )

    def read(self, state: Gated, queries: Float[Tensor, "batch query memory"]) -> Float[Tensor, "batch query memory"]:
        """φ(Wᵀ q)."""
        return self.activation(torch.bmm(torch.bmm(queries, state.directions.mT), self._outputs(state)))

    def read_each(
        self, codes: Float[Tensor, "batch count memory"], queries: Float[Tensor, "batch query memory"]
    ) -> tuple[Float[Tensor, "batch query count memory"], Gated]:
        """All in one masked product, after the writes one by one."""
        state = self.stored(codes)
        # What is left at the end is the product of all gates to come; at write t, only of those up to t.
        left = (state.left[:, None, :] - state.left[:, :, None]).clamp_max(0).exp().tril().unsqueeze(1)
        return self.activation(mixed(queries.unsqueeze(2), state.directions, state.corrections, left)), state

    def matrix(self, state: Gated) -> Float[Tensor, "batch memory memory"]:
        """W, input by output."""
        return torch.bmm(state.directions.mT, self._outputs(state))

    def norm(self, state: Gated) -> Float[Tensor, "batch"]:
        """The Frobenius norm of W."""
        return pair_norm(state.directions, self._outputs(state))

    def state_size(self, count: int) -> int:
        """The pairs and what is left of each, or W where that is smaller."""
        return min(count * (2 * self.size + 1), self.size**2)

    def _outputs(self, state: Gated) -> Float[Tensor, "batch count memory"]:
        return state.left.exp().unsqueeze(2) * state.corrections
