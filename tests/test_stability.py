from itertools import islice, pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stawm.errors import UsageError
from stawm.memory.activations import ACTIVATIONS, activation_for
from stawm.memory.hebb_rosenblatt import HebbRosenblatt, project
from stawm.memory.stability import (
    broken_conditions,
    check_rates,
    equilibrium,
    fixed_point,
    gamma_bound,
    iterate_gamma,
    norm_bound,
    overlaps,
    printed_gamma_bound,
    recall_bound,
    unsaturated_writes,
    weight_bound,
)

ROUNDING = 1 + 1e-9
seeds = st.integers(0, 2**31)
deltas = st.floats(0.01, 0.99)
etas = st.floats(0.0, 5.0)
thetas = st.floats(0.0, 3.0)
activations = st.sampled_from(sorted(ACTIVATIONS))
largest_codes = st.floats(0.01, 6.0)


def drawn(seed: int, *shape: int, largest: float) -> Tensor:
    """Codes between 0 and `largest`, a third of them at either end."""
    generator = torch.Generator().manual_seed(seed)
    codes = torch.rand(shape, generator=generator, dtype=torch.float64) * 3 - 1
    return codes.clamp(0, 1) * largest


@settings(max_examples=100, deadline=None)
@given(seeds, deltas, etas, thetas, activations, largest_codes, st.integers(1, 9), st.integers(1, 9))
def test_gamma_never_falls_and_never_passes_its_bound(
    seed: int, delta: float, eta: float, theta: float, name: str, largest: float, count: int, size: int
):
    """For every η ≥ 0, also below δ: the paper's η > δ is not needed."""
    codes, phi = drawn(seed, count, size, largest=largest), activation_for(name)
    bound = gamma_bound(delta, eta, size=size, count=count, code=largest, response=phi.bound)
    steps = list(islice(iterate_gamma(codes, delta, eta, theta, phi), 12))
    assert torch.equal(steps[0], torch.zeros_like(codes))
    for before, after in pairwise(steps):
        assert (after >= before / ROUNDING).all()
        assert after.min() >= 0 and after.max() <= bound * ROUNDING


@settings(max_examples=100, deadline=None)
@given(
    seeds,
    deltas,
    st.floats(1e-3, 3.0),
    thetas,
    activations,
    largest_codes,
    st.integers(1, 40),
    st.integers(1, 9),
    st.sampled_from(["codes", "responses"]),
    st.sampled_from(["trace", "matrix"]),
)
def test_the_memory_itself_stays_within_its_bounds_at_every_write(
    seed: int, delta: float, gap: float, theta: float, name: str, largest: float, count: int, size: int, read, form
):
    memory = HebbRosenblatt(
        size, read=read, form=form, activation=name, delta=delta, eta=delta + gap, theta=theta
    ).double()
    codes, query = drawn(seed, 2, count, size, largest=largest), drawn(seed + 1, 2, size, largest=6.0)
    response, state = memory.activation.bound, memory.start(2)
    for writes, code in enumerate(codes.unbind(1), start=1):
        state = memory.write(state, code)
        weights, gamma = memory.matrix(state), project(state, query, memory.rates(), read)
        limit = weight_bound(delta, delta + gap, writes=writes, code=largest, response=response)
        assert weights.min() >= 0 and weights.max() <= limit * ROUNDING
        assert limit <= (delta + gap) / delta * largest * response * ROUNDING
        limit = recall_bound(delta, delta + gap, size=size, writes=writes, code=largest, response=response, query=6.0)
        assert gamma.min() >= 0 and gamma.max() <= limit * ROUNDING


def test_the_printed_bound_fails_and_the_corrected_one_is_reached():
    """M = 16, three stimuli, all saturated: γ = (η/δ) · 3 · 16 · 36 · 6; the paper prints (η/δ) · 3 · 3 · 36 · 6."""
    codes, phi = torch.full((3, 16), 6.0, dtype=torch.float64), activation_for("relu6")
    gamma = fixed_point(codes, 0.2, 0.4, 0.5, phi)
    printed = printed_gamma_bound(0.2, 0.4, glimpses=3, code=6.0, response=6.0)
    assert printed == pytest.approx(2 * 9 * 216)
    assert gamma.min() > 5 * printed
    torch.testing.assert_close(gamma, torch.full_like(gamma, 2 * 3 * 16 * 216))
    assert gamma_bound(0.2, 0.4, size=16, count=3, code=6.0, response=6.0) == pytest.approx(gamma.max().item())


def test_the_printed_bound_fails_for_the_memory_itself_too():
    """M = 256, N = 8, the paper's own sizes: eight saturated writes carry γ past (η/δ) · 8² · 36 · 6."""
    memory = HebbRosenblatt(256, theta=1.0).double()
    codes = torch.full((1, 8, 256), 6.0, dtype=torch.float64)
    gamma = project(memory(codes, codes[:, 0]).state, codes[:, 0], memory.rates(), "codes").max().item()
    assert gamma > 3 * printed_gamma_bound(0.2, 0.4, glimpses=8, code=6.0, response=6.0)
    reached = recall_bound(0.2, 0.4, size=256, writes=8, code=6.0, response=6.0)
    assert gamma == pytest.approx(reached)
    assert reached == pytest.approx(0.4 * 36 * 256 * 6 * sum(0.8**age for age in range(8)))


@settings(max_examples=100, deadline=None)
@given(
    seeds,
    deltas,
    st.floats(1e-3, 3.0),
    thetas,
    st.integers(1, 30),
    st.integers(2, 9),
    st.integers(1, 3),
    st.sampled_from(["codes", "responses"]),
    st.sampled_from(["trace", "matrix"]),
)
def test_unit_codes_keep_the_norm_and_every_unit_within_their_bounds(
    seed: int, delta: float, gap: float, theta: float, count: int, size: int, different: int, read, form
):
    """Of few different codes, so that they are written again and again: the worst that can happen to a Hebbian rule."""
    rates: Any = {"delta": delta, "eta": delta + gap, "theta": theta}
    memory = HebbRosenblatt(size, read=read, form=form, normalise="fixed", **rates).double()
    codes, query = drawn(seed, 2, different, size, largest=6.0), drawn(seed + 1, 2, size, largest=6.0)
    state, safe = memory.start(2), unsaturated_writes(**rates, response=6.0)
    for write in range(count):
        state = memory.write(state, codes[:, write % different])
        limit = norm_bound(**rates, size=size, writes=write + 1, response=6.0)
        assert memory.norm(state).max() <= limit * ROUNDING
        assert limit <= (delta + gap) / delta * 6 * size**0.5 * ROUNDING, "however many writes"
        inside = memory.unnormalised(state, query)
        assert inside is not None and inside[0].max() <= limit * ROUNDING
        if write + 1 <= safe:
            assert inside[0].max() < 6


@pytest.mark.parametrize(("length", "safe"), [(1.0, 10), (2.0, 2), (4.0, 0), (6.0, 0)])
def test_one_code_again_and_again_reaches_both_bounds(length: float, safe: int):
    """Unit codes slow the growth, but while η > δ they do not end it: W grows until ReLU6 caps it."""
    rates: Any = {"delta": 0.2, "eta": 0.4, "theta": 0.5}
    size, reached = 16, 0.0
    memory = HebbRosenblatt(size, form="trace", **rates).double()
    even = torch.full((1, 60, size), length / size**0.5, dtype=torch.float64)
    for writes in (1, 5, 20, 60):
        reached = memory.norm(memory(even[:, :writes], even[:, 0]).state).item()
        bound = norm_bound(**rates, size=size, writes=writes, response=6.0, length=length)
        assert reached == pytest.approx(bound, rel=1e-9)
    assert reached == pytest.approx(0.4 / 0.2 * 6 * size**0.5 * length, rel=1e-3), "the cap, at any length"
    single = length * F.one_hot(torch.zeros(1, 60, dtype=torch.long), size).double()
    saturated = (memory(single, single[:, 0]).recalls[0].amax(1) >= 6).tolist()
    assert saturated.index(True) == safe == unsaturated_writes(**rates, response=6.0, length=length)


def test_a_memory_that_passes_nothing_on_never_saturates():
    assert unsaturated_writes(0.2, 0.4, 0.0, response=6.0, most=50) == 50


def test_the_weights_keep_within_their_limit_for_ever_and_without_decay_grow():
    forever = 0.4 / 0.2 * 36
    assert weight_bound(0.2, 0.4, writes=10**6, code=6.0, response=6.0) == pytest.approx(forever)
    assert weight_bound(0.2, 0.4, writes=1, code=6.0, response=6.0) == pytest.approx(0.4 * 36)
    assert weight_bound(0.0, 0.4, writes=7, code=6.0, response=6.0) == pytest.approx(7 * 0.4 * 36)


def test_the_fixed_point_is_a_fixed_point():
    codes, phi = drawn(3, 4, 6, largest=0.4), activation_for("sigmoid")
    gamma = fixed_point(codes, 0.3, 0.5, 0.5, phi, tolerance=1e-14)
    again = 0.5 / 0.3 * overlaps(codes) @ phi(0.5 * codes + gamma)
    torch.testing.assert_close(again, gamma, rtol=1e-12, atol=1e-12)
    assert gamma.min() >= 0 and gamma.max() > 0.1


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
@pytest.mark.parametrize(("delta", "eta"), [(0.2, 0.4), (0.9, 1.0)])
def test_the_equilibrium_is_where_a_memory_ends_that_is_written_again_and_again(name: str, delta: float, eta: float):
    codes, memory = drawn(5, 4, 6, largest=0.3), HebbRosenblatt(6, activation=name, form="matrix", delta=delta, eta=eta)
    memory, state = memory.double(), memory.start(1, dtype=torch.float64)
    met: list[Tensor] = []
    for _ in range(round(15 / delta)):
        met.clear()
        for code in codes:
            met.append(project(state, code[None], memory.rates(), "codes")[0])
            state = memory.write(state, code[None])
    found = equilibrium(codes, delta, eta, 0.5, memory.activation, tolerance=1e-14)
    torch.testing.assert_close(found, torch.stack(met), rtol=1e-6, atol=1e-9)
    printed = fixed_point(codes, delta, eta, 0.5, memory.activation)
    assert (printed.sum() > 1.05 * found.sum()).item(), "the lost 1/N lets every write count at every step"


def test_at_small_rates_the_equilibrium_is_the_printed_one_with_its_share():
    codes, phi = drawn(6, 4, 6, largest=1.0), activation_for("relu6")
    found = equilibrium(codes, 1e-6, 2e-6, 0.5, phi)
    torch.testing.assert_close(found, fixed_point(codes, 4e-6, 2e-6, 0.5, phi), rtol=1e-4, atol=1e-6)


def test_a_fixed_point_not_reached_is_an_error():
    codes = drawn(4, 3, 5, largest=0.2)
    with pytest.raises(UsageError, match="still rises after 2 steps"):
        fixed_point(codes, 0.2, 0.4, 0.5, activation_for("sigmoid"), tolerance=0.0, most=2)


@pytest.mark.parametrize(
    ("rates", "broken"),
    [
        ((0.2, 0.4, 0.5), []),
        ((0.2, 0.4, 0.0), []),
        ((0.0, 0.4, 0.5), ["0 < delta < 1"]),
        ((1.0, 1.4, 0.5), ["0 < delta < 1"]),
        ((0.4, 0.4, 0.5), ["eta > delta"]),
        ((0.2, 0.4, -0.1), ["theta >= 0"]),
        ((-1.0, -2.0, -0.1), ["0 < delta < 1", "eta > delta", "theta >= 0"]),
        ((float("nan"), float("nan"), float("nan")), ["0 < delta < 1", "eta > delta", "theta >= 0"]),
    ],
)
def test_the_conditions_of_appendix_a(rates: tuple[float, float, float], broken: list[str]):
    found = broken_conditions(*rates)
    assert [words.split(",")[0] for words in found] == broken


def test_a_control_may_never_forget_but_a_learnt_memory_may_not():
    check_rates(0.0, 3.0, 0.0, learnt=False)
    with pytest.raises(UsageError, match="0 < delta < 1"):
        check_rates(0.0, 0.4, 0.5, learnt=True)
    with pytest.raises(UsageError, match="eta > delta"):
        check_rates(0.0, 0.0, 0.5, learnt=False)
