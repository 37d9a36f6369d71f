"""Scenes as people have them: one picture, or a digit for each cell."""

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.data import load_data
from stawm.data.pictures import whole
from stawm.data.prepare.given import Given
from stawm.data.prepare.scene import half, in_cells, scene
from stawm.errors import DataError

SHAPE = (1, 36, 36)
TEST = load_data("scenes:2x2+4:1-4").test
DIGITS = load_data("mnist-5k").test.images


def given(levels: np.ndarray) -> Given:
    return Given("it", Image.fromarray(levels))


def prepared(levels: np.ndarray):
    return scene(given(levels), SHAPE, whole)


@pytest.mark.parametrize("number", range(12))
def test_a_scene_of_the_set_comes_back_untouched_and_dark_on_light_is_inverted(number: int):
    levels = TEST.images[number, 0].numpy()
    light, dark = prepared(levels), prepared(255 - levels)
    assert torch.equal(light.pixels[0], TEST.images[number, 0])
    assert torch.equal(dark.pixels, light.pixels)
    assert (light.inverted, dark.inverted) == (False, True)


@pytest.mark.parametrize("edge", [150, 360, 900])
def test_a_larger_picture_becomes_the_same_scene(edge: int):
    for number in range(6):
        own = TEST.images[number, 0].numpy()
        large = np.asarray(Image.fromarray(own).resize((edge, edge), Image.Resampling.BICUBIC))
        for levels in (large, 255 - large):
            made = prepared(levels).pixels[0].numpy().astype(float)
            assert np.corrcoef(made.ravel(), own.ravel())[0, 1] > 0.85


def test_strokes_of_one_pixel_on_a_large_sheet_do_not_fade():
    sheet = np.full((720, 720), 255, np.uint8)
    sheet[60:300, 180] = 0
    made = prepared(sheet)
    assert made.inverted
    assert made.pixels.max() > 100, "a line as wide as a pixel, and half of it in each of two"
    assert made.pixels[0, :, 18:].max() == 0, "the right half is empty"


def test_a_picture_of_other_proportions_is_cropped_and_that_is_told():
    wide = np.zeros((100, 200), np.uint8)
    wide[20:50, 70:75] = 255
    made = prepared(wide)
    assert "cropped to the proportions 36 × 36" in made.notes
    assert prepared(np.roll(wide, -70, 1)).notes == ("cropped to the proportions 36 × 36", "nothing to see")
    assert made.placed is not None
    assert (made.placed.left, made.placed.top, made.placed.scale) == (50, 0, pytest.approx(100 / 36))


def test_a_blank_sheet_holds_nothing():
    assert prepared(np.full((50, 50), 220, np.uint8)).found == 0
    assert in_cells([given(np.zeros((30, 30), np.uint8)), None], 2, 2, SHAPE).found == 0
    assert in_cells([], 2, 2, SHAPE).found == 0


def test_digits_lie_in_the_middle_of_their_cells_at_half_their_size():
    cells = [None, given(DIGITS[0, 0].numpy()), given(255 - DIGITS[1, 0].numpy())]
    made = in_cells(cells, 2, 2, SHAPE)
    wanted = torch.zeros(SHAPE, dtype=torch.uint8)
    wanted[:, 2:16, 20:34] = half(DIGITS[0])
    wanted[:, 20:34, 2:16] = half(DIGITS[1])
    assert torch.equal(made.pixels, wanted)
    assert (made.found, made.inverted, made.notes) == (2, True, ("cell 3: dark on light: inverted",))


def test_what_does_not_fit_the_grid_is_told():
    with pytest.raises(DataError, match="5 pictures are given for 2 × 2 cells"):
        in_cells([None] * 5, 2, 2, SHAPE)
    with pytest.raises(DataError, match="one picture of the whole scene"):
        in_cells([None], 4, 4, SHAPE)
