"""The whole model: glimpses, codes, memory, answers."""

from dataclasses import replace
from itertools import islice

import pytest
import torch
import torch.nn.functional as F

from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import ImageConfig
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.stawm import Stawm
from tiny_learning import taught
from tiny_model import SMALL, head_of, heads, silent, small


def test_an_episode_holds_everything_with_consistent_shapes() -> None:
    episode = small()(torch.rand(7, 1, 12, 12))
    assert episode.poses.shape == (7, 3, 2, 3)
    assert episode.glimpses.shape == (7, 3, 1, 5, 5)
    assert list(episode.answers) == ["classify"]
    assert episode.codes.shape == episode.answers["classify"].recalls.shape == (7, 3, 10)
    assert episode.logits.shape == (7, 3, 4)
    assert episode.codes.min() >= 0 and episode.codes.max() <= 6


@pytest.mark.parametrize("form", ["trace", "matrix"])
@pytest.mark.parametrize("read", ["codes", "responses"])
def test_stepping_by_hand_gives_the_episode(form: str, read: str) -> None:
    """The codes of `look` written one by one are what `forward` writes at once; the answers are the same after each."""
    model = small(memory=HebbRosenblattConfig(size=10, form=form, read=read)).eval()  # pyright: ignore[reportArgumentType]
    images = torch.rand(4, 1, 12, 12)
    episode, state = model(images), None
    for number, gaze in enumerate(islice(model.unroll(images), 3)):
        torch.testing.assert_close(gaze.glances[number].pose, episode.poses[:, number])
        torch.testing.assert_close(gaze.glances[number].code, episode.codes[:, number])
        torch.testing.assert_close(model.remember(gaze).logits, episode.logits[:, : number + 1], rtol=1e-4, atol=1e-5)
        state = model.memory.start(4) if number == 0 else state
        state = model.memory.write(state, gaze.glances[number].code)
        recall = model.memory.recall(state, head_of(model).query(gaze.context))
        torch.testing.assert_close(head_of(model).classify(recall), episode.logits[:, number], rtol=1e-4, atol=1e-5)


def test_two_images_interleave_safely() -> None:
    model = small().eval()
    one, two = torch.rand(1, 1, 12, 12), torch.rand(1, 1, 12, 12)
    first, second = model.start(one), model.start(two)
    for _ in range(3):
        first, second = model.look(first), model.look(second)
    torch.testing.assert_close(model.remember(first).logits[:, -1], model(one).logits[:, -1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.remember(second).logits[:, -1], model(two).logits[:, -1], rtol=1e-4, atol=1e-5)


def test_permuting_the_batch_permutes_the_answer() -> None:
    model, images = small().eval(), torch.rand(6, 1, 12, 12)
    order = torch.randperm(6)
    torch.testing.assert_close(model(images[order]).logits, model(images).logits[order], rtol=1e-4, atol=1e-5)


def test_evaluation_agrees_with_training_statistics() -> None:
    """The batch-norm trap: with running statistics of the same pictures the model answers as in training mode."""
    model, images = small(), torch.rand(64, 1, 12, 12)
    for _ in range(80):
        model(images)
    trained = model(images)
    evaluated = model.eval()(images)
    torch.testing.assert_close(evaluated.codes, trained.codes, rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(evaluated.logits, trained.logits, rtol=2e-2, atol=2e-2)
    differ = (trained.poses[:, 0] - trained.poses[:, 2]).abs().max()
    assert differ > 0.05, "the glimpses must differ for this to mean anything"


def test_colour_and_pictures_that_are_not_square() -> None:
    image = ImageConfig(channels=3, height=14, width=20)
    model = small(image=image, glimpse_height=4, glimpse_width=7)
    episode = model(torch.rand(2, 3, 14, 20))
    assert episode.glimpses.shape == (2, 3, 3, 4, 7)


@pytest.mark.parametrize("where", ["emission", "pose"])
def test_every_parameter_learns(where: str) -> None:
    model = small(where=where, memory=HebbRosenblattConfig(size=10, learn_rates=True))
    model(torch.rand(5, 1, 12, 12)).logits[:, -1].square().sum().backward()
    assert not silent(model)


def test_the_query_does_not_teach_the_context() -> None:
    """Its gradient is stopped: with the policy frozen out, nothing reaches the context network."""
    model = small().eval()
    images = torch.rand(2, 1, 12, 12)
    query = head_of(model).query(model.context(images))
    query.sum().backward()
    assert all(parameter.grad is None for parameter in model.context.parameters())


def test_a_handful_of_images_is_overfitted() -> None:
    model = build(replace(SMALL, memory=HebbRosenblattConfig(size=24)))
    images, labels = torch.rand(8, 1, 12, 12), torch.arange(8) % 4
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = taught(optimiser, lambda: F.cross_entropy(model(images).logits[:, -1], labels), 150, clip=5.0)
    assert losses[-1] < 0.6, "chance is log 4 = 1.39; seeds 0 to 8 end between 0.0004 and 0.22"
    assert (model.eval()(images).logits[:, -1].argmax(-1) != labels).sum() <= 2, "chance is six of eight"


def test_more_glimpses_than_it_was_built_for() -> None:
    assert small().eval()(torch.rand(2, 1, 12, 12), glimpses=5).logits.shape == (2, 5, 4)


def test_heads_are_asked_by_name_and_unknown_ones_refused() -> None:
    model = small(heads=heads(4, latent=2)).eval()
    episode = model(torch.rand(2, 1, 12, 12))
    assert list(episode.answers) == list(model.heads) == ["classify", "draw"]
    with pytest.raises(UsageError, match="classify"):
        small()(torch.rand(2, 1, 12, 12)).answer("draw")
    with pytest.raises(UsageError, match="draw"):
        small().head("draw")


def test_one_head_can_be_asked_alone_and_with_another_query() -> None:
    """What a head is answered does not depend on who else asks; a query of the caller's takes the place of its own."""
    model, images = small(heads=heads(4, latent=2)).eval(), torch.rand(2, 1, 12, 12)
    gaze = model.gaze(images)
    alone = model.ask(gaze.context, gaze.codes, gaze.scene, heads=("classify",))
    assert list(alone.answers) == ["classify"]
    torch.testing.assert_close(alone.logits, model(images).logits)
    silence = model.ask(gaze.context, gaze.codes, gaze.scene, queries={"classify": torch.zeros(2, 10)})
    torch.testing.assert_close(silence.logits, head_of(model).classify.bias.expand(2, 3, 4))


def test_a_head_with_the_name_of_a_part_is_refused() -> None:
    """In files heads stand beside the parts, so the weights of one would take the place of the other's."""
    model = small()
    parts = {"context": model.context, "glimpse": model.glimpse, "policy": model.policy, "memory": model.memory}
    with pytest.raises(UsageError, match="'where'"):
        Stawm(**parts, heads={"where": head_of(model)}, hidden=4, glimpses=3, glimpse_size=(5, 5))


def test_in_files_heads_stand_at_the_top_as_they_always_did() -> None:
    model = small(heads=heads(4, latent=2))
    names = set(model.state_dict())
    assert {"classify.classify.weight", "classify.query.project.bias", "draw.mean.weight"} <= names
    assert not any(name.startswith("heads.") for name in names)
    other = small(seed=1, heads=heads(4, latent=2))
    assert other.load_state_dict(model.state_dict()) == ([], [])
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))
    wrapped = torch.nn.ModuleDict({"model": model})
    assert {f"model.{name}" for name in names} == set(wrapped.state_dict())
    assert wrapped.load_state_dict(wrapped.state_dict()) == ([], [])
