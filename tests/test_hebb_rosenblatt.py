"""The memory rule: both forms against the oracle, and its properties."""

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from oracle import recall_images
from stawm.memory.activations import Activation
from stawm.memory.hebb_rosenblatt import (
    HebbRosenblatt,
    Matrix,
    Rates,
    Read,
    State,
    Trace,
    project,
    recall_matrix,
    recall_trace,
    weights_of,
    written,
)
from tiny_codes import READS, drawn, three_rates

ACTIVATION = Activation("relu6", F.relu6, 6.0)
reads = st.sampled_from(READS)
seeds = st.integers(0, 2**31)
# Zero or well above it: a product that underflows on one way only would stand on either side of ReLU6's kink.
thetas = st.one_of(st.just(0.0), st.floats(1e-3, 2))


def step_by_step(memory: HebbRosenblatt, codes: Tensor, query: Tensor) -> tuple[Tensor, State]:
    state, recalls = memory.start(codes.shape[0], dtype=codes.dtype), []
    for code in codes.unbind(1):
        state = memory.write(state, code)
        recalls.append(memory.recall(state, query))
    return torch.stack(recalls, dim=1), state


def stepwise(form: str):
    def whole(codes: Tensor, query: Tensor, rates: Rates, read: Read, activation: Activation) -> tuple[Tensor, State]:
        batch, _, size = codes.shape
        empty = codes.new_zeros(batch, 0, size)
        state: State = Trace(empty, empty) if form == "trace" else Matrix(codes.new_zeros(batch, size, size))
        recalls = []
        for code in codes.unbind(1):
            state = written(state, code, rates, read, activation)
            recalls.append(activation(project(state, query, rates, read)))
        return torch.stack(recalls, dim=1), state

    return whole


def all_at_once(whole: Any):
    def unpacked(*arguments: Any) -> tuple[Tensor, State]:
        result = whole(*arguments)
        return result.recalls, result.state

    return unpacked


WAYS = {
    "trace": all_at_once(recall_trace),
    "matrix": all_at_once(recall_matrix),
    "trace, step by step": stepwise("trace"),
    "matrix, step by step": stepwise("matrix"),
}


def values_and_gradients(way: Any, codes: Tensor, query: Tensor, rates: tuple[Tensor, ...], read: Read) -> list[Tensor]:
    """Recalls, W, and the gradients of a fixed random mixture of both with respect to codes, query and each rate."""
    leaves = [leaf.detach().clone().requires_grad_() for leaf in (codes, query, *rates)]
    if way is recall_images:
        recalls, weights = way(leaves[0], leaves[1], tuple(leaves[2:]), read, F.relu6)
    else:
        known = Rates(*leaves[2:])
        recalls, state = way(leaves[0], leaves[1], known, read, ACTIVATION)
        weights = weights_of(state, known)
    generator = torch.Generator().manual_seed(5)
    mixture = torch.zeros(())
    for output in (recalls, weights):
        shares = torch.randn(output.shape, generator=generator, dtype=torch.float64)
        mixture = mixture + (output * shares.to(output.dtype)).sum()
    return [recalls.detach(), weights.detach(), *torch.autograd.grad(mixture, leaves)]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    ("batch", "count", "size", "scale"),
    [(2, 1, 3, 1.0), (3, 2, 1, 1.0), (3, 2, 5, 0.5), (2, 7, 4, 0.3), (1, 16, 3, 0.3), (1, 17, 3, 0.3), (2, 40, 5, 0.2)],
)
def test_both_forms_are_the_oracle_in_values_and_all_gradients(
    read: Read, batch: int, count: int, size: int, scale: float
):
    codes, query = scale * drawn(1, batch, count, size), scale * drawn(2, batch, size)
    truth = values_and_gradients(recall_images, codes, query, three_rates(), read)
    by_codes, by_query, by_delta, *by_others = (gradient.abs().max() for gradient in truth[2:])
    assert min(by_codes, by_query, *by_others) > 1e-6, "gradients that vanish compare nothing"
    assert (by_delta > 1e-6) == (count > 1), "a single write has nothing to forget"
    for name, way in WAYS.items():
        for wanted, got in zip(truth, values_and_gradients(way, codes, query, three_rates(), read), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9, msg=lambda why, name=name: f"{name}: {why}")


@settings(max_examples=40, deadline=None)
@given(seeds, reads, st.integers(1, 40), st.integers(1, 9), st.floats(0.01, 0.95), st.floats(0.02, 2), thetas)
def test_the_forms_agree_for_any_length_size_and_rates(
    seed: int, read: Read, count: int, size: int, delta: float, gap: float, theta: float
):
    codes, query = 0.4 * drawn(seed, 2, count, size), 0.4 * drawn(seed + 1, 2, size)
    rates = three_rates(delta, delta + gap, theta)
    truth, *others = (values_and_gradients(way, codes, query, rates, read) for way in WAYS.values())
    for other in others:
        for wanted, got in zip(truth, other, strict=True):
            close = 1e-9 * max(1.0, wanted.abs().max().item())
            torch.testing.assert_close(got, wanted, rtol=1e-9, atol=close)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(("count", "size"), [(1, 7), (8, 33), (40, 17)])
def test_float32_is_within_1e_4_of_the_float64_truth(read: Read, count: int, size: int):
    codes, query = 0.1 * drawn(3, 3, count, size), 0.1 * drawn(4, 3, size)
    truth = values_and_gradients(WAYS["matrix"], codes, query, three_rates(), read)
    for way in WAYS.values():
        results = values_and_gradients(way, codes.float(), query.float(), three_rates(), read)
        for wanted, got in zip(truth, results, strict=True):
            assert (got - wanted).norm() <= 1e-4 * wanted.norm()


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("way", ["trace", "matrix"])
def test_gradients_are_those_of_finite_differences(read: Read, way: str):
    smooth = Activation("sigmoid", torch.sigmoid, 1.0)

    def recalls(codes: Tensor, query: Tensor, *rates: Tensor) -> Tensor:
        return WAYS[way](codes, query, Rates(*rates), read, smooth)[0]

    leaves = [drawn(6, 2, 4, 3), drawn(7, 2, 3), *three_rates()]
    assert torch.autograd.gradcheck(recalls, [leaf.requires_grad_() for leaf in leaves])


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("form", ["trace", "matrix"])
def test_several_queries_read_one_memory_as_each_would_alone(read: Read, form: Any):
    codes, queries = 0.3 * drawn(23, 2, 5, 7), 0.3 * drawn(24, 2, 3, 7)
    memory = HebbRosenblatt(7, read=read, form=form).double()
    together = memory(codes, queries)
    assert together.recalls.shape == (2, 3, 5, 7)
    for number in range(3):
        alone = memory(codes, queries[:, number])
        torch.testing.assert_close(together.recalls[:, number], alone.recalls, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(together.terminal[:, number], alone.terminal, rtol=1e-12, atol=1e-12)


def test_the_two_read_directions_differ_from_the_second_write_on():
    codes, query = torch.rand(1, 3, 5, dtype=torch.float64), torch.rand(1, 5, dtype=torch.float64)
    by_codes = HebbRosenblatt(5, read="codes").double()(codes, query)
    by_responses = HebbRosenblatt(5, read="responses").double()(codes, query)
    torch.testing.assert_close(by_codes.recalls[:, 0], by_responses.recalls[:, 0])
    assert (by_codes.recalls[:, 1:] - by_responses.recalls[:, 1:]).abs().amax(dim=(0, 2)).min() > 1e-3


def test_two_writes_by_hand():
    """e_0 = (1, 0), e_1 = (1, 1): p_0 = θe_0 = (.5, 0), W_1[0, 0] = η · .5 = .2, γ_1(e_1) = (.2, 0), p_1 = (.7, .5)."""
    codes = torch.tensor([[[1.0, 0.0], [1.0, 1.0]]], dtype=torch.float64)
    query = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    memory = HebbRosenblatt(2).double()
    result = memory(codes, query)
    wanted = torch.tensor([[[0.8 * 0.2 + 0.28, 0.2], [0.28, 0.2]]], dtype=torch.float64)
    torch.testing.assert_close(memory.matrix(result.state), wanted)
    torch.testing.assert_close(result.recalls, torch.tensor([[[0.0, 0.0], [0.28, 0.2]]], dtype=torch.float64))
    torch.testing.assert_close(result.terminal, result.recalls[:, 1])


@settings(max_examples=30, deadline=None)
@given(seeds, reads, st.sampled_from(["trace", "matrix"]), st.permutations(range(4)))
def test_permuting_the_batch_permutes_the_result(seed: int, read: Read, form: Any, order: list[int]):
    codes, query = drawn(seed, 4, 3, 5), drawn(seed + 1, 4, 5)
    memory = HebbRosenblatt(5, read=read, form=form).double()
    torch.testing.assert_close(memory(codes[order], query[order]).recalls, memory(codes, query).recalls[order])


@settings(max_examples=30, deadline=None)
@given(seeds, reads, st.sampled_from(["trace", "matrix"]), st.sampled_from(["relu6", "sigmoid", "hardsigmoid"]))
def test_a_blank_code_only_decays(seed: int, read: Read, form: Any, activation: str):
    memory = HebbRosenblatt(5, read=read, form=form, activation=activation, delta=0.3).double()
    _, state = step_by_step(memory, drawn(seed, 2, 4, 5), drawn(seed + 1, 2, 5))
    after = memory.write(state, torch.zeros(2, 5, dtype=torch.float64))
    torch.testing.assert_close(memory.matrix(after), 0.7 * memory.matrix(state))


@settings(max_examples=30, deadline=None)
@given(seeds, reads, st.sampled_from(["trace", "matrix"]), st.floats(-3, 3), st.floats(-3, 3))
def test_the_projection_is_linear_in_the_query(seed: int, read: Read, form: Any, first: float, second: float):
    memory = HebbRosenblatt(6, read=read, form=form).double()
    _, state = step_by_step(memory, drawn(seed, 2, 4, 6), drawn(seed + 1, 2, 6))
    one, two = drawn(seed + 2, 2, 6), drawn(seed + 3, 2, 6)

    def projected(query: Tensor) -> Tensor:
        return project(state, query, memory.rates(), read)

    mixture = first * projected(one) + second * projected(two)
    torch.testing.assert_close(projected(first * one + second * two), mixture, rtol=1e-9, atol=1e-8)
    torch.testing.assert_close(memory.recall(state, one), F.relu6(projected(one)))


@settings(max_examples=30, deadline=None)
@given(seeds, reads, st.sampled_from(["trace", "matrix", "auto"]), st.integers(1, 12))
def test_a_state_is_a_value(seed: int, read: Read, form: Any, count: int):
    memory = HebbRosenblatt(7, read=read, form=form).double()
    codes, query = drawn(seed, 2, count, 7), drawn(seed + 1, 2, 7)
    _, state = step_by_step(memory, codes, query)
    before = copy.deepcopy(state)
    once, again = memory.write(state, codes[:, 0]), memory.write(state, codes[:, 0])
    assert torch.equal(memory.matrix(once), memory.matrix(again))
    assert torch.equal(memory.recall(state, query), memory.recall(state, query))
    for name, tensor in vars(before).items():
        assert torch.equal(getattr(state, name), tensor)


@settings(max_examples=30, deadline=None)
@given(seeds, reads, st.sampled_from(["trace", "matrix", "auto"]), st.integers(1, 20), st.integers(1, 9))
def test_a_sequence_at_once_is_its_writes_one_by_one(seed: int, read: Read, form: Any, count: int, size: int):
    memory = HebbRosenblatt(size, read=read, form=form).double()
    codes, query = drawn(seed, 2, count, size), drawn(seed + 1, 2, size)
    recalls, state = step_by_step(memory, codes, query)
    result = memory(codes, query)
    torch.testing.assert_close(result.recalls, recalls, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(memory.matrix(result.state), memory.matrix(state), rtol=1e-9, atol=1e-9)
    assert type(result.state) is type(state)
    torch.testing.assert_close(memory.norm(state), memory.matrix(state).norm(dim=(1, 2)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("read", READS)
def test_auto_folds_the_trace_into_the_matrix_at_the_break_even(read: Read):
    auto, trace = (HebbRosenblatt(9, read=read, form=form).double() for form in ("auto", "trace"))
    codes, query = 0.3 * drawn(10, 2, 10, 9), 0.3 * drawn(11, 2, 9)
    state, plain, forms = auto.start(2), trace.start(2), []
    for code in codes.unbind(1):
        state, plain = auto.write(state, code), trace.write(plain, code)
        forms.append(type(state))
        torch.testing.assert_close(auto.recall(state, query), trace.recall(plain, query), rtol=1e-12, atol=1e-12)
    assert forms == [Trace] * auto.break_even + [Matrix] * (10 - auto.break_even)
    assert isinstance(plain, Trace) and plain.codes.shape[1] == 10


def test_two_images_interleave_safely():
    memory = HebbRosenblatt(5).double()
    left, right, query = drawn(12, 1, 4, 5), drawn(13, 1, 4, 5), drawn(14, 1, 5)
    apart = [memory.recall(step_by_step(memory, codes, query)[1], query) for codes in (left, right)]
    states = [memory.start(1), memory.start(1)]
    for step in range(4):
        states = [memory.write(state, codes[:, step]) for state, codes in zip(states, (left, right), strict=True)]
    for state, alone in zip(states, apart, strict=True):
        assert torch.equal(memory.recall(state, query), alone)


def test_an_empty_memory_recalls_nothing():
    for form in ("trace", "matrix"):
        memory = HebbRosenblatt(5, form=form)
        state = memory.start(3)
        assert torch.equal(memory.recall(state, torch.ones(3, 5)), torch.zeros(3, 5))
        assert torch.equal(memory.norm(state), torch.zeros(3))
        assert torch.equal(memory.matrix(state), torch.zeros(3, 5, 5))
