"""Evaluation counts every image once, whatever the batches, and refuses images that do not fit."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from stawm.data import ImageSet
from stawm.errors import CheckpointError, DataError, StawmError, UsageError
from stawm.experiments.check import check_pictures
from stawm.measure.controls import controls
from stawm.measure.evaluate import evaluate
from stawm.model.heads.classify import Classification
from stawm.model.heads.head import Judge
from stawm.model.stawm import Stawm
from stawm.trust.temperature import calibration_error
from tiny_model import head_of, heads, stawm, unchecked
from tiny_run import TINY, digits, some
from tiny_trust import trust_for


@pytest.fixture
def model() -> Stawm:
    model = stawm(TINY.model)
    for weights in (model.what.weight, model.where.weight, head_of(model).classify.weight):
        torch.nn.init.normal_(weights, std=2.0)
    return model


@pytest.fixture(scope="module")
def images() -> ImageSet:
    return digits(test=23).test


def test_agrees_with_one_image_at_a_time(model: Stawm, images: ImageSet):
    model.eval()
    answers = torch.cat([model(one[None].float() / 255).logits for one in images.images])
    said = answers[:, -1].argmax(-1)
    labels = torch.where(torch.arange(23) < 10, said, (said + 1) % 10)
    model.train()
    found = evaluate(model, replace(images, labels=labels), Judge({"classify": Classification()}), batch_size=7)
    wrong = [(answers[:, look].argmax(-1) != labels).double().mean().item() for look in range(2)]
    assert found["count"] == 23
    assert found["error_after_glimpse"] == pytest.approx(wrong)
    assert found["scores"]["error"] == pytest.approx(wrong[-1])
    assert found["terms"]["cross_entropy"] == pytest.approx(F.cross_entropy(answers[:, -1], labels).item(), rel=1e-5)
    assert wrong[-1] == 13 / 23


def test_the_calibration_error_is_that_of_all_images_together(model: Stawm, images: ImageSet):
    assert images.labels is not None
    trust = trust_for(model.eval(), (1, 28, 28))
    found = evaluate(model, images, batch_size=7, trust=trust)["calibration"]
    with torch.inference_mode():
        logits = model(images.images.float() / 255).logits
    assert found["raw"] == pytest.approx(calibration_error(logits[:, -1], images.labels))
    assert found["calibrated"] == pytest.approx(calibration_error(logits[:, -1] / 2, images.labels))
    assert found["raw"] != found["calibrated"]


def test_the_result_does_not_depend_on_the_batches(model: Stawm, images: ImageSet):
    small, large = evaluate(model, images, batch_size=4), evaluate(model, images, batch_size=100)
    assert small["scores"] == pytest.approx(large["scores"])
    assert small["health"]["memory_norm"] == pytest.approx(large["health"]["memory_norm"], rel=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_leaves_the_model_as_it_was(model: Stawm, images: ImageSet, training: bool):
    model.train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    evaluate(model, images)
    assert model.training is training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_images_of_another_shape_are_refused(model: Stawm, images: ImageSet):
    tall = replace(images, images=torch.zeros(23, 1, 32, 28, dtype=torch.uint8))
    with pytest.raises(DataError, match=r"1×32×28 .*1×28×28.*model\.image"):
        evaluate(model, tall, config=TINY.model)


def test_labels_are_needed(images: ImageSet):
    with pytest.raises(DataError, match="no labels"):
        check_pictures(replace(images, labels=None), TINY.model)


def test_an_empty_set_is_refused(model: Stawm, images: ImageSet):
    for use in (lambda empty: check_pictures(empty, TINY.model), lambda empty: evaluate(model, empty)):
        with pytest.raises(DataError, match="no images"):
            use(some(images, 0))


@pytest.mark.parametrize("classes", [9, 11])
def test_a_class_count_that_does_not_fit_is_refused(images: ImageSet, classes: int):
    with pytest.raises(DataError, match=f"10 classes.* {classes}; set model.heads.classify.classes=10"):
        check_pictures(images, replace(TINY.model, heads=heads(classes)))


def test_a_label_beyond_the_classes_is_refused(images: ImageSet):
    with pytest.raises(DataError, match=r"13 classes.* 10"):
        check_pictures(replace(images, labels=torch.full((23,), 12)), TINY.model)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"labels": torch.full((23,), -1)}, "label -1"),
        ({"labels": torch.zeros(22, dtype=torch.int64)}, r"\[22\].*\[23\]"),
        ({"labels": torch.zeros(23)}, "float32"),
        ({"labels": [0] * 23}, "list"),
        ({"images": torch.rand(23, 1, 28, 28)}, "float32.*uint8"),
        ({"images": torch.zeros(23, 28, 28, dtype=torch.uint8)}, r"\[23, 28, 28\]"),
    ],
)
def test_a_set_that_is_none_cannot_be_made(images: ImageSet, change: dict[str, Any], told: str):
    with unchecked(), pytest.raises(DataError, match=told):
        replace(images, **change)


@pytest.mark.parametrize("training", [True, False])
def test_whatever_fails_is_told_and_leaves_the_model_in_its_mode(model: Stawm, images: ImageSet, training: bool):
    model.train(training)
    model.what.train(not training)
    beyond = replace(images, labels=torch.full((23,), 10))
    small = replace(images, images=torch.zeros(23, 1, 20, 20, dtype=torch.uint8))
    for wrong, told in ((beyond, "label 10"), (small, r"\[23, 1, 20, 20\]"), (images.images, "Tensor")):
        with unchecked(), pytest.raises(DataError, match=told):
            evaluate(model, wrong)  # type: ignore[arg-type]
    with unchecked(), pytest.raises(UsageError, match="batch_size"):
        evaluate(model, images, batch_size=0)
    assert model.training is training and model.what.training is not training


@pytest.mark.parametrize("part", ["context", "what", "heads.classify.classify"])
def test_weights_that_are_not_finite_are_named_not_measured(model: Stawm, images: ImageSet, part: str):
    with torch.no_grad():
        next(model.get_submodule(part).parameters()).flatten()[0] = torch.nan
    with pytest.raises(CheckpointError, match=part.removeprefix("heads.")):
        evaluate(model, images)
    with pytest.raises(StawmError, match=part.removeprefix("heads.")):
        controls(model, images)
