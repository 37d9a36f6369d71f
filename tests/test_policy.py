"""The two RNNs and the emitter."""

import pytest
import torch

from stawm.model.emitters import Emitter
from stawm.model.policy import Policy, Starts, far_first, start_centres, start_sizes
from stawm.vision.glimpse import inverse


def test_poses_start_at_the_identity() -> None:
    emitter = Emitter(8, dropout=0.5)
    poses = emitter(torch.randn(5, 8))
    torch.testing.assert_close(poses, torch.eye(2, 3).expand(5, 2, 3))


def test_the_context_is_first_input_and_first_hidden_state() -> None:
    policy = Policy(6, 8, dropout=0.0)
    context = torch.randn(3, 6)
    state = policy.start(context)
    expected = torch.relu(policy.first(context))
    torch.testing.assert_close(state.message, expected)
    torch.testing.assert_close(state.emission[0], expected)
    assert state.aggregate is None and state.emission[1].abs().sum() == 0


def test_a_glimpse_reaches_the_next_emission_through_the_aggregator() -> None:
    policy = Policy(6, 8, dropout=0.0)
    state, before, _ = policy.emit(policy.start(torch.randn(3, 6)))
    glimpse = torch.randn(3, 8, requires_grad=True)
    gathered = policy.gather(state, glimpse)
    assert gathered.aggregate is not None
    torch.testing.assert_close(gathered.message, gathered.aggregate[0])
    _, after, _ = policy.emit(gathered)
    (gradient,) = torch.autograd.grad(after.sum(), glimpse)
    assert gradient.abs().min() > 0
    assert not torch.equal(before, after)


def test_states_are_values() -> None:
    policy = Policy(6, 8, dropout=0.0)
    start = policy.start(torch.randn(3, 6))
    kept = start.emission[0].clone()
    first, second = policy.emit(start)[1], policy.emit(start)[1]
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    torch.testing.assert_close(start.emission[0], kept, rtol=0, atol=0)


def test_scaled_glimpses_start_smaller_and_their_inverse_undoes_it() -> None:
    policy = Policy(6, 8, dropout=0.0, draws=True, scale=0.5).eval()
    _, emission, pose = policy.emit(policy.start(torch.rand(3, 6)))
    assert torch.equal(pose, torch.tensor([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]).expand(3, 2, 3))
    assert policy.inverse is not None
    assert torch.equal(policy.inverse(emission), 4 * pose)


@pytest.mark.parametrize("starts", ["grid", "outward", "random"])
def test_glimpses_that_start_apart_and_their_sketches(starts: Starts) -> None:
    """Before training a glimpse is at its own place, and its sketch would be pasted where it was seen."""
    centres = start_centres(6, starts)
    assert len(centres.unique(dim=0)) == 6 and centres.abs().max() < 1
    policy = Policy(6, 8, dropout=0.0, draws=True, scale=0.4, starts=centres).eval()
    state = policy.start(torch.rand(3, 6))
    for number in range(8):
        state, emission, pose = policy.emit(state)
        torch.testing.assert_close(pose[:, :, 2], centres[number % 6].expand(3, 2))
        pasted = policy.pasted(state, emission, pose)
        assert pasted is not None
        torch.testing.assert_close(pasted, inverse(pose))


@pytest.mark.parametrize("centres", [None, start_centres(3, "grid")], ids=["middle", "apart"])
def test_glimpses_that_start_inward_and_their_sketches(centres: torch.Tensor | None) -> None:
    """The first sees the whole picture, the last `scale` of it; a sketch would be pasted where it was seen."""
    sizes = start_sizes(3, 0.4)
    torch.testing.assert_close(sizes, torch.tensor([1.0, 0.7, 0.4]))
    policy = Policy(6, 8, dropout=0.0, draws=True, scale=0.4, starts=centres, sizes=sizes).eval()
    state = policy.start(torch.rand(3, 6))
    for number in range(5):
        state, emission, pose = policy.emit(state)
        torch.testing.assert_close(pose[:, :, :2], (sizes[number % 3] * torch.eye(2)).expand(3, 2, 2))
        torch.testing.assert_close(
            pose[:, :, 2], torch.zeros(3, 2) if centres is None else centres[number % 3].expand(3, 2)
        )
        pasted = policy.pasted(state, emission, pose)
        assert pasted is not None
        torch.testing.assert_close(pasted, inverse(pose))
    assert start_sizes(1, 0.4).tolist() == [1.0]


def test_each_size_learns() -> None:
    policy = Policy(6, 8, dropout=0.0, scale=0.5, sizes=start_sizes(3, 0.5))
    state = policy.start(torch.rand(3, 6))
    for _ in range(2):
        state, _, pose = policy.emit(state)
        pose.sum().backward(retain_graph=True)
    assert isinstance(policy.emitter, Emitter)
    larger = policy.emitter.larger
    assert larger is not None and larger.grad is not None
    assert larger.grad.tolist() == [6.0, 6.0, 0.0]


def test_starts_on_a_grid_fill_it_row_by_row() -> None:
    assert start_centres(4, "grid").tolist() == [[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]]
    wide = start_centres(10, "grid", aspect=2.0)
    assert len(wide[:, 0].unique()) == 5 and len(wide[:, 1].unique()) == 2
    assert start_centres(3, "one").tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("count", [1, 4, 8, 12, 13])
def test_outward_starts_are_those_of_the_grid_from_the_middle_out(count: int) -> None:
    grid, outward = start_centres(count, "grid"), start_centres(count, "outward")
    away = outward.norm(dim=1)
    assert (away.diff() >= -1e-4).all()
    assert sorted(grid.tolist()) == sorted(outward.tolist())


def test_outward_starts_of_twelve_begin_beside_the_middle_and_end_in_the_corners() -> None:
    across, down = start_centres(12, "outward").unbind(1)
    assert across[:2].tolist() == [-0.25, 0.25] and down[:2].tolist() == [0.0, 0.0]
    assert across[-4:].abs().tolist() == [0.75] * 4 and (down[-4:] != 0).all()


def test_far_first_begins_with_opposite_corners_and_takes_all() -> None:
    grid = start_centres(4, "grid")
    assert far_first(grid) == [0, 3, 1, 2]
    assert far_first(start_sizes(5, 0.6)[:, None]) == [0, 4, 2, 1, 3]
    assert sorted(far_first(start_centres(8, "grid"))) == list(range(8))
    assert far_first(torch.zeros(3, 2)) == [0, 1, 2]
    assert far_first(torch.zeros(0, 2)) == []
    assert far_first(torch.empty(3, 2, device="meta")) == [0, 1, 2]


def test_each_start_learns() -> None:
    policy = Policy(6, 8, dropout=0.0, starts=start_centres(3, "grid"))
    state = policy.start(torch.rand(3, 6))
    for _ in range(2):
        state, _, pose = policy.emit(state)
        pose.sum().backward(retain_graph=True)
    starts = policy.emitter.starts
    assert starts is not None and starts.grad is not None
    assert starts.grad.tolist() == [[3.0, 3.0], [3.0, 3.0], [0.0, 0.0]]
