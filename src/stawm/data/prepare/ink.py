"""What on a grey picture is ink: the ground it lies on, and whether it is darker or lighter than that."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from stawm.data.prepare.prepared import Region

LONGEST = 800
"""Larger pictures are reduced to this first; a stroke that fades by it is brought back by its own contrast."""
BORDER = 50
"""The border is this part of the shorter edge deep."""
NEAR, MOSTLY = 6, 0.4
"""A ground is even if this share of the picture lies within so many levels of the border's median,"""
UNEVEN = 10
"""or if the middle half of the border's levels spreads no further than this."""
FAINTEST = 20
"""What differs less from its ground, in levels of 255, is not ink."""
DEVIATION = 1.4826
"""Standard deviations of a Gaussian to its median absolute deviation."""
CELLS = 24
"""Cells along the longer edge of the grid on which parts of the ink are told apart."""
SPECK = 0.02
"""A part with less than this share of all ink is a speck."""
SPECK_EDGE = 0.2
"""Ink in a cell, in shares of a full line across it, from which on the cell is drawn on."""
FIT_EDGE, FIT_BORDER, FIT_ROUNDS = 64, 0.08, 6

Levels = UInt8[np.ndarray, "height width"]


@dataclass(frozen=True)
class Ink:
    """The ink of a picture, what it lies on, and what was found on the way."""

    shares: Float[np.ndarray, "height width"]
    """In shares of full ink, within the box that holds all of it; a single zero on a blank picture."""
    ground: float
    """The median level of the border."""
    inverted: bool
    """Whether it is dark on light."""
    fitted: bool
    """Whether the ground was uneven, as on a photograph, and was evened out."""
    specks: bool = False
    """Whether specks were left out that would have changed where the digit begins and ends."""
    region: Region = field(default_factory=Region)
    """Where the box lies in the picture."""

    @property
    def blank(self) -> bool:
        """Whether there is none."""
        return self.shares.size == 1 and not self.shares.any()


def ink_of(picture: Image.Image, edge: float) -> Ink:
    """The ink on a picture of mode L; a pixel belongs to it from the share `edge` of full ink on.

    The ground is the border's median, or where the light is uneven a smooth surface through all that is not ink. Ink is
    what differs from it; the sum of the cubes of the differences says which way, since ink is rare and differs much.
    """
    reduced = -(-max(picture.size) // LONGEST)
    if reduced > 1:
        picture = picture.reduce(reduced)
    levels = np.asarray(picture)
    border = _counts(_border(levels))
    ground = _quantile(border, 0.5)
    counts = _counts(levels)
    near = counts[max(ground - NEAR, 0) : ground + NEAR + 1].sum() / levels.size
    fitted = bool(near < MOSTLY and _quantile(border, 0.75) - _quantile(border, 0.25) > UNEVEN)
    if fitted:
        levels = (levels - _surface(levels) + ground).clip(0, 255).astype(np.uint8)
        counts = _counts(levels)
    # From here on all is said by the 256 levels and how often each occurs.
    differences = np.arange(256) - ground
    way = (counts * differences.astype(float) ** 3).sum()
    inverted = bool(way < 0 or (way == 0 and ground > 127))
    towards = -differences if inverted else differences
    # Noise goes both ways and ink only one, however much of the picture it covers.
    noise = DEVIATION * _quantile(np.bincount(-towards[towards <= 0], counts[towards <= 0]), 0.5)
    strengths = (towards - 3 * noise).clip(0)
    peak = strengths[counts > 0].max()
    if peak < max(FAINTEST, 2 * noise):
        return Ink(np.zeros((1, 1), np.float32), ground, ground > 127, fitted)
    # Full ink: the median of what is plainly ink, so that a glossy spot does not set it.
    order = np.argsort(strengths)
    plain = order[strengths[order] > peak / 2]
    full = strengths[plain[_quantile(counts[plain], 0.5)]]
    shares = (strengths / full).clip(0, 1).astype(np.float32)
    box = box_of((shares >= edge)[levels])
    region = Region(across=reduced, down=reduced).moved(box[0].start, box[1].start)
    everything = shares[levels[box]]
    found = without_specks(everything)
    if (found >= edge).any():
        box = box_of(found >= edge)
        found, region = found[box], region.moved(box[0].start, box[1].start)
    return Ink(found, ground, inverted, fitted, specks=found.shape != everything.shape, region=region)


def box_of(drawn: np.ndarray) -> tuple[slice, slice]:
    """The rows and columns that hold all that is drawn."""
    rows, columns = np.nonzero(drawn.any(1))[0], np.nonzero(drawn.any(0))[0]
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def without_specks(ink: Float[np.ndarray, "height width"]) -> Float[np.ndarray, "height width"]:
    """The ink without parts that hold next to none of it: dust, a slip of the pen.

    Parts are told apart on a grid of cells, and touch if their cells do, corners included.
    """
    height, width = ink.shape
    cell = -(-max(height, width) // CELLS)
    padded = np.pad(ink, ((0, -height % cell), (0, -width % cell)))
    masses = padded.reshape(padded.shape[0] // cell, cell, -1, cell).sum((1, 3))
    faint = cell * SPECK_EDGE
    left = {(int(row), int(column)) for row, column in zip(*np.nonzero(masses > faint), strict=True)}
    kept = np.zeros(masses.shape, bool)
    while left:
        part = _connected(left.pop(), left)
        if sum(masses[place] for place in part) >= SPECK * masses.sum():
            kept[tuple(zip(*part, strict=True))] = True
    # Faint rims lie in cells of their own: what is beside a kept cell is kept.
    padded, near = np.pad(kept, 1), np.zeros_like(kept)
    for down, across in np.ndindex(3, 3):
        near |= padded[down : down + masses.shape[0], across : across + masses.shape[1]]
    return ink * near.repeat(cell, 0).repeat(cell, 1)[:height, :width] if kept.any() else ink


def _connected(start: tuple[int, int], left: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The cells that hang together with `start`; they are taken out of `left`."""
    part = [start]
    for row, column in part:
        around = {(row + down, column + across) for down in (-1, 0, 1) for across in (-1, 0, 1)} & left
        left -= around
        part.extend(around)
    return part


def _counts(levels: UInt8[np.ndarray, "*any"]) -> Int[np.ndarray, "256"]:
    return np.bincount(levels.ravel(), minlength=256)


def _quantile(counts: np.ndarray, share: float) -> int:
    """The level below which (or at which) this share of the counted pixels lies."""
    return int(np.searchsorted(counts.cumsum(), share * counts.sum()))


def _border(levels: Levels) -> UInt8[np.ndarray, "count"]:
    deep = max(min(levels.shape) // BORDER, 1)
    parts = levels[:deep], levels[-deep:], levels[:, :deep], levels[:, -deep:]
    return np.concatenate([part.ravel() for part in parts])


def _surface(levels: Levels) -> Float[np.ndarray, "height width"]:
    """A quadratic surface through the ground: fitted again and again to what lies near the last fit."""
    height, width = levels.shape
    size = min(width, FIT_EDGE), min(height, FIT_EDGE)
    small = np.asarray(Image.fromarray(levels).resize(size, Image.Resampling.BOX), np.float32)
    terms, values = _terms(*small.shape), small.ravel()
    # The border first: from all of the picture on, a surface may settle half-way between ground and ink.
    kept, weights = np.abs(terms[:, 1:3]).max(1) > 0.5 - FIT_BORDER, np.zeros(6, np.float32)
    for _ in range(FIT_ROUNDS):
        weights = np.linalg.lstsq(terms[kept], values[kept], rcond=None)[0]
        away = np.abs(values - terms @ weights)
        kept = away <= 2.5 * DEVIATION * np.median(away) + 1
    fitted = Image.fromarray((terms @ weights).reshape(small.shape))
    return np.asarray(fitted.resize((width, height), Image.Resampling.BILINEAR))


def _terms(height: int, width: int) -> Float[np.ndarray, "count 6"]:
    down, across = np.mgrid[:height, :width].reshape(2, -1).astype(np.float32)
    down, across = (down + 0.5) / height - 0.5, (across + 0.5) / width - 0.5
    return np.stack([np.ones_like(down), down, across, down * down, down * across, across * across], 1)
