"""A page with a digit somewhere on it: all of it is shown, light on dark."""

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.data import load_data
from stawm.data.data_set import find_data
from stawm.data.pictures import whole
from stawm.data.prepare.given import Given
from stawm.data.prepare.page import page
from stawm.data.prepare.prepared import Prepared

SHAPE = (1, 60, 60)
TEST = load_data("mnist-cluttered:60:mnist-5k").test
DIGITS = load_data("mnist-5k").test.images


def prepared(levels: np.ndarray) -> Prepared:
    return page(Given("it", Image.fromarray(levels)), SHAPE, whole)


def sheet(height: int, width: int, digit: int, top: int, left: int, edge: int) -> np.ndarray:
    """A white sheet with a dark digit of so many pixels."""
    levels = np.full((height, width), 255, np.uint8)
    drawn = Image.fromarray(DIGITS[digit, 0, 4:24, 4:24].numpy()).resize((edge, edge), Image.Resampling.BICUBIC)
    levels[top : top + edge, left : left + edge] = 255 - np.asarray(drawn)
    return levels


@pytest.mark.parametrize("number", range(8))
def test_a_picture_of_the_set_comes_back_untouched_and_dark_on_light_is_inverted(number: int) -> None:
    levels = TEST.images[number, 0].numpy()
    light, dark = prepared(levels), prepared(255 - levels)
    assert torch.equal(light.pixels, TEST.images[number]) and torch.equal(dark.pixels, light.pixels)
    assert (light.inverted, dark.inverted) == (False, True)


@pytest.mark.parametrize(("height", "width"), [(600, 600), (900, 600), (500, 1000), (1700, 1200)])
def test_all_of_the_page_is_there_with_the_digit_in_its_place(height: int, width: int) -> None:
    edge = max(height, width) // 3
    top, left = height // 8, width // 2
    made = prepared(sheet(height, width, 3, top, left, edge))
    assert made.pixels.shape == SHAPE and made.placed is not None and made.inverted
    rows, columns = np.nonzero(made.pixels[0].numpy() > 60)
    at = made.placed
    assert (at.width, at.height) == (width, height)
    middle = at.left + at.scale * (columns.mean() + 0.5), at.top + at.scale * (rows.mean() + 0.5)
    assert abs(middle[0] - left - edge / 2) < edge / 5 and abs(middle[1] - top - edge / 2) < edge / 5
    assert at.scale == pytest.approx(max(height, width) / 60), "the whole page fills the picture"
    assert 14 <= np.ptp(rows) + 1 <= 24


def test_one_large_digit_becomes_as_large_as_those_that_were_learnt_from() -> None:
    made = prepared(sheet(400, 400, 3, 20, 20, 360))
    rows, columns = np.nonzero(made.pixels[0].numpy() > 60)
    assert 17 <= max(np.ptp(rows), np.ptp(columns)) + 1 <= 23
    assert any("made smaller" in note for note in made.notes)


@pytest.mark.parametrize(("height", "width"), [(1200, 1200), (900, 1500), (1500, 900)])
@pytest.mark.parametrize(("down", "across"), [(0.1, 0.1), (0.5, 0.8), (0.8, 0.3)])
def test_one_small_digit_is_brought_nearer_and_keeps_its_place(
    height: int, width: int, down: float, across: float
) -> None:
    edge = 120
    top, left = round(down * (height - edge)), round(across * (width - edge))
    made = prepared(sheet(height, width, 3, top, left, edge))
    rows, columns = np.nonzero(made.pixels[0].numpy() > 60)
    assert 17 <= max(np.ptp(rows), np.ptp(columns)) + 1 <= 23
    assert any("brought nearer" in note for note in made.notes)
    at = made.placed
    assert at is not None
    middle = at.left + at.scale * (columns.mean() + 0.5), at.top + at.scale * (rows.mean() + 0.5)
    assert abs(middle[0] - left - edge / 2) < edge / 5 and abs(middle[1] - top - edge / 2) < edge / 5
    assert -1 <= at.left <= width - 60 * at.scale + 1 and -1 <= at.top <= height - 60 * at.scale + 1


def test_several_small_things_stay_as_they_are() -> None:
    made = prepared(np.minimum(sheet(1200, 1200, 3, 100, 100, 120), sheet(1200, 1200, 8, 900, 900, 120)))
    assert made.placed is not None and made.placed.scale == pytest.approx(1200 / 60)


def test_several_large_things_stay_as_they_are() -> None:
    levels = np.minimum(sheet(400, 400, 3, 5, 5, 190), sheet(400, 400, 8, 205, 205, 190))
    made = prepared(levels)
    assert not any("made smaller" in note for note in made.notes)
    assert made.placed is not None and made.placed.scale == pytest.approx(400 / 60)
    quarters = made.pixels[0, :30, :30], made.pixels[0, 30:, 30:]
    assert all(int(quarter.max()) > 200 for quarter in quarters)


def test_a_thin_line_is_not_lost() -> None:
    levels = np.full((1200, 1200), 255, np.uint8)
    levels[300:700, 598:601] = 0
    made = prepared(levels)
    assert int(made.pixels.max()) > 200 and any("thickened" in note for note in made.notes)


def test_a_blank_sheet_is_nothing_to_see() -> None:
    made = prepared(np.full((300, 200), 255, np.uint8))
    assert made.found == 0 and not made.pixels.any()


def test_the_data_set_prepares_so() -> None:
    picture = Given("it", Image.fromarray(TEST.images[5, 0].numpy()))
    assert torch.equal(find_data("mnist-cluttered:60").prepare(picture, SHAPE).pixels, TEST.images[5])
    assert find_data("mnist-cluttered:60").prepare(picture, (3, 60, 60)).pixels.shape == (3, 60, 60)
