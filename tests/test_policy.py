"""The two RNNs and the emitter."""

import torch

from stawm.model.policy import Emitter, Policy


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
    assert state.emission[1].abs().sum() == state.aggregate[0].abs().sum() == state.aggregate[1].abs().sum() == 0


def test_a_glimpse_reaches_the_next_emission_through_the_aggregator() -> None:
    policy = Policy(6, 8, dropout=0.0)
    state, before, _ = policy.emit(policy.start(torch.randn(3, 6)))
    glimpse = torch.randn(3, 8, requires_grad=True)
    gathered = policy.gather(state, glimpse)
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
