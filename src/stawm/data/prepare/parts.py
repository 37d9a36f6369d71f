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
Run = tuple[int, int, int]
"""A row, its first column, and the one beyond its last."""
Part = list[Run]
Box = tuple[int, int, int, int]
"""Top, left, bottom and right, the last two one beyond."""


def cells_of(ink: Ink, count: int) -> tuple[Float[np.ndarray, "rows columns"], int]:
    """The ink in each cell of a grid with at most `count` along the longer edge; and the edge of a cell in pixels."""
    height, width = ink.shape
    cell = -(-max(height, width) // count)
    if cell == 1:
        return ink, cell
    rows, columns = -(-height // cell), -(-width // cell)
    padded = np.zeros((rows * cell, columns * cell), ink.dtype)
    padded[:height, :width] = ink
    return padded.reshape(rows, cell, columns, cell).sum((1, 3)), cell


def parts_of(drawn: Cells) -> list[Part]:
    """The runs of cells of each part: first those that begin highest."""
    parts: dict[int, Part] = {}
    owners: dict[Run, int] = {}
    above: Part = []
    beside: Part = []
    last = -1
    for run in _runs(drawn):
        row, first, beyond = run
        if row != last:
            above, beside, last = beside if row == last + 1 else [], [], row
        touched = {owners[other] for other in above if other[1] <= beyond and first <= other[2]}
        owner = min(touched) if touched else len(owners)
        parts.setdefault(owner, []).append(run)
        owners[run] = owner
        beside.append(run)
        for other in touched - {owner}:
            joined = parts.pop(other)
            parts[owner] += joined
            owners |= dict.fromkeys(joined, owner)
    return list(parts.values())


def _runs(drawn: Cells) -> list[Run]:
    """The runs of cells, row by row: the row, the first column, and the one beyond the last."""
    rows, columns = drawn.shape
    line = np.zeros((rows, columns + 1), bool)  # An empty cell ends every row.
    line[:, :columns] = drawn
    flat = line.ravel()
    edges = (np.flatnonzero(flat[1:] != flat[:-1]) + 1).tolist()
    if flat.size and flat[0]:
        edges.insert(0, 0)
    wide = columns + 1
    return [
        (start // wide, start % wide, start % wide + end - start)
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]


def without_specks(ink: Ink) -> Ink:
    """The ink without parts that hold next to none of it: dust, a slip of the pen."""
    height, width = ink.shape
    masses, cell = cells_of(ink, CELLS)
    drawn = masses > cell * DRAWN
    parts = parts_of(drawn)
    if not parts:
        return ink
    kept = drawn
    if len(parts) > 1:
        kept, least = np.zeros_like(drawn), SPECK * masses.sum()
        for part in parts:
            if sum(masses[row, first:beyond].sum() for row, first, beyond in part) >= least:
                for row, first, beyond in part:
                    kept[row, first:beyond] = True
        if not kept.any():
            return ink
    # Faint rims lie in cells of their own: what is beside a kept cell is kept.
    near = kept.copy()
    near[1:] |= kept[:-1]
    near[:-1] |= kept[1:]
    rows = near.copy()
    near[:, 1:] |= rows[:, :-1]
    near[:, :-1] |= rows[:, 1:]
    if near.all():
        return ink
    return ink * near.repeat(cell, 0).repeat(cell, 1)[:height, :width]


def things_in(ink: Ink) -> int:
    """The number of separate things that are drawn: parts that are high enough and far enough from each other."""
    masses, cell = cells_of(ink, FINE)
    boxes = [_box(part) for part in parts_of(masses > cell * DRAWN)]
    while pair := next((pair for pair in combinations(boxes, 2) if _together(*pair)), None):
        boxes = [box for box in boxes if box not in pair] + [_common(*pair)]
    heights = [bottom - top for top, _, bottom, _ in boxes]
    return sum(height >= TALL * max(heights) for height in heights)


def _box(part: Part) -> Box:
    rows, firsts, beyonds = zip(*part, strict=True)
    return min(rows), min(firsts), max(rows) + 1, max(beyonds)


def _common(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _together(one: Box, other: Box) -> bool:
    """Whether two boxes are so near that they hold parts of one thing."""
    height = max(one[2], other[2]) - min(one[0], other[0])
    over, beside = (max(one[axis], other[axis]) - min(one[axis + 2], other[axis + 2]) for axis in (0, 1))
    return beside <= BESIDE * height and over <= (BELOW if beside < 0 else BESIDE) * height
