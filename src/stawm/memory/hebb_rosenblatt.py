"""The Hebb-Rosenblatt memory (Section 3.1, Appendix A): a square layer whose weights are written as a sequence is seen.

With W_0 = 0 and codes e_t, the state of the memory follows

    response   p_t = φ(γ_t(e_t) + θ e_t)
    write      W_{t+1} = (1 − δ) W_t + η e_t ⊗ p_t
    recall     r_t(q) = φ(γ_t(q)), without the θ term, so that it cannot become the identity

W is [batch, mu, nu]: mu (axis 1) is the input, where the code e enters; nu (axis 2) is the output, where the response p
leaves; (e ⊗ p)[mu, nu] = e[mu] p[nu]. What a query is matched with is chosen by name:

    read="codes"       γ(q)[nu] = Σ_mu W[mu, nu] q[mu]     Appendix A: codes are matched, responses come back
    read="responses"   γ(q)[mu] = Σ_nu W[mu, nu] q[nu]     Equation 2 literally: responses are matched, codes come back

Since W_t = η Σ_{i<t} (1 − δ)^{t−1−i} e_i ⊗ p_i, the pairs (e_i, p_i) say all that W says: a state is either this
`Trace` or the `Matrix`, with the same recalls and the same gradients.

With `normalise` every e_t and q above has length 1, and a recall is LN(φ(γ_t(q))): see normalise.py, and stability.py
for what that bounds.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.errors import UsageError
from stawm.memory.activations import Activation, activation_for
from stawm.memory.normalise import Normalise, Normaliser
from stawm.memory.protocol import MEMORIES, Contents, Memory, MemoryConfig, Recalls
from stawm.memory.sequence import recall_matrix, recall_trace
from stawm.memory.stability import check_rates
from stawm.memory.state import Form, Matrix, Rates, Read, State, Trace, reinforced, trace_weights, weights_of
from stawm.ranges import Range

RATE = Range(high=1000)
WHOLE_BREAK_EVEN = 4
"""Up to this many times M, a sequence known beforehand is read as a trace: measured 1.6 to 3 times quicker there."""

SHIFT_LIMIT = 8.0
"""How far a learnt rate's shift may go either way; keeps every rate off the edge of its region in float32."""


def project(
    state: State, query: Float[Tensor, "batch memory"], rates: Rates, read: Read
) -> Float[Tensor, "batch memory"]:
    """γ(q): the query projected through the memory, before the activation."""
    row = query.unsqueeze(1)
    if isinstance(state, Matrix):
        weights = state.weights if read == "codes" else state.weights.mT
        return torch.bmm(row, weights).squeeze(1)
    keys, values = (state.codes, state.responses) if read == "codes" else (state.responses, state.codes)
    strengths = trace_weights(keys.shape[1], rates, keys)
    return torch.bmm(torch.bmm(row, keys.mT) * strengths, values).squeeze(1)


def written(
    state: State, code: Float[Tensor, "batch memory"], rates: Rates, read: Read, activation: Activation
) -> State:
    """The state after `code` is written, in the form of the state before."""
    response = activation(project(state, code, rates, read) + rates.theta * code)
    if isinstance(state, Matrix):
        return Matrix(reinforced(state.weights, code, response, rates))
    return Trace(
        torch.cat([state.codes, code.unsqueeze(1)], dim=1),
        torch.cat([state.responses, response.unsqueeze(1)], dim=1),
    )


@dataclass(frozen=True)
class HebbRosenblattConfig(MemoryConfig):
    """The Hebb-Rosenblatt memory: what is matched on reading, and its three rates."""

    rule: str = "hebb-rosenblatt"
    read: Read = "codes"
    """What a query is matched with: codes (Appendix A) or responses (Equation 2 literally)."""
    activation: str = "relu6"
    """φ: relu6, sigmoid or hardsigmoid."""
    form: Form = "auto"
    """How the state is kept; the numbers are the same."""
    learn_rates: bool = False
    """Whether the three rates learn."""
    delta: Annotated[float, RATE] = 0.2
    """The decay."""
    eta: Annotated[float, RATE] = 0.4
    """The learning rate."""
    theta: Annotated[float, RATE] = 0.5
    """The share of a code itself in the response to it."""
    normalise: Normalise = "none"
    """Unit codes and queries, and a layer norm of what is recalled: none, fixed, or learnt (with a gain)."""

    free = ("form", "learn_rates")


@MEMORIES.add("hebb-rosenblatt")
class HebbRosenblatt(Memory):
    """A memory of width `size` over any sequence of codes; it owns the rates, and the caller keeps the states.

    A query is matched with what `read` names. The `form` "auto" begins as a trace and folds it into a matrix once that
    is cheaper. With `learn_rates` the three rates are parameters, which start from those given and stay in the region
    0 < δ < 1, η > δ, θ ≥ 0. With `normalise` only directions of codes and queries count, and recalls have one scale.
    """

    Config = HebbRosenblattConfig
    shift: Tensor

    def __init__(
        self,
        size: int,
        *,
        read: Read = "codes",
        activation: str | Activation = "relu6",
        form: Form = "auto",
        learn_rates: bool = False,
        delta: float = 0.2,
        eta: float = 0.4,
        theta: float = 0.5,
        normalise: Normalise = "none",
    ):
        super().__init__()
        self.check_size(size)
        if read not in ("codes", "responses"):
            raise UsageError(f"unknown memory read {read!r}; choose codes or responses")
        if form not in ("auto", "trace", "matrix"):
            raise UsageError(f"unknown memory form {form!r}; choose auto, trace or matrix")
        self.size, self.learn_rates = size, learn_rates
        self.check_rates(delta, eta, theta)
        self.starting_rates = (delta, eta, theta)
        self.read: Read = read
        self.form: Form = form
        self.activation = activation_for(activation)
        self.normalise = Normaliser(size, normalise)
        self.bound = self.normalise.bound(self.activation.bound)
        if learn_rates:
            self.shift = nn.Parameter(torch.zeros(3))
        else:
            self.register_buffer("shift", torch.zeros(3), persistent=False)

    def check_rates(self, *rates: float) -> None:
        """Refuse rates outside the region of Appendix A."""
        check_rates(*rates, learnt=self.learn_rates)

    def extra_repr(self) -> str:
        """The settings, as `print(model)` shows them."""
        delta, eta, theta = self.starting_rates
        return (
            f"{self.size}, read={self.read}, activation={self.activation.name}, form={self.form}, "
            f"learn_rates={self.learn_rates}, delta={delta}, eta={eta}, theta={theta}"
        )

    @property
    def break_even(self) -> int:
        """The most writes that `auto` keeps as a trace: at M/2 the matrix is no larger, and soon quicker to write."""
        return max(1, self.size // 2)

    def rates(self) -> Rates:
        """The rates now: δ = δ₀eᵃ / (δ₀eᵃ + 1 − δ₀), η = δ + (η₀ − δ₀)eᵇ, θ = θ₀eᶜ, with a = b = c = 0 at the start.

        The limit on a, b and c, and one product turned round (δ₀eᵃ + 1 − δ₀ = 1 + δ₀(eᵃ − 1)), keep the start exact and
        the region unbroken in floating point.
        """
        delta, eta, theta = self.starting_rates
        # A file for another program mixes no precisions: there the rates are as precise as all else.
        single = self.shift.device.type == "mps" or torch.compiler.is_exporting()
        precise = torch.float32 if single else torch.float64
        a, b, c = (SHIFT_LIMIT * torch.tanh(self.shift.to(precise) / SHIFT_LIMIT)).unbind()
        decay = delta * a.exp() / (1 + delta * a.expm1())
        return Rates(decay, decay + (eta - delta) * b.exp(), theta * c.exp())

    def start(self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> State:
        """The empty memory of `batch` sequences, where and as precise as the module unless told otherwise."""
        self.check_batch(batch)
        device, dtype = device or self.shift.device, dtype or self.shift.dtype
        if self.form == "matrix":
            return Matrix(torch.zeros(batch, self.size, self.size, device=device, dtype=dtype))
        empty = torch.zeros(batch, 0, self.size, device=device, dtype=dtype)
        return Trace(empty, empty)

    def write(self, state: State, code: Float[Tensor, "batch memory"]) -> State:
        """The state after one Hebbian update by `code`; the state given stays as it was."""
        rates = self.rates()
        if self.form == "auto" and isinstance(state, Trace) and state.codes.shape[1] >= self.break_even:
            state = Matrix(weights_of(state, rates))
        return written(state, self._fitted(code, state), rates, self.read, self.activation)

    def recall(self, state: State, query: Float[Tensor, "batch memory"]) -> Float[Tensor, "batch memory"]:
        """What `query` reads back, φ(γ(q)) or its layer norm; the memory is only read."""
        return self.normalise(self._responding(state, query))

    def unnormalised(
        self, state: State, query: Float[Tensor, "batch memory"]
    ) -> tuple[Float[Tensor, "batch memory"], float] | None:
        """φ(γ(q)) and the bound of φ, if a recall is a layer norm of it."""
        return (self._responding(state, query), self.activation.bound) if self.normalise else None

    def _responding(self, state: State, query: Tensor) -> Tensor:
        return self.activation(project(state, self._fitted(query, state), self.rates(), self.read))

    def matrix(self, state: State) -> Float[Tensor, "batch memory memory"]:
        """W, input by output."""
        return weights_of(state, self.rates())

    def norm(self, state: State) -> Float[Tensor, "batch"]:
        """The Frobenius norm of W; in trace form from the pairs alone, ‖W‖² = Σ_ij w_i w_j (e_i·e_j)(p_i·p_j)."""
        if isinstance(state, Matrix):
            return torch.linalg.matrix_norm(state.weights)
        strengths = trace_weights(state.codes.shape[1], self.rates(), state.codes)
        scaled = strengths[:, None] * state.responses
        overlap = torch.bmm(state.codes, state.codes.mT) * torch.bmm(scaled, scaled.mT)
        return overlap.sum(dim=(1, 2)).clamp_min(0).sqrt()

    def state_size(self, count: int) -> int:
        """The trace, 2 · count · M, or the matrix, M², where that is smaller."""
        return min(2 * count, self.size) * self.size

    def health(self, state: State) -> dict[str, Float[Tensor, ""]]:
        """The norm of W, and the rates."""
        rates = self.rates()
        return super().health(state) | {"delta": rates.delta, "eta": rates.eta, "theta": rates.theta}

    def contents(self, codes: Float[Tensor, "batch count memory"]) -> Contents:
        """The pairs (code, response) of these codes, and how strongly each still counts after each write.

        With read="codes" a code should bring back its response; with read="responses", a response its code.
        """
        codes = self.normalise.unit(codes)
        rates, count = self.rates(), codes.shape[1]
        state = recall_trace(codes, codes[:, 0], rates, self.read, self.activation).state
        asked, wanted = (codes, state.responses) if self.read == "codes" else (state.responses, codes)
        strengths = [F.pad(trace_weights(step, rates, codes), (0, count - step)) for step in range(1, count + 1)]
        return Contents(codes, state.responses, torch.stack(strengths), asked, self.normalise(wanted))

    def forward(
        self, codes: Float[Tensor, "batch count memory"], query: Float[Tensor, "batch *query memory"]
    ) -> Recalls:
        """What each query reads back after each of `codes` is written; a known sequence may be quicker as a trace."""
        return self._whole(codes, query)

    def at_end(
        self, codes: Float[Tensor, "batch count memory"], query: Float[Tensor, "batch *query memory"]
    ) -> Recalls:
        """What each query reads back once all of `codes` are written."""
        return self._whole(codes, query, last=True)

    def _whole(self, codes: Tensor, query: Tensor, last: bool = False) -> Recalls:
        self.check_codes(codes, query)
        rates, count = self.rates(), codes.shape[1]
        as_trace = self.form == "trace" or (self.form == "auto" and count <= WHOLE_BREAK_EVEN * self.size)
        whole = recall_trace if as_trace else recall_matrix
        units = self.normalise.unit(codes), self.normalise.unit(query)
        result = whole(*units, rates, self.read, self.activation, last=last)
        folded = self.form == "auto" and count > self.break_even
        state = Matrix(weights_of(result.state, rates)) if folded else result.state
        return Recalls(self.normalise(result.recalls), state)

    def _fitted(self, vector: Tensor, state: State) -> Tensor:
        held = state.weights if isinstance(state, Matrix) else getattr(state, "codes", None)
        return self.normalise.unit(self.fitted(vector, held))
