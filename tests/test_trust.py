"""Calibration fits both parts from the pictures it is given, and needs enough of them."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from stawm.data.image_set import part_of
from stawm.errors import DataError
from stawm.model.stawm import Stawm
from stawm.trust import trust as module
from stawm.trust.trust import Trust, calibrate, unseen
from tiny_model import stawm
from tiny_run import TINY, digits
from tiny_trust import tiny_trust


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("OWN", 60), ("REDRAWN", 6), ("DRAWN", 16), ("COMPOSED", 6)):
        monkeypatch.setattr(module, name, count)


def blank(picture: object) -> Tensor:
    return torch.zeros(1, 28, 28, dtype=torch.uint8)


@pytest.fixture(scope="module")
def model() -> Stawm:
    torch.manual_seed(0)
    return stawm(TINY.model).eval()


def test_a_classifier_gets_temperatures_and_a_judgement(model: Stawm):
    data = digits(70, 60)
    trust = calibrate(model, data.train, data.test, blank)
    assert isinstance(trust, Trust) and trust.temperatures is not None
    assert trust.temperatures.shape == (TINY.model.glimpses,)
    with torch.inference_mode():
        episode = model(data.test.images.float() / 255)
    found = trust.familiar(episode)
    assert sum(not one.recognised for one in found) <= 1
    assert all(one.recognised == (one.score >= 0.5) and 0 <= one.score <= 1 for one in found)


def test_too_few_pictures_are_refused(model: Stawm):
    data = digits(70, 20)
    with pytest.raises(DataError, match="at least 50"):
        calibrate(model, data.train, data.test, blank)


def test_pictures_that_were_learnt_from_are_left_out():
    train = digits(70, 20).train
    left = unseen(train, part_of(train, slice(10)))
    assert len(left) <= 60 and left.labels is not None
    assert torch.equal(left.images[-1], train.images[-1])
    assert len(left.labels) == len(left)


def test_beliefs_without_temperatures_stay():
    logits = torch.randn(2, 3, 4)
    assert torch.equal(replace(tiny_trust(), temperatures=None).believed(logits), logits)
