"""A user's picture as a model takes it, by the record of the set that the model learnt from."""

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.data import learnt_from
from stawm.data.pictures import framed
from stawm.data.prepare.given import Given
from stawm.data.prepare.prepared import Placed

DIGIT = (1, 28, 28)


def sheet() -> Given:
    """A dark bar on white paper."""
    paper = Image.new("L", (100, 100), 255)
    paper.paste(0, (45, 20, 55, 80))
    return Given("x", paper)


@pytest.mark.parametrize(
    ("data", "digits"),
    [("mnist", True), ("mnist-5k", True), ("fashion-mnist", False), ("folder:x", False), ("of-somebody-else", False)],
)
def test_only_sets_of_handwritten_digits_make_digits(data: str, digits: bool):
    prepared = learnt_from(data).prepare(sheet(), DIGIT)
    assert prepared.inverted == digits
    assert prepared.pixels.shape == DIGIT
    assert int(prepared.pixels[0, 0, 0]) == (0 if digits else 255)
    assert bool(prepared.notes) == digits


def test_digits_of_another_shape_are_only_scaled():
    record = learnt_from("mnist")
    prepared = record.prepare(sheet(), (1, 32, 32))
    assert (prepared.pixels.numpy() == framed(sheet().picture, (1, 32, 32), record.frame)).all()
    assert not prepared.inverted


def test_drawings_on_nothing_are_digits_in_either_colour():
    seen = []
    for ink in (0, 255):
        drawn = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
        drawn.paste((ink, ink, ink, 255), (45, 20, 55, 80))
        seen.append(learnt_from("mnist").prepare(Given("x", drawn), DIGIT))
    assert torch.equal(seen[0].pixels, seen[1].pixels)
    assert [one.inverted for one in seen] == [True, False]


def test_aligned_faces_are_cropped_and_other_pictures_are_not():
    aligned = Image.new("RGB", (178, 218), (0, 0, 255))
    aligned.paste((255, 0, 0), (15, 35, 163, 183))
    prepared = learnt_from("celeba").prepare(Given("x", aligned), (3, 74, 74))
    assert prepared.placed == Placed(178, 218, 15, 35, 2)
    assert np.unique(prepared.pixels.reshape(3, -1), axis=1).tolist() == [[255], [0], [0]]
    assert learnt_from("celeba").prepare(sheet(), (3, 50, 50)).placed == Placed(100, 100, 0, 0, 2)
