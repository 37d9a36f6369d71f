"""The LSTM cell against `nn.LSTMCell` in float64, gradients included, whatever autograd is asked for before."""

import copy

import pytest
import torch
from torch import Tensor, nn

from stawm.model.cell import Cell

STEPS = 4


def pair(dtype: torch.dtype = torch.float64) -> tuple[nn.LSTMCell, Cell]:
    torch.manual_seed(0)
    plain, ours = nn.LSTMCell(5, 6, dtype=dtype), Cell(5, 6, dtype=dtype)
    ours.load_state_dict(plain.state_dict())
    return plain, ours


def inputs(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    torch.manual_seed(1)
    return [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in ((3, STEPS, 5), (3, 6), (3, 6))]


def unrolled(cell: nn.LSTMCell, messages: Tensor, hidden: Tensor, memory: Tensor) -> Tensor:
    """Hidden and cell states of all steps; the last cell state counts, so both gradients are asked for."""
    state, seen = (hidden, memory), []
    for message in messages.unbind(1):
        state = cell(message, state)
        seen.append(torch.cat(state, 1))
    return torch.stack(seen, 1)


def weighed(found: Tensor) -> Tensor:
    return (found * torch.linspace(-1, 2, found.numel(), dtype=found.dtype).view_as(found)).sum()


def test_numbers_and_gradients_are_those_of_the_plain_cell():
    plain, ours = pair()
    given = inputs()
    truth, found = unrolled(plain, *given), unrolled(ours, *given)
    torch.testing.assert_close(found, truth)
    expected = torch.autograd.grad(weighed(truth), [*given, *plain.parameters()])
    gradients = torch.autograd.grad(weighed(found), [*given, *ours.parameters()])
    for gradient, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, wanted)


@pytest.mark.parametrize("rows", [3, 64], ids=["few", "many"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["double", "single"])
def test_before_the_first_message_there_may_be_nothing(dtype: torch.dtype, rows: int):
    plain, ours = pair(dtype)
    near = 1e-7 if dtype == torch.float64 else 1e-4
    torch.manual_seed(1)
    messages = torch.randn(rows, STEPS, 5, dtype=dtype, requires_grad=True)

    def begun(cell: nn.LSTMCell) -> Tensor:
        first = cell(messages[:, 0])
        return torch.cat([*first, unrolled(cell, messages[:, 1:], *first).flatten(1)], 1)

    truth, found = begun(plain), begun(ours)
    torch.testing.assert_close(found, truth)
    expected = torch.autograd.grad(weighed(truth), [messages, *plain.parameters()])
    gradients = torch.autograd.grad(weighed(found), [messages, *ours.parameters()])
    for gradient, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=near, atol=near)


def test_a_single_step_from_nothing_gives_the_weights_of_states_no_gradient():
    plain, ours = pair()
    messages = inputs()[0]
    for cell in (plain, ours):
        cell(messages[:, 0])[0].square().sum().backward()
    for mine, wanted in zip(ours.parameters(), plain.parameters(), strict=True):
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad, wanted.grad)


@pytest.mark.parametrize("part", [0, 1], ids=["hidden alone", "cell alone"])
def test_one_output_may_go_unused(part: int):
    plain, ours = pair()
    given = inputs()
    results = [cell(given[0][:, 0], (given[1], given[2]))[part].square().sum() for cell in (plain, ours)]
    expected, gradients = (
        torch.autograd.grad(total, [*given[1:], *cell.parameters()])
        for total, cell in zip(results, (plain, ours), strict=True)
    )
    for gradient, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, wanted)


def test_what_an_earlier_gradient_left_is_not_counted_again():
    plain, ours = pair()
    given = inputs()
    loss = weighed(unrolled(ours, *given))
    torch.autograd.grad(loss, given, retain_graph=True)
    for _ in range(2):
        gradients = torch.autograd.grad(loss, list(ours.parameters()), retain_graph=True)
        expected = torch.autograd.grad(weighed(unrolled(plain, *given)), list(plain.parameters()))
        for gradient, wanted in zip(gradients, expected, strict=True):
            torch.testing.assert_close(gradient, wanted)


def test_two_sequences_that_part_share_their_weights():
    plain, ours = pair()
    messages, hidden, memory = inputs()

    def parted(cell: nn.LSTMCell) -> Tensor:
        state = cell(messages[:, 0], (hidden, memory))
        return weighed(cell(messages[:, 1], state)[0]) + 2 * weighed(cell(messages[:, 2], state)[1])

    expected = torch.autograd.grad(parted(plain), list(plain.parameters()))
    gradients = torch.autograd.grad(parted(ours), list(ours.parameters()))
    for gradient, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, wanted)


def test_frozen_weights_pass_gradients_and_get_none():
    _, ours = pair()
    given = inputs()
    expected = torch.autograd.grad(weighed(unrolled(ours, *given)), given)
    frozen = copy.deepcopy(ours).requires_grad_(False)
    weighed(unrolled(frozen, *given)).backward()
    for leaf, wanted in zip(given, expected, strict=True):
        assert leaf.grad is not None
        torch.testing.assert_close(leaf.grad, wanted)
    assert all(weight.grad is None for weight in frozen.parameters())


def test_weights_that_changed_are_those_that_a_new_sequence_uses():
    plain, ours = pair()
    given = inputs()
    unrolled(ours, *given)
    for cell in (plain, ours):
        with torch.no_grad():
            cell.weight_hh.mul_(2)
    torch.testing.assert_close(unrolled(ours, *given), unrolled(plain, *given))


def test_under_autocast_states_stay_single_and_gradients_are_near():
    plain, ours = pair(torch.float32)
    given = inputs(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found = unrolled(ours, *given)
    assert found.dtype == torch.float32
    truth = unrolled(plain, *given)
    torch.testing.assert_close(found, truth, rtol=0, atol=0.05)
    expected = torch.autograd.grad(weighed(truth), list(plain.parameters()))
    gradients = torch.autograd.grad(weighed(found), list(ours.parameters()))
    for gradient, wanted in zip(gradients, expected, strict=True):
        assert gradient.dtype == torch.float32
        assert (gradient - wanted).norm() < 0.05 * wanted.norm()
