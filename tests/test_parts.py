"""Parts of what is drawn: one digit of several strokes is one thing, digits side by side are several."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from stawm.data import load_data
from stawm.data.prepare.digit import as_digit
from stawm.data.prepare.parts import parts_of, things_in
from tiny_seed import SHIFT

Lines = list[list[tuple[int, int]]]
ONE: Lines = [[(50, 10), (50, 90)]]
BROKEN: dict[str, Lines] = {
    "a 5 with its bar apart": [[(40, 10), (75, 10)], [(35, 16), (33, 45), (60, 45), (65, 70), (30, 88)]],
    "a 4 of two strokes": [[(35, 10), (28, 55), (72, 55)], [(62, 30), (60, 90)]],
    "a 7 with a bar": [[(25, 10), (70, 10), (45, 90)], [(35, 50), (70, 48)]],
    "a 1 that broke": [[(50, 10), (50, 40)], [(50, 52), (50, 90)]],
    "a 1 with a speck": [*ONE, [(80, 12), (82, 14)]],
}


def drawn(lines: Lines, size: tuple[int, int] = (100, 100)) -> np.ndarray:
    sheet = Image.new("L", size, 0)
    for line in lines:
        ImageDraw.Draw(sheet).line(line, fill=255, width=8)
    return np.asarray(sheet)


def test_cells_that_touch_at_a_corner_are_one_part():
    cells = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1]], bool)
    assert sorted(map(sorted, parts_of(cells))) == [[(0, 0, 1), (1, 1, 2)], [(1, 3, 4), (2, 3, 4)]]
    assert parts_of(np.zeros((3, 3), bool)) == []


def test_parts_are_those_that_a_flood_from_cell_to_cell_finds():
    chance = np.random.default_rng(SHIFT)
    for _ in range(200):
        cells = chance.random(chance.integers(1, 12, 2)) < chance.random()
        found = [
            sorted((row, at) for row, first, beyond in part for at in range(first, beyond)) for part in parts_of(cells)
        ]
        assert sorted(found) == sorted(flooded(cells))


def flooded(cells: np.ndarray) -> Lines:
    """The cells of each part, found one by one."""
    left = set(zip(*(places.tolist() for places in cells.nonzero()), strict=True))
    parts: Lines = []
    while left:
        part = [left.pop()]
        for row, column in part:
            near = {(row + down - 1, column + across - 1) for down, across in np.ndindex(3, 3)} & left
            left -= near
            part += near
        parts.append(sorted(part))
    return parts


@pytest.mark.parametrize("kind", BROKEN)
def test_one_digit_of_several_strokes_is_one_thing(kind: str):
    assert as_digit(Image.fromarray(drawn(BROKEN[kind]))).found == 1


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("step", [28, 60])
def test_digits_side_by_side_are_counted(count: int, step: int):
    lines = [[(20 + step * place, 10 + 3 * place), (20 + step * place, 90)] for place in range(count)]
    digit = as_digit(Image.fromarray(255 - drawn(lines, (300, 110))))
    assert digit.found == count
    assert any("things" in note for note in digit.notes) == (count > 1)


def test_digits_of_mnist_are_one_thing_and_rows_of_them_are_not():
    digits = load_data("mnist-5k").test.images[:100, 0].numpy() / np.float32(255)
    assert sum(things_in(one) != 1 for one in digits) <= 1
    pairs = zip(digits[::2], digits[1::2], strict=True)
    assert sum(things_in(np.concatenate(pair, 1)) != 2 for pair in pairs) <= 2
