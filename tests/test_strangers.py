"""Strangers have the size of the model's pictures, are all different, and come again with their seed."""

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.data.pictures import framed, whole
from stawm.trust.strangers import composed, drawn, evenly


def resized(channels: int, height: int, width: int):
    def prepare(picture: Image.Image) -> torch.Tensor:
        flat = picture.convert("RGB" if channels == 3 else "L")
        return torch.from_numpy(framed(flat, (channels, height, width), whole).copy())

    return prepare


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 9, 14), (1, 7, 5)])
def test_they_fit_the_model_and_repeat(shape: tuple[int, int, int]):
    own = torch.randint(0, 256, (6, *shape), dtype=torch.uint8)
    made, again = (torch.cat([drawn(resized(*shape), 20, 3), composed(own, 8, 3)]) for _ in range(2))
    assert (made.shape, made.dtype) == ((28, *shape), torch.uint8)
    assert torch.equal(made, again)
    assert len({picture.numpy().tobytes() for picture in made}) > 20
    assert (made.flatten(1).float().std(1) > 0).float().mean() > 0.8


def test_a_single_picture_is_enough_for_collages():
    assert len(composed(torch.zeros(1, 1, 8, 8, dtype=torch.uint8), 8)) == 8


def test_a_thick_bar_redrawn_is_a_line_of_even_width():
    bar = np.zeros((1, 28, 28), np.uint8)
    bar[:, 4:24, 8:20] = 255
    dark = np.asarray(evenly(bar, np.random.default_rng(0))) < 128
    widths = dark.sum(1)[100:150]
    assert 0 < widths.max() <= widths.min() + 4 < 60


@pytest.mark.parametrize("level", [0, 255])
def test_a_plain_picture_can_be_redrawn(level: int):
    picture = evenly(np.full((3, 9, 14), level, np.uint8), np.random.default_rng(0))
    assert picture.mode == "L"
