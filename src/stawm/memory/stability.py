"""Appendix A as functions: the conditions on the rates, the fixed-point iteration for γ, and what bounds the memory.

φ^I (codes) and φ^II (responses) are non-negative, nondecreasing and bounded by Φ^I and Φ^II. (The paper does not name
"nondecreasing", but its argument needs it; ReLU6 and sigmoid are.) Let M be the size of the memory and `count` the
number of stimuli g_n in its sums, which is N + 1 as printed, n = 0 … N.
"""

import math
from collections.abc import Iterator
from itertools import islice, pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.errors import UsageError
from stawm.memory.activations import Activation


def broken_conditions(delta: float, eta: float, theta: float) -> tuple[str, ...]:
    """The conditions of Appendix A that these rates break, each in words; empty if the memory is stable.

    The paper asks for 0 < δ, η > δ and θ ≥ 0; the discrete write also needs δ < 1, or W would change sign.
    η > δ is more than is needed: the iteration is nondecreasing and bounded for every η ≥ 0, as the tests show.
    """
    conditions = {
        f"0 < delta < 1, not delta={delta}": 0 < delta < 1,
        f"eta > delta, not eta={eta} with delta={delta}": delta < eta < math.inf,
        f"theta >= 0, not theta={theta}": 0 <= theta < math.inf,
    }
    return tuple(words for words, holds in conditions.items() if not holds)


def check_rates(delta: float, eta: float, theta: float, *, learnt: bool) -> None:
    """Refuse rates outside the region of Appendix A; fixed rates may also have δ = 0, a control that never forgets."""
    if not all(isinstance(rate, int | float) for rate in (delta, eta, theta)):
        raise UsageError(f"the memory's rates are {delta!r}, {eta!r} and {theta!r}; give three numbers")
    broken = broken_conditions(delta, eta, theta)
    if delta == 0 and not learnt:
        broken = broken[1:]
    if broken:
        raise UsageError(f"the memory's rates are outside the stable region of Appendix A; give {'; '.join(broken)}")


def overlaps(codes: Float[Tensor, "count memory"]) -> Float[Tensor, "count count"]:
    """m_ij = Σ_μ e_μ^(i) e_μ^(j), the products of the first layer's responses to each two stimuli."""
    return codes @ codes.mT


def iterate_gamma(
    codes: Float[Tensor, "count memory"], delta: float, eta: float, theta: float, activation: Activation
) -> Iterator[Float[Tensor, "count memory"]]:
    """γ_0 = 0, γ_1, γ_2 and so on without end, each [stimulus, neuron ν], by the iteration that the paper prints.

    γ_{χ+1}^(i) = (η/δ) Σ_n φ^II(θ e^(n) + γ_χ^(n)) m_ni. No value ever falls, for φ^II is nondecreasing and m ≥ 0.
    """
    return _iterated(codes, eta / delta * overlaps(codes), theta, activation)


def _iterated(
    codes: Float[Tensor, "count memory"], products: Float[Tensor, "count count"], theta: float, activation: Activation
) -> Iterator[Float[Tensor, "count memory"]]:
    gamma = torch.zeros_like(codes)
    while True:
        yield gamma
        gamma = products @ activation(theta * codes + gamma)


def fixed_point(
    codes: Float[Tensor, "count memory"],
    delta: float,
    eta: float,
    theta: float,
    activation: Activation,
    *,
    tolerance: float = 1e-9,
    most: int = 10_000,
) -> Float[Tensor, "count memory"]:
    """The γ at which the printed iteration settles, which is no equilibrium of the memory: see `equilibrium`.

    Dividing the sum over a sequence by N Δt, Appendix A keeps the 1/N in the term of the decay only; so here every
    stimulus counts as if it were written at every step.
    """
    return _settled(codes, eta / delta * overlaps(codes), theta, activation, tolerance, most)


def equilibrium(
    codes: Float[Tensor, "count memory"],
    delta: float,
    eta: float,
    theta: float,
    activation: Activation,
    *,
    tolerance: float = 1e-9,
    most: int = 10_000,
) -> Float[Tensor, "count memory"]:
    """The γ that each code meets when it is written, once the sequence was written again and again without end.

    γ^(i) = η Σ_n (1 − δ)^a φ^II(θ e^(n) + γ^(n)) m_ni / (1 − (1 − δ)^N), with N codes and a = i − n − 1 modulo N the
    age of write n in the last round; the denominator sums the rounds before. For small δ all ages count alike, and it
    is the printed equation with its 1/N: γ^(i) = (η/δN) Σ_n φ^II(θ e^(n) + γ^(n)) m_ni.
    """
    count = len(codes)
    place = torch.arange(count, device=codes.device)
    ages = (place[:, None] - place - 1) % count
    strengths = (1 - delta) ** ages.to(codes.dtype) / (1 - (1 - delta) ** count)
    return _settled(codes, eta * strengths * overlaps(codes), theta, activation, tolerance, most)


def _settled(
    codes: Float[Tensor, "count memory"],
    products: Float[Tensor, "count count"],
    theta: float,
    activation: Activation,
    tolerance: float,
    most: int,
) -> Float[Tensor, "count memory"]:
    """The last of the iterates, when no value rose by more than `tolerance` of what none can exceed.

    A sequence that rises and is bounded must get there, so running out of `most` steps is an error.
    """
    largest = products.sum(1).max().item() * activation.bound
    for before, gamma in islice(pairwise(_iterated(codes, products, theta, activation)), most):
        if (gamma - before).max().item() <= tolerance * largest:
            return gamma
    raise UsageError(f"gamma still rises after {most} steps; raise `most` or `tolerance`")


def gamma_bound(delta: float, eta: float, *, size: int, count: int, code: float, response: float) -> float:
    """(η/δ) · count · M · (Φ^I)² Φ^II, which no iterate of γ exceeds; reached when all stimuli saturate both layers.

    The paper prints (η/δ) N² (Φ^I)² Φ^II. That is not a bound: m_ij = Σ_μ e_μ e_μ has M terms, so m_ij ≤ M (Φ^I)², and
    the sum over stimuli has `count` terms. N · N stands where count · M should, so stimuli can exceed it whenever
    count · M > N², as with M = 256 and N = 8.
    """
    return eta / delta * count * size * code**2 * response


def printed_gamma_bound(delta: float, eta: float, *, glimpses: int, code: float, response: float) -> float:
    """(η/δ) N² (Φ^I)² Φ^II, the bound as the paper prints it; see `gamma_bound` for why it does not hold."""
    return eta / delta * glimpses**2 * code**2 * response


def weight_bound(delta: float, eta: float, *, writes: int, code: float, response: float) -> float:
    """What no entry of W exceeds after `writes` writes of any codes: η Φ^I Φ^II Σ_{k<writes} (1 − δ)^k.

    Never more than (η/δ) Φ^I Φ^II, however long the sequence; with δ = 0 it grows with every write.
    """
    remembered = writes if delta == 0 else (1 - (1 - delta) ** writes) / delta
    return eta * code * response * remembered


def recall_bound(
    delta: float, eta: float, *, size: int, writes: int, code: float, response: float, query: float | None = None
) -> float:
    """What no γ(q) exceeds after `writes` writes, in either read direction: M Φ^q times the bound on W.

    This is the true memory, not its mean dynamics: the factor `count` of `gamma_bound` is absent, because each write
    also decays those before it. (Appendix A loses a 1/N on the way: the sum over the sequence is divided by N Δt, but
    only the decay term keeps the quotient.) A query is bounded like a code unless told otherwise.
    """
    per_neuron = weight_bound(delta, eta, writes=writes, code=code, response=response)
    return size * (code if query is None else query) * per_neuron


def norm_bound(
    delta: float, eta: float, theta: float, *, size: int, writes: int, response: float, length: float = 1.0
) -> float:
    """What ‖W‖ does not exceed after `writes` writes of codes of this length; with unit codes, no γ(q̂) either.

    For φ(x) ≤ max(x, 0), as ReLU6: |p| ≤ min(Φ√M, L(‖W‖ + θ)) with L = |e|, in either read direction, and a write makes
    ‖W‖ ≤ (1 − δ)‖W‖ + η L |p|, spectral or Frobenius. One code with all its units alike, written again and again,
    reaches this.

    Unit codes do not keep W small by themselves: Appendix A asks for η > δ, and then a repeated unit code grows by
    1 − δ + η a write, until φ caps it near (η/δ) Φ√M, as without unit codes. They slow it: the factor is 1 − δ + ηL²
    for codes of length L, so with the paper's rates 1.2 for unit codes, 2.4 for L = 2 and 15.2 for L = 6. Measured at
    M = 256 with one random code (ReLU of a normal one) repeated: half its units are saturated after 26 writes at length
    1, after 6 at 2, after 2 at 4 and at 6. With another random code each time: never in 60 writes, after 17, 4 and 2.
    """
    norm = 0.0
    for _ in range(writes):
        norm = (1 - delta) * norm + eta * length * min(response * math.sqrt(size), length * (norm + theta))
    return norm


def unsaturated_writes(
    delta: float, eta: float, theta: float, *, response: float, length: float = 1.0, most: int = 10_000
) -> int:
    """How many writes of codes of this length no unit can be saturated by, whatever the codes and the read; ≤ `most`.

    While L(‖W‖ + θ) and L‖W‖ are below Φ, no response and no recall reaches it. One code with a single unit, repeated,
    saturates at the next write: with the paper's rates at write 11 for unit codes, 3 for L = 2, and the first for L = 4
    or more. A layer norm comes after that: it sets the scale of what a head sees, but brings no gradient back to units
    that are saturated beneath it.
    """
    norm = 0.0
    for write in range(most):
        norm, total = (1 - delta) * norm + eta * length**2 * (norm + theta), length * (norm + theta)
        if max(total, length * norm) >= response:
            return write
    return most
