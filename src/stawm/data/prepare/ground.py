"""What a picture's ink lies on, and whether the ink is darker or lighter than that."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped, UInt8
from PIL import Image

from stawm.data.prepare.parts import CELLS, SPECK, parts_of

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
EDGES, SIDE = (200, 50), 28
"""Edges of strokes are looked for on pictures of up to twice these sizes; noise can be told on those above SIDE."""
FAINT_EDGE, NOISE_REACH = 10, 9
"""They have so many levels at least within three pixels, and more where noise reaches so many of its deviations."""
STEP_DEVIATION = 2.219
"""The same to the first quartile of the differences of two such numbers."""
STRONG, FEW, CROWDED = 0.35, 0.98, 0.1
"""The border is crowded if more than CROWDED of it differs more from the ground than STRONG of what few pixels do."""
APART = 4
"""Ink and ground are apart if their levels are so many standard deviations of the noise apart."""
FIT_EDGE, FIT_BORDER, FIT_ROUNDS = 64, 0.08, 6

Levels = UInt8[np.ndarray, "height width"]


@dataclass(frozen=True)
class Reading:
    """A picture and what on it is taken for the ground."""

    levels: Levels
    """Those of the picture, under even light."""
    ground: int
    inverted: bool
    """Whether the ink is darker than the ground."""
    noise: float
    fitted: bool = False
    """Whether the light was uneven."""

    @property
    def strengths(self) -> Float[np.ndarray, "256"]:
        """How much more than noise each level differs from the ground, towards the ink."""
        towards = self.ground - np.arange(256) if self.inverted else np.arange(256) - self.ground
        return (towards - 3 * self.noise).clip(0).astype(float)

    @property
    def drawn(self) -> bool:
        """Whether anything on it is ink."""
        peak = self.strengths[[self.levels.min(), self.levels.max()]].max()
        return bool(peak >= max(FAINTEST, 2 * self.noise))


def reading_of(picture: Image.Image) -> Reading | None:
    """How a picture of mode L is read; none if nothing is drawn on it.

    The border shows the ground, unless much ink lies on it, or what is found by it has edges and is no ink.
    """
    if not _edged(picture):
        return None
    levels = np.asarray(picture)
    reading = _by_border(levels)
    crowded = _crowded(reading.levels, reading.ground)
    if crowded or not reading.drawn:
        reading = _split(levels) or reading
    return reading if reading.drawn else None


def median_of_border(picture: Image.Image) -> int:
    """The level of the middle of the border's pixels."""
    return quantile(counts_of(_border(np.asarray(picture))), 0.5)


def _by_border(levels: Levels) -> Reading:
    """The picture as one whose border is ground: its median, or where the light is uneven a smooth surface.

    Ink is what differs from it; the sum of the cubes of the differences says which way, since ink is rare and differs
    much.
    """
    border = counts_of(_border(levels))
    ground = quantile(border, 0.5)
    counts = counts_of(levels)
    near = counts[max(ground - NEAR, 0) : ground + NEAR + 1].sum() / levels.size
    fitted = bool(near < MOSTLY and quantile(border, 0.75) - quantile(border, 0.25) > UNEVEN)
    if fitted:
        levels = (levels - _surface(levels) + ground).clip(0, 255).astype(np.uint8)
        counts = counts_of(levels)
    differences = np.arange(256) - ground
    way = (counts * differences.astype(float) ** 3).sum()
    inverted = bool(way < 0 or (way == 0 and ground > 127))
    away = differences >= 0 if inverted else differences <= 0
    # Noise goes both ways and ink only one, however much of the picture it covers.
    noise = DEVIATION * quantile(np.bincount(np.abs(differences[away]), counts[away]), 0.5)
    return Reading(levels, ground, inverted, noise, fitted)


def _crowded(levels: Levels, ground: int) -> bool:
    """Whether much of the border differs from the ground about as much as anything on the picture does."""
    away = np.bincount(np.abs(np.arange(256) - ground), counts_of(levels))
    reach = _counted_quantile(away, FEW)
    if reach < max(FAINTEST, APART * _noise(levels)):
        return False
    return bool((np.abs(_border(levels).astype(np.int16) - ground) > STRONG * reach).mean() > CROWDED)


def _split(levels: Levels) -> Reading | None:
    """The picture as one that is crowded with ink.

    The levels are split in two where that explains most of their variance (Otsu, 1979). Ink hangs together, leaves the
    corners free and covers less of the border than its ground does, which it cuts into pieces. None where the two are
    not apart: there is only noise.
    """
    light = levels > _threshold(counts_of(levels))
    shorter = min(1.0, CELLS / max(levels.shape))
    size = [max(round(length * shorter), 1) for length in reversed(levels.shape)]
    cells = np.asarray(Image.fromarray(255 * light.astype(np.uint8)).resize(size, Image.Resampling.BOX)) > 127
    inverted = bool(_unlike_ink(cells) > _unlike_ink(~cells))
    lying, drawn = (light, ~light) if inverted else (~light, light)
    if not (lying.any() and drawn.any()):
        return None
    ground, ink = np.quantile(levels[lying], 0.75 if inverted else 0.25), np.median(levels[drawn])
    noise = _noise(levels, lying)
    apart = abs(ink - ground) >= max(FAINTEST, APART * noise)
    return Reading(levels, int(ground), inverted, noise) if apart else None


def _unlike_ink(cells: Bool[np.ndarray, "rows columns"]) -> float:
    """How many parts there are, and how much of border and corners they cover, weighed against each other."""
    masses = [sum(beyond - first for _, first, beyond in part) for part in parts_of(cells)]
    border = np.concatenate([cells[0], cells[-1], cells[:, 0], cells[:, -1]]).mean()
    deep = max(min(cells.shape) // 12, 1)
    corners = np.mean([cells[rows, columns].mean() for rows in _ends(deep) for columns in _ends(deep)])
    return sum(mass >= SPECK * sum(masses) for mass in masses) + 3.5 * float(border) + float(corners)


def _ends(deep: int) -> tuple[slice, slice]:
    return slice(deep), slice(-deep, None)


def _threshold(counts: Int[np.ndarray, "256"]) -> int:
    """The level up to which pixels are dark, where that explains most of the variance of the levels."""
    below, sums = counts.cumsum(), (counts * np.arange(256)).cumsum()
    share, mean = below / below[-1], sums[-1] / below[-1]
    apart = (mean * share - sums / below[-1]) ** 2 / (share * (1 - share)).clip(1e-9)
    return int(apart.argmax())


def _edged(picture: Image.Image) -> bool:
    """Whether levels change anywhere within a short way, as at the edge of a stroke; light and shadow change slowly."""
    parts = (max(max(picture.size) // edge, 1) for edge in EDGES)
    return any(_steep(np.asarray(picture.reduce(part) if part > 1 else picture)) for part in parts)


def _steep(levels: Levels) -> bool:
    reach = _nearby(levels, np.maximum) - _nearby(levels, np.minimum)
    noise = _noise(levels) if max(levels.shape) > SIDE else 0.0
    return int(reach.max()) >= FAINT_EDGE + NOISE_REACH * noise


def _nearby(levels: Levels, most: np.ufunc) -> Levels:
    """The most (or least) of each pixel and its eight neighbours."""
    rows = levels.copy()
    most(rows[1:], levels[:-1], out=rows[1:])
    most(rows[:-1], levels[1:], out=rows[:-1])
    found = rows.copy()
    most(found[:, 1:], rows[:, :-1], out=found[:, 1:])
    most(found[:, :-1], rows[:, 1:], out=found[:, :-1])
    return found


def _noise(levels: Levels, where: Bool[np.ndarray, "height width"] | None = None) -> float:
    """The noise by the steps between neighbours: their quartile, since most may lie on the soft edges of strokes."""
    steps = np.maximum(levels[:, 1:], levels[:, :-1]) - np.minimum(levels[:, 1:], levels[:, :-1])
    steps = steps.ravel() if where is None else steps[where[:, 1:] & where[:, :-1]]
    return STEP_DEVIATION * _counted_quantile(counts_of(steps), 0.25) if steps.size else 0.0


def _counted_quantile(counts: Shaped[np.ndarray, "different"], share: float) -> float:
    """That of `np.quantile`, given how often each number occurs, since these are few different numbers."""
    sums = counts.cumsum()
    place = share * (sums[-1] - 1)
    lower = int(place)
    low, high = np.searchsorted(sums, (lower + 1, min(lower + 2, sums[-1])))
    return float(low + (high - low) * (place - lower))


def counts_of(levels: UInt8[np.ndarray, "*any"]) -> Int[np.ndarray, "256"]:
    """How often each level occurs; counted by Pillow, which is quicker than numpy at this."""
    if not levels.size:
        return np.zeros(256, np.int64)
    rows = levels if levels.ndim == 2 else levels.reshape(1, -1)
    return np.array(Image.fromarray(np.ascontiguousarray(rows)).histogram())


def quantile(counts: np.ndarray, share: float) -> int:
    """The level below which (or at which) this share of the counted pixels lies."""
    return int(np.searchsorted(counts.cumsum(), share * counts.sum()))


def _border(levels: Shaped[np.ndarray, "height width"]) -> Shaped[np.ndarray, "count"]:
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
