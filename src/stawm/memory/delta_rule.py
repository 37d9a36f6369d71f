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
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from stawm.errors import UsageError
from stawm.memory.activations import Activation, activation_for
from stawm.memory.protocol import MEMORIES, Contents, Memory, MemoryConfig
from stawm.ranges import Range

CORRECTED = Range(open_low=True, high=1.0)


@dataclass(frozen=True)
class DeltaRuleConfig(MemoryConfig):
    """A memory that corrects itself."""

    rule: str = "delta-rule"
    eta: Annotated[float, CORRECTED] = 1.0
    """How much of the difference a write corrects."""
    activation: str = "relu6"
    """φ: relu6, sigmoid or hardsigmoid."""


@dataclass(frozen=True)
class Corrections:
    """The directions written so far and what was added along each, oldest first."""

    directions: Float[Tensor, "batch count memory"]
    corrections: Float[Tensor, "batch count memory"]


@MEMORIES.add("delta-rule")
class DeltaRule(Memory):
    """A memory over any sequence of codes in which a write replaces what was stored in the same direction."""

    Config = DeltaRuleConfig

    def __init__(self, size: int, *, eta: float = 1.0, activation: str | Activation = "relu6") -> None:
        super().__init__()
        self.check_rates(eta)
        self.size, self.starting_rates, self.activation = size, (eta,), activation_for(activation)
        self.bound = self.activation.bound

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
        self.check_batch(batch)
        empty = torch.zeros(batch, 0, self.size, device=device, dtype=dtype)
        return Corrections(empty, empty)

    def write(self, state: Corrections, code: Float[Tensor, "batch memory"]) -> Corrections:
        """The state after the memory was corrected towards `code`; the state given stays as it was."""
        code = self.fitted(code, getattr(state, "directions", None))
        direction = F.normalize(code, dim=-1)
        correction = self.eta * (code - _read(state, direction))
        return Corrections(
            torch.cat([state.directions, direction.unsqueeze(1)], 1),
            torch.cat([state.corrections, correction.unsqueeze(1)], 1),
        )

    def recall(self, state: Corrections, query: Float[Tensor, "batch memory"]) -> Float[Tensor, "batch memory"]:
        """What `query` reads back, φ(Wᵀ q)."""
        return self.activation(_read(state, self.fitted(query, getattr(state, "directions", None))))

    def matrix(self, state: Corrections) -> Float[Tensor, "batch memory memory"]:
        """W, input by output."""
        return torch.bmm(state.directions.mT, state.corrections)

    def norm(self, state: Corrections) -> Float[Tensor, "batch"]:
        """The Frobenius norm of W, from the pairs alone: ‖W‖² = Σ_ij (k_i·k_j)(u_i·u_j)."""
        inputs, outputs = state.directions, state.corrections
        overlap = torch.bmm(inputs, inputs.mT) * torch.bmm(outputs, outputs.mT)
        return overlap.sum(dim=(1, 2)).clamp_min(0).sqrt()

    def contents(self, codes: Float[Tensor, "batch count memory"]) -> Contents:
        """The directions and corrections of these codes; each direction should bring back its code."""
        state = self(codes, codes[:, 0]).state
        count = codes.shape[1]
        strengths = torch.ones(count, count, device=codes.device, dtype=codes.dtype).tril()
        return Contents(state.directions, state.corrections, strengths, state.directions, codes)


def _read(state: Corrections, query: Float[Tensor, "batch memory"]) -> Float[Tensor, "batch memory"]:
    """Wᵀ q."""
    matches = torch.bmm(query.unsqueeze(1), state.directions.mT)
    return torch.bmm(matches, state.corrections).squeeze(1)
