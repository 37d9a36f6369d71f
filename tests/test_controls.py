"""Controls against a loop over single pictures, written from the memory's own verbs."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import Tensor

from stawm.baselines.beta_vae import BetaVae
from stawm.cli import main
from stawm.data import ImageSet
from stawm.errors import DataError, UsageError
from stawm.experiments.build import build
from stawm.measure.controls import another, controls
from stawm.measure.evaluate import evaluate
from stawm.model.stawm import Stawm
from stawm.store.weights import export
from tiny_model import emitter_of, head_of, heads, stawm
from tiny_run import TINY, digits, some


@pytest.fixture
def model() -> Stawm:
    """A model with several answers, of which memory and query both have a part."""
    torch.manual_seed(2)
    model = stawm(TINY.model)
    head = head_of(model)
    asking = head.query.get_parameter("project.weight")
    for weights in (model.what.weight, model.where.weight, head.classify.weight, asking):
        torch.nn.init.normal_(weights, std=2.0)
    with torch.no_grad():
        asking.mul_(3)
        emitter_of(model).pose.weight.normal_(0, 0.5)
    return model


@pytest.fixture(scope="module")
def images() -> ImageSet:
    return digits(test=23).test


def answers_one_by_one(model: Stawm, images: ImageSet, others: list[int], mean_query: bool) -> Tensor:
    """The answers after each glimpse: picture by picture, write by write."""
    head = head_of(model)
    pictures = [picture[None].float() / 255 for picture in images.images]
    queries = [head.query(model.context(picture)) for picture in pictures]
    mean = torch.stack(queries).mean(0)
    answers = []
    for query, other in zip(queries, others, strict=True):
        state, after = model.memory.start(1), []
        for gaze in islice(model.unroll(pictures[other]), model.glimpses):
            state = model.memory.write(state, gaze.glances[-1].code)
            after.append(model.memory.recall(state, mean if mean_query else query))
        answers.append([int(head.classify(recall).argmax()) for recall in after])
    return torch.tensor(answers)


@torch.no_grad()
def test_agree_with_a_loop_over_single_pictures(model: Stawm, images: ImageSet):
    # Labels are what this model mostly answers, so that every condition has an error of its own.
    labels = answers_one_by_one(model.eval(), images, list(range(23)), False)[:, -1]
    labels[:2] = (labels[:2] + 1) % 10
    images = replace(images, labels=labels)
    found = {(control.memory, control.query): control for control in controls(model, images, batch_size=7, seed=5)}
    assert list(found) == [("own", "own"), ("own", "mean"), ("another's", "own"), ("another's", "mean")]
    others = another(23, 5)
    seen = set()
    for (memory, query), control in found.items():
        owner = torch.arange(23) if memory == "own" else others
        answers = answers_one_by_one(model, images, owner.tolist(), query == "mean")
        wrong = (answers != labels[:, None]).double().mean(0)
        assert control.error_after_glimpse == pytest.approx(wrong.tolist())
        assert control.follows_memory == pytest.approx((answers[:, -1] == labels[owner]).double().mean().item())
        assert control.error == control.error_after_glimpse[-1]
        seen.add((control.error_after_glimpse, control.follows_memory))
    assert len(seen) == 4, "the conditions must be told apart"


def test_as_it_is_the_model_errs_as_evaluation_says(model: Stawm, images: ImageSet):
    own = controls(model, images)[0]
    assert list(own.error_after_glimpse) == pytest.approx(evaluate(model, images)["error_after_glimpse"])
    assert own.follows_memory == pytest.approx(1 - own.error)


def test_a_model_that_draws_too_has_the_controls_of_its_classifier(images: ImageSet):
    both = build(replace(TINY.model, heads=heads(10, latent=2)))
    own = controls(both, images)[0]
    assert list(own.error_after_glimpse) == pytest.approx(evaluate(both, images)["error_after_glimpse"])


@pytest.mark.parametrize("training", [True, False])
def test_leave_the_model_as_it_was(model: Stawm, images: ImageSet, training: bool):
    model.train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    controls(model, images)
    assert model.training is training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("count", [2, 3, 100])
def test_every_picture_gets_another_ones_memory_and_every_memory_is_used(count: int):
    others = another(count, 0)
    assert sorted(others.tolist()) == list(range(count))
    assert not (others == torch.arange(count)).any()


def test_what_has_no_memory_or_no_classes_is_refused(images: ImageSet):
    vae = build(replace(TINY.model, kind="vae", heads=heads(latent=2)))
    assert isinstance(vae, BetaVae)
    draws = build(replace(TINY.model, heads=heads(latent=2)))
    for model in (vae, draws):
        with pytest.raises(UsageError, match="classifies"):
            controls(model, images)


def test_pictures_that_cannot_be_exchanged_are_refused(model: Stawm, images: ImageSet):
    with pytest.raises(DataError, match="there is 1"):
        controls(model, some(images, 1))
    with pytest.raises(DataError, match="no labels"):
        controls(model, replace(images, labels=None))


def test_the_verb_tells_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    torch.manual_seed(0)
    folder = str(export(stawm(TINY.model), TINY, tmp_path / "weights"))
    assert main(["evaluate", folder, "--controls", "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(told["memory"], told["query"]) for told in found["controls"]][2] == ("another's", "own")
    assert found["controls"][0]["error_after_glimpse"] == pytest.approx(found["error_after_glimpse"])
    assert main(["evaluate", folder, "--controls", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3] == "memory another's, query mean"
    error = found["controls"][3]["error_after_glimpse"]
    assert lines[-2].startswith(f"  error {100 * error[-1]:.2f} %")
    assert lines[-1] == f"  after each glimpse {100 * error[0]:.2f} %, {100 * error[1]:.2f} %"
    assert main(["evaluate", folder, "--json"]) == 0
    assert "controls" not in json.loads(capsys.readouterr().out)
