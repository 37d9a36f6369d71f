"""Pictures that a model cannot take are named, with what was wanted and what to do."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stawm.errors import DataError, UsageError
from stawm.model.readout import MemoryReadout
from stawm.vision.images import check_images, check_levels
from tiny_model import small, unchecked

GOOD = torch.rand(2, 1, 12, 12)
MODEL = small().eval()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda images: images[0], r"\[1, 12, 12\].*images\[None\]"),
        (lambda images: images[:0], r"\[0, 1, 12, 12\]"),
        (lambda images: images[..., :11], r"\[2, 1, 12, 11\]"),
        (lambda images: images.expand(2, 3, 12, 12), r"\[2, 3, 12, 12\].*\[batch, 1, 12, 12\]"),
        (lambda images: (255 * images).to(torch.uint8), r"uint8.*/ 255"),
        (lambda images: images.double(), "float64.*float32"),
        (lambda images: images.to("meta"), "meta.*cpu"),
        (lambda images: images.numpy(), "ndarray"),
        (lambda images: 255 * images, "divide by 255"),
        (lambda images: (images - 0.5) / 0.2, "normalise"),
        (lambda images: images * torch.nan, "not finite"),
        (lambda images: images / 0, "not finite"),
    ],
)
def test_what_is_no_picture_is_refused(change: Callable[[torch.Tensor], Any], told: str) -> None:
    with unchecked():
        for call in (MODEL, MODEL.start, lambda images: next(MODEL.unroll(images))):
            with pytest.raises(DataError, match=told) as error:
                call(change(GOOD))
            assert "\n" not in str(error.value)


def test_noise_may_leave_the_range_by_a_little() -> None:
    check_levels(torch.tensor([-0.4, 1.4]), "these")


def test_half_precision_under_autocast_is_taken() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        check_images(GOOD.bfloat16(), MODEL.context.takes, MODEL.context)


def test_nothing_is_asked_while_a_model_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are not there then, and questions about them would break the graph."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    check_images(GOOD * torch.nan, MODEL.context.takes, MODEL.context)


def test_a_gaze_has_glimpses() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        MODEL(GOOD, 0)


def test_features_of_another_width_are_refused() -> None:
    readout = MemoryReadout(small(), "classify")
    assert readout.features(GOOD).shape[1] == readout.width
    with pytest.raises(DataError, match=str(readout.width)):
        readout(torch.rand(2, readout.width + 1))
