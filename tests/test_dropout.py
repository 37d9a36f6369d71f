"""Dropout: how many are dropped, that means and gradients stay, and that a seed decides which."""

import pytest
import torch
from torch import nn

from stawm.model.dropout import Dropout
from tiny_seed import SHIFT


@pytest.mark.parametrize("chance", [0.1, 0.2, 0.5, 0.75])
def test_as_many_are_dropped_as_asked_and_the_mean_stays(chance: float):
    torch.manual_seed(SHIFT + 0)
    found = Dropout(chance)(torch.ones(700, 301))
    share = (found == 0).double().mean().item()
    assert share == pytest.approx(chance, abs=6 * (chance * (1 - chance) / found.numel()) ** 0.5)
    assert found.max().item() == pytest.approx(1 / (1 - chance), rel=1e-4)


def test_neighbours_are_dropped_independently():
    """Four numbers share one draw of the generator: within a draw, and from one to the next, they tell nothing."""
    torch.manual_seed(SHIFT + 1)
    kept = (Dropout(0.5)(torch.ones(1 << 18)) > 0).double() - 0.5
    for away in range(1, 9):
        assert (4 * kept[away:] * kept[:-away]).mean().abs() < 6 / kept.numel() ** 0.5


def test_the_gradient_is_the_mask():
    torch.manual_seed(SHIFT + 2)
    numbers = torch.randn(13, 7, requires_grad=True)
    found = Dropout(0.5)(numbers)
    found.sum().backward()
    assert numbers.grad is not None and 0 < (numbers.grad == 0).sum() < numbers.numel()
    torch.testing.assert_close(numbers.grad * numbers.detach(), found.detach())


def test_a_seed_decides_which_and_states_of_the_generator_go_on():
    dropout, numbers = Dropout(0.5), torch.ones(64, 3)
    torch.manual_seed(3)
    first = dropout(numbers)
    state = torch.get_rng_state()
    second = dropout(numbers)
    torch.manual_seed(3)
    assert torch.equal(dropout(numbers), first) and not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(dropout(numbers), second)


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_none_and_all_are_pytorchs(chance: float):
    numbers = torch.randn(5, 5)
    assert torch.equal(Dropout(chance)(numbers), nn.Dropout(chance)(numbers))


def test_nothing_is_dropped_in_evaluation_and_half_precision_stays_half():
    numbers = torch.randn(8, 8, dtype=torch.bfloat16)
    assert Dropout(0.5).eval()(numbers) is numbers
    assert Dropout(0.5)(numbers).dtype == torch.bfloat16
