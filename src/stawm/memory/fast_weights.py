"""Fast weights (Ba et al., 2016, "Using Fast Weights to Attend to the Recent Past"): a code is its own response.

    write      A_{t+1} = (1 − δ) A_t + η e_t ⊗ e_t
    settle     h_0 = q, and S − 1 times h_{s+1} = q + A h_s, brought through φ to length 1
    recall     r_t(q) = φ(A_t h_{S−1})

In the paper h_{s+1} = f(LN(boundary + A h_s)) S times, and the boundary, all that the slow weights say, is in every
step. Here the query is the boundary; the last step is without it, so that a recall says nothing that A does not: after
no write it is zero. Length 1 stands for the layer norm inside the loop; the recall has that of `normalise`. With S = 1
nothing settles: r = φ(A q).
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.errors import UsageError
from stawm.memory.activations import Activation, activation_for
from stawm.memory.normalise import Normalise, unit
from stawm.memory.normalised import (
    DECAY,
    RATE,
    Codes,
    Decay,
    NormalisedConfig,
    NormalisedMemory,
    Rate,
    added,
    decays,
    mixed,
    pair_norm,
)
from stawm.memory.protocol import MEMORIES, Contents
from stawm.ranges import Range

STEPS = Range(low=1, high=100)


@dataclass(frozen=True)
class FastWeightsConfig(NormalisedConfig):
    """Fast weights of Ba et al.: their λ is 1 − delta."""

    rule: str = "fast-weights"
    delta: Decay = 0.05
    """The decay."""
    eta: Rate = 0.5
    """The learning rate."""
    steps: Annotated[int, STEPS] = 1
    """S, how often a recall goes through the fast weights."""
    activation: str = "relu6"
    """φ: relu6, sigmoid or hardsigmoid."""


@MEMORIES.add("fast-weights")
class FastWeights(NormalisedMemory):
    """A memory over any sequence of codes that is written by each code's product with itself."""

    Config = FastWeightsConfig
    holds = "codes"

    def __init__(
        self,
        size: int,
        *,
        delta: float = 0.05,
        eta: float = 0.5,
        steps: int = 1,
        activation: str | Activation = "relu6",
        normalise: Normalise = "fixed",
    ) -> None:
        self.activation = activation_for(activation)
        super().__init__(size, normalise, self.activation.bound)
        self.check_rates(delta, eta)
        if steps not in STEPS:
            raise UsageError(f"a recall goes {steps!r} times through fast weights; give a number {STEPS}")
        self.starting_rates, self.steps = (delta, eta), steps

    def check_rates(self, *rates: float) -> None:
        """Refuse rates that are not of the rule."""
        if rates[0] not in DECAY or rates[1] not in RATE:
            raise UsageError(
                f"the rates of fast weights are delta={rates[0]:g} and eta={rates[1]:g}; give numbers {DECAY}, and "
                f"{RATE}"
            )

    def extra_repr(self) -> str:
        """The settings, as `print(model)` shows them."""
        delta, eta = self.starting_rates
        return f"{self.size}, delta={delta}, eta={eta}, steps={self.steps}, activation={self.activation.name}"

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
        """What the fast weights make of queries now."""
        return self._settled(state.codes, queries, self._now(state.codes)).squeeze(2)

    def read_each(
        self, codes: Float[Tensor, "batch count memory"], queries: Float[Tensor, "batch query memory"]
    ) -> tuple[Float[Tensor, "batch query count memory"], Codes]:
        """All in S masked products."""
        return self._settled(codes, queries, self._strengths(codes)), Codes(codes)

    def matrix(self, state: Codes) -> Float[Tensor, "batch memory memory"]:
        """A, which is symmetric."""
        return torch.bmm((state.codes * self._now(state.codes).mT).mT, state.codes)

    def norm(self, state: Codes) -> Float[Tensor, "batch"]:
        """The Frobenius norm of A."""
        return pair_norm(state.codes, state.codes * self._now(state.codes).mT)

    def state_size(self, count: int) -> int:
        """The codes, or A where that is smaller."""
        return min(count, self.size) * self.size

    def contents(self, codes: Float[Tensor, "batch count memory"]) -> Contents:
        """Each code with itself, by which it should be found."""
        codes = self.normalise.unit(codes)
        return Contents(codes, codes, self._strengths(codes), codes, self.normalise(codes))

    def _now(self, codes: Tensor) -> Float[Tensor, "1 count"]:
        """How strongly each code still counts."""
        delta, eta = self.starting_rates
        ages = torch.arange(codes.shape[1] - 1, -1, -1, device=codes.device, dtype=codes.dtype)
        return (eta * (1 - delta) ** ages).unsqueeze(0)

    def _strengths(self, codes: Tensor) -> Float[Tensor, "count count"]:
        delta, eta = self.starting_rates
        return eta * decays(codes.shape[1], delta, codes)

    def _settled(self, codes: Tensor, queries: Tensor, strengths: Tensor) -> Float[Tensor, "batch query step memory"]:
        query = state = queries.unsqueeze(2)
        for _ in range(self.steps - 1):
            state = unit(self.activation(query + mixed(state, codes, codes, strengths)))
        return self.activation(mixed(state, codes, codes, strengths))
