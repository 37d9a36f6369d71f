"""Controls of where a model looks: the same model with its glimpses elsewhere, or with nothing written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from stawm.cli import main
from stawm.data.image_set import ImageSet, batch_of
from stawm.errors import DataError, UsageError
from stawm.measure.evaluate import evaluate
from stawm.measure.gaze_controls import Elsewhere, gaze_controls, learns_to_look, looking
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.stawm import Stawm, Where
from stawm.store.weights import export
from tiny_model import emitter_of, heads, policy_of, stawm
from tiny_run import TINY, digits, with_model


@pytest.fixture(scope="module")
def images() -> ImageSet:
    return digits().test


@pytest.fixture(scope="module")
def model() -> Stawm:
    torch.manual_seed(0)
    own = stawm(replace(TINY.model, glimpse_scale=0.3, dropout=0.0)).eval()
    with torch.no_grad():
        emitter_of(own).pose.weight.normal_(0, 0.3)
    return own


def elsewhere(model: Stawm, places: str) -> Stawm:
    chance = torch.Generator().manual_seed(1)
    return looking(model, Elsewhere(policy_of(model), places, chance))  # pyright: ignore[reportArgumentType]


def test_the_first_control_is_the_model_itself(model: Stawm, images: ImageSet) -> None:
    own, *others = gaze_controls(model, images)
    found = evaluate(model, images)
    assert own.error_after_glimpse == pytest.approx(found["error_after_glimpse"])
    assert own.spread == pytest.approx(found["health"]["path_spread"] / 2, rel=1e-4)
    assert [(one.places, one.memory) for one in others] == [
        ("at random places", "own"),
        ("at the centre", "own"),
        ("where it looks", "of empty glimpses"),
        ("where it looks", "blank"),
    ]
    assert others[1].spread == 0 and others[0].spread > 0 and others[3].spread == pytest.approx(own.spread)


def test_a_blank_memory_answers_the_same_for_all_after_every_glimpse(model: Stawm, images: ImageSet) -> None:
    blank = gaze_controls(model, images)[4]
    assert len(set(blank.error_after_glimpse)) == 1
    codes = torch.zeros(1, 2, model.memory.size)
    gaze = model.gaze(batch_of(images, torch.arange(1)).images)
    answer = int(model.ask(gaze.context, codes, gaze.scene).logits[0, -1].argmax())
    assert images.labels is not None
    # Nothing is recalled of nothing, so the answer is the bias whatever the query.
    assert blank.error == pytest.approx(float((images.labels != answer).double().mean()))


@pytest.mark.parametrize(("where", "past"), [("pose", False), ("emission", True)])
def test_empty_glimpses_tell_what_came_past_them(images: ImageSet, where: Where, past: bool) -> None:
    """Poses are the same for all pictures here, and the query too: only the emission RNN knows the picture."""
    torch.manual_seed(0)
    head = ClassifyConfig(query="constant")
    model = stawm(replace(TINY.model, where=where, heads={"classify": head}, dropout=0.0)).eval()
    pictures = batch_of(images, torch.arange(len(images))).images
    with torch.no_grad():
        gaze = replace(model.start(pictures), images=torch.zeros_like(pictures))
        for _ in range(model.glimpses):
            gaze = model.look(gaze)
        answers = model.remember(gaze).logits
    same = torch.allclose(answers, answers[:1].expand_as(answers), atol=1e-6)
    assert same != past
    found = gaze_controls(model, images)[3].error
    assert images.labels is not None
    assert found == pytest.approx(float((answers[:, -1].argmax(-1) != images.labels).double().mean()), abs=0.04)


def test_glimpses_elsewhere_keep_their_size_and_lie_inside(model: Stawm, images: ImageSet) -> None:
    pictures = batch_of(images, torch.arange(len(images))).images
    with torch.no_grad():
        own = model(pictures).poses
        centred, anywhere = (
            elsewhere(model, places)(pictures).poses for places in ("at the centre", "at random places")
        )
    assert not centred[..., 2].any()
    torch.testing.assert_close(anywhere[:, 0, :, :2], own[:, 0, :, :2])
    reach = anywhere[..., 2].abs() + anywhere[..., :2].abs().sum(-1)
    fits = anywhere[..., :2].abs().sum(-1) <= 1
    assert (reach[fits] <= 1 + 1e-5).all() and fits.any()
    assert anywhere[..., 2].std(0).min() > 0.05


def test_the_model_itself_is_left_as_it_was(model: Stawm, images: ImageSet) -> None:
    policy, before = model.policy, {name: value.clone() for name, value in model.state_dict().items()}
    gaze_controls(model, images)
    assert model.policy is policy and not model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_who_did_not_learn_where_to_look_is_refused(model: Stawm, images: ImageSet) -> None:
    scans = stawm(with_model(policy=replace(TINY.model.policy, kind="random")).model)
    draws = stawm(with_model(heads=heads(latent=2)).model)
    for other in (scans, draws):
        assert not learns_to_look(other)
        with pytest.raises(UsageError, match="learnt where to look"):
            gaze_controls(other, images)
    with pytest.raises(DataError, match="no labels"):
        gaze_controls(model, replace(images, labels=None))


def test_the_verb_tells_them(model: Stawm, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(export(model, TINY, tmp_path / "weights"))
    assert main(["evaluate", folder, "--controls", "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)["gaze_controls"]
    assert [one["places"] for one in found][:2] == ["where it looks", "at random places"]
    assert main(["evaluate", folder, "--controls", "--device", "cpu"]) == 0
    assert "glimpses at the centre, memory own" in capsys.readouterr().out.splitlines()
