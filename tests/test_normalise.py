"""Unit codes and a layer norm of what is recalled, against the oracle and at their edges, in both forms and reads."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from oracle import recall_images
from stawm.errors import UsageError
from stawm.look.memory_view import memory_views
from stawm.memory.hebb_rosenblatt import HebbRosenblatt, Matrix, Read
from stawm.memory.normalise import Normaliser, unit
from tiny_codes import READS, drawn, three_rates
from tiny_model import unchecked

FORMS = ("trace", "matrix", "auto")
CHOICES = ("fixed", "learnt")


def memory_of(size: int, choice: Any, **settings: Any) -> HebbRosenblatt:
    """A memory in double precision whose gain, if it has one, is not all ones."""
    memory = HebbRosenblatt(size, normalise=choice, **settings).double()
    if choice == "learnt":
        with torch.no_grad():
            memory.normalise.gain.copy_(0.5 + torch.arange(size) / size)
    return memory


def gain_of(memory: HebbRosenblatt) -> Tensor:
    choice = memory.normalise.choice
    return memory.normalise.gain if choice == "learnt" else torch.ones(memory.size, dtype=torch.float64)


def stepwise(memory: HebbRosenblatt, codes: Tensor, query: Tensor) -> tuple[Tensor, Any]:
    state, recalls = memory.start(len(codes)), []
    for code in codes.unbind(1):
        state = memory.write(state, code)
        recalls.append(memory.recall(state, query))
    return torch.stack(recalls, 1), state


def at_once(memory: HebbRosenblatt, codes: Tensor, query: Tensor) -> tuple[Tensor, Any]:
    found = memory(codes, query)
    return found.recalls, found.state


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("way", [stepwise, at_once])
@pytest.mark.parametrize(("count", "size"), [(3, 5), (7, 4), (17, 3)])
def test_it_is_the_oracle_in_values_and_all_gradients(
    read: Read, form: Any, choice: str, way: Any, count: int, size: int
):
    memory = memory_of(size, choice, read=read, form=form, learn_rates=True)
    codes, query = 3 * drawn(1, 2, count, size) + 0.1, 3 * drawn(2, 2, size) + 0.1
    codes[:, 1] = 0  # A blank code amid the others.
    leaves = [codes.requires_grad_(), query.requires_grad_(), *memory.parameters()]
    rates = memory.rates()
    wanted = recall_images(codes, query, (rates.delta, rates.eta, rates.theta), read, F.relu6, gain_of(memory))
    recalls, state = way(memory, codes, query)
    weights = memory.matrix(state)
    for found, truth in zip((recalls, weights), wanted, strict=True):
        torch.testing.assert_close(found, truth, rtol=1e-9, atol=1e-9)
    shares = [drawn(3, *output.shape) - 0.5 for output in wanted]

    def gradients(outputs: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        mixed = (outputs[0] * shares[0]).sum() + (outputs[1] * shares[1]).sum()
        return torch.autograd.grad(mixed, leaves, retain_graph=True)

    truths = gradients(wanted)
    assert min(truth.abs().max().item() for truth in truths) > 1e-6, "gradients that vanish compare nothing"
    for found, truth in zip(gradients((recalls, weights)), truths, strict=True):
        torch.testing.assert_close(found, truth, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(memory.norm(state), torch.linalg.matrix_norm(weights))


def test_without_it_nothing_is_changed():
    codes, query = drawn(4, 2, 4, 6), drawn(5, 2, 6)
    wanted, _ = recall_images(codes, query, three_rates(), "codes", F.relu6)
    torch.testing.assert_close(HebbRosenblatt(6).double()(codes, query).recalls, wanted)
    assert not HebbRosenblatt(6).normalise and list(HebbRosenblatt(6).state_dict()) == ["starting_rates"]
    assert list(memory_of(6, "learnt").state_dict()) == ["normalise.gain", "starting_rates"]
    with unchecked(), pytest.raises(UsageError, match=r"'length'.*none, fixed, learnt"):
        HebbRosenblatt(6, normalise="length")  # pyright: ignore[reportArgumentType]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(READS), st.sampled_from(FORMS), st.floats(1e-3, 1e3))
def test_only_directions_count(seed: int, read: Read, form: Any, factor: float):
    memory, codes, query = memory_of(6, "fixed", read=read, form=form), drawn(seed, 2, 4, 6), drawn(seed + 1, 2, 6)
    plain, longer = memory(codes, query), memory(factor * codes, query / factor)
    torch.testing.assert_close(longer.recalls, plain.recalls, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("choice", CHOICES)
def test_several_queries_read_one_memory_as_each_would_alone(read: Read, form: Any, choice: str):
    memory, codes, queries = memory_of(7, choice, read=read, form=form), drawn(6, 2, 5, 7), drawn(7, 2, 3, 7)
    together = memory(codes, queries).recalls
    assert together.shape == (2, 3, 5, 7)
    for number in range(3):
        torch.testing.assert_close(together[:, number], memory(codes, queries[:, number]).recalls)


@pytest.mark.parametrize("activation", ["relu6", "sigmoid"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_blank_memories_codes_and_queries_stay_finite(form: Any, activation: str, dtype: torch.dtype):
    memory = HebbRosenblatt(8, form=form, activation=activation, normalise="learnt", learn_rates=True)
    codes = torch.zeros(2, 3, 8, dtype=dtype)
    codes[1, 1, 2] = 1e-3
    query = torch.zeros(2, 8, dtype=dtype)
    leaves = [codes.requires_grad_(), query.requires_grad_()]
    found = memory(*leaves).recalls
    assert found.isfinite().all()
    assert all(part.isfinite().all() for part in torch.autograd.grad(found.sin().sum(), leaves))
    asked = torch.ones(2, 8, dtype=dtype, requires_grad=True)
    empty = memory.recall(memory.start(2, dtype=dtype), asked)
    assert torch.equal(empty, torch.zeros_like(empty))
    [passed] = torch.autograd.grad(empty.sum(), asked, allow_unused=True)
    assert passed is None or passed.isfinite().all()


def test_a_unit_vector_has_length_1_and_a_blank_one_is_zero_without_a_gradient():
    vectors = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-15, 0.0], [-2e4, 0.0]], requires_grad=True)
    found = unit(vectors)
    torch.testing.assert_close(found, torch.tensor([[0.6, 0.8], [0.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]))
    found.sum().backward()
    assert vectors.grad is not None and torch.equal(vectors.grad[1:3], torch.zeros(2, 2))
    assert torch.equal(unit(torch.zeros(1, 4, dtype=torch.float16)), torch.zeros(1, 4, dtype=torch.float16))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 60), st.floats(1e-3, 1e3))
def test_no_unit_of_a_layer_norm_passes_its_bound_and_one_hot_recalls_reach_it(seed: int, size: int, scale: float):
    normaliser = Normaliser(size, "fixed")
    assert normaliser(scale * drawn(seed, 20, size)).abs().max() <= normaliser.bound(6.0) * (1 + 1e-9)
    hot = F.one_hot(torch.tensor([1]), size).double() * 1e3
    assert normaliser(hot).max().item() == pytest.approx(math.sqrt(size - 1), rel=1e-6)
    assert Normaliser(size).bound(6.0) == 6.0 and Normaliser(size, "learnt").bound(6.0) == math.inf


def test_what_is_stuck_is_looked_for_before_the_layer_norm():
    """Half the units at six and half at zero: their layer norm is ±1, as if all were well, but no gradient passes."""
    memory = HebbRosenblatt(4, normalise="fixed", form="matrix").double()
    state = Matrix(100 * torch.tensor([[[1.0, 1, 0, 0]] * 4], dtype=torch.float64))
    query = torch.ones(1, 4, dtype=torch.float64)
    torch.testing.assert_close(memory.recall(state, query), torch.tensor([[1.0, 1, -1, -1]], dtype=torch.float64))
    inside = memory.unnormalised(state, query)
    assert inside is not None and inside[1] == 6.0
    assert inside[0].tolist() == [[6.0, 6.0, 0.0, 0.0]]
    assert HebbRosenblatt(4).unnormalised(state, query) is None


@pytest.mark.parametrize("read", READS)
def test_the_view_of_a_memory_asks_and_compares_on_one_scale(read: Read):
    memory, codes = memory_of(6, "fixed", read=read), torch.eye(6, dtype=torch.float64)[None, :3] * 5
    held = memory.contents(codes)
    torch.testing.assert_close(held.inputs, codes / 5)
    made = held.inputs.mT @ (held.strengths[-1][:, None] * held.outputs)
    torch.testing.assert_close(made, memory.matrix(memory(codes, codes[:, 0]).state))
    views = memory_views(memory, codes)
    assert views is not None
    assert [(one.best, round(one.cosine, 4)) for one in views[0].recall] == [(1, 1.0), (2, 1.0), (3, 1.0)]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("choice", CHOICES)
def test_autocast_keeps_the_numbers_to_its_precision(read: Read, form: Any, choice: Any):
    memory = HebbRosenblatt(16, read=read, form=form, normalise=choice, learn_rates=True)
    codes, query = drawn(8, 2, 5, 16, dtype=torch.float32), drawn(9, 2, 16, dtype=torch.float32)
    wanted = memory(codes, query).recalls
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = memory(codes.bfloat16().requires_grad_(), query).recalls
    found.float().square().sum().backward()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in memory.parameters())
    torch.testing.assert_close(found.float(), wanted, rtol=0.1, atol=0.1)
