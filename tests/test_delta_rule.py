"""The delta rule against its equations, written out for one image at a time in float64."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from stawm.errors import UsageError
from stawm.experiments.check import check
from stawm.memory.delta_rule import DeltaRule, DeltaRuleConfig
from tiny_codes import drawn
from tiny_run import with_model


def oracle(codes: Tensor, query: Tensor, eta: float) -> tuple[Tensor, Tensor]:
    """The recalls after each write [count memory], and W, of one sequence."""
    size = codes.shape[1]
    weights, recalls = torch.zeros(size, size, dtype=codes.dtype), []
    for code in codes:
        length = code.square().sum().sqrt()
        key = code / length if length > 0 else torch.zeros_like(code)
        weights = weights + eta * torch.outer(key, code - weights.T @ key)
        recalls.append(F.relu6(weights.T @ query))
    return torch.stack(recalls), weights


@pytest.mark.parametrize("eta", [1.0, 0.3])
def test_agrees_with_the_equations_in_values_and_gradients(eta: float) -> None:
    codes, query = drawn(0, 3, 6, 7).requires_grad_(), drawn(1, 3, 7).requires_grad_()
    memory = DeltaRule(7, eta=eta)
    found = memory(codes, query)
    truths = [oracle(codes[row], query[row], eta) for row in range(3)]
    torch.testing.assert_close(found.recalls, torch.stack([recalls for recalls, _ in truths]))
    torch.testing.assert_close(memory.matrix(found.state), torch.stack([weights for _, weights in truths]))
    ours = torch.autograd.grad(found.recalls.sin().sum(), (codes, query), retain_graph=True)
    theirs = torch.autograd.grad(torch.stack([recalls for recalls, _ in truths]).sin().sum(), (codes, query))
    torch.testing.assert_close(ours, theirs)


def test_what_was_just_written_comes_back_and_other_directions_stay() -> None:
    codes = torch.tensor([[[2.0, 0, 0], [0, 3.0, 0], [4.0, 0, 0]]])
    memory = DeltaRule(3)
    state = memory(codes, codes[:, 0]).state
    first, second = torch.tensor([[1.0, 0, 0]]), torch.tensor([[0.0, 1.0, 0]])
    assert memory.recall(state, first).tolist() == [[4.0, 0, 0]], "the second write along this direction replaced it"
    assert memory.recall(state, second).tolist() == [[0, 3.0, 0]]


def test_a_blank_code_writes_nothing() -> None:
    memory, codes = DeltaRule(4), drawn(2, 1, 2, 4)
    state = memory(codes, codes[:, 0]).state
    after = memory.write(state, torch.zeros(1, 4, dtype=torch.float64))
    torch.testing.assert_close(memory.matrix(after), memory.matrix(state))


@pytest.mark.parametrize("eta", [0.0, -1.0, 1.1])
def test_rates_outside_their_range_are_refused(eta: float) -> None:
    with pytest.raises(UsageError, match=r"model\.memory\.eta"):
        check(with_model(memory=DeltaRuleConfig(size=8, eta=eta)))


def test_a_memory_that_was_loaded_has_the_saved_rate() -> None:
    saved, loaded = DeltaRule(4, eta=0.3), DeltaRule(4)
    loaded.load_state_dict(saved.state_dict())
    assert loaded.eta == 0.3
    with pytest.raises(UsageError, match="eta"):
        DeltaRule(4, eta=2.0)
