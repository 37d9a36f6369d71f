"""The separate parts of what is drawn, told apart on a grid of cells: which are specks, and how many things there are.

Cells that touch, corners included, belong to one part.
"""

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

CELLS, FINE = 24, 48
"""Cells along the longer edge of the grid: for one digit, and where there may be several side by side."""
DRAWN = 0.2
"""Ink in a cell, in shares of a full line across it, from which on the cell is drawn on."""
SPECK = 0.02
"""A part with less than this share of all ink is a speck."""
BESIDE, BELOW = 0.05, 0.3
"""Parts this near to each other, in shares of their common height, are of one thing: next to and over each other.

Chosen on MNIST's training digits with strokes broken by thresholds, and on rows of two and three of them.
"""
TALL = 0.5
"""A thing is at least this share as high as the highest: what is lower is a bar, a dot, a stroke that broke off."""

Ink = Float[np.ndarray, "height width"]
Cells = Bool[np.ndarray, "rows columns"]
Part = list[tuple[int, int]]
Box = tuple[int, int, int, int]
"""Top, left, bottom and right, the last two one beyond."""


def cells_of(ink: Ink, count: int) -> tuple[Float[np.ndarray, "rows columns"], int]:
    """The ink in each cell of a grid with at most `count` along the longer edge; and the edge of a cell in pixels."""
    height, width = ink.shape
    cell = -(-max(height, width) // count)
    padded = np.pad(ink, ((0, -height % cell), (0, -width % cell)))
    return padded.reshape(padded.shape[0] // cell, cell, -1, cell).sum((1, 3)), cell


def parts_of(drawn: Cells) -> list[Part]:
    """The cells of each part."""
    # Places count through the rows of a grid with an empty cell beyond each edge, so that all have eight neighbours.
    rows = np.pad(drawn, 1)
    width = rows.shape[1]
    around = [down + across for down in (-width, 0, width) for across in (-1, 0, 1)]
    left = set(np.flatnonzero(rows).tolist())
    parts: list[Part] = []
    while left:
        part = [left.pop()]
        for place in part:
            for step in around:
                if place + step in left:
                    left.remove(place + step)
                    part.append(place + step)
        parts.append([(place // width - 1, place % width - 1) for place in part])
    return parts


def without_specks(ink: Ink) -> Ink:
    """The ink without parts that hold next to none of it: dust, a slip of the pen."""
    height, width = ink.shape
    masses, cell = cells_of(ink, CELLS)
    kept = np.zeros(masses.shape, bool)
    for part in parts_of(masses > cell * DRAWN):
        if sum(masses[place] for place in part) >= SPECK * masses.sum():
            kept[tuple(zip(*part, strict=True))] = True
    # Faint rims lie in cells of their own: what is beside a kept cell is kept.
    padded, near = np.pad(kept, 1), np.zeros_like(kept)
    for down, across in np.ndindex(3, 3):
        near |= padded[down : down + masses.shape[0], across : across + masses.shape[1]]
    return ink * near.repeat(cell, 0).repeat(cell, 1)[:height, :width] if kept.any() else ink


def things_in(ink: Ink) -> int:
    """The number of separate things that are drawn: parts that are high enough and far enough from each other."""
    masses, cell = cells_of(ink, FINE)
    boxes = [_box(part) for part in parts_of(masses > cell * DRAWN)]
    while pair := next((pair for pair in combinations(boxes, 2) if _together(*pair)), None):
        boxes = [box for box in boxes if box not in pair] + [_common(*pair)]
    heights = [bottom - top for top, _, bottom, _ in boxes]
    return sum(height >= TALL * max(heights) for height in heights)


def _box(part: Part) -> Box:
    rows, columns = zip(*part, strict=True)
    return min(rows), min(columns), max(rows) + 1, max(columns) + 1


def _common(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _together(one: Box, other: Box) -> bool:
    """Whether two boxes are so near that they hold parts of one thing."""
    height = max(one[2], other[2]) - min(one[0], other[0])
    over, beside = (max(one[axis], other[axis]) - min(one[axis + 2], other[axis + 2]) for axis in (0, 1))
    return beside <= BESIDE * height and over <= (BELOW if beside < 0 else BESIDE) * height
