"""What on a grey picture is ink: the ground it lies on, and whether it is darker or lighter than that."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped, UInt8
from PIL import Image, ImageFilter

from stawm.data.prepare.parts import CELLS, SPECK, parts_of, without_specks
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
    Where much ink lies on the border, so that it does not show the ground, `_split` says which is which.
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
    evened = (levels - _surface(levels) + ground).clip(0, 255).astype(np.uint8) if fitted else levels
    split = _split(levels) if _crowded(evened, ground) else None
    if split is not None:
        fitted, (ground, inverted, noise) = False, split
    else:
        levels, counts = evened, _counts(evened)
        differences = np.arange(256) - ground
        way = (counts * differences.astype(float) ** 3).sum()
        inverted = bool(way < 0 or (way == 0 and ground > 127))
        away = differences >= 0 if inverted else differences <= 0
        # Noise goes both ways and ink only one, however much of the picture it covers.
        noise = DEVIATION * _quantile(np.bincount(np.abs(differences[away]), counts[away]), 0.5)
    # From here on all is said by the 256 levels and how often each occurs.
    towards = (ground - np.arange(256)) * (1 if inverted else -1)
    strengths = (towards - 3 * noise).clip(0)
    peak = strengths[counts > 0].max()
    if peak < max(FAINTEST, 2 * noise) or not _edged(picture):
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


def _edged(picture: Image.Image) -> bool:
    """Whether levels change anywhere within a short way, as at the edge of a stroke; light and shadow change slowly."""
    return any(_steep(picture.reduce(max(max(picture.size) // edge, 1))) for edge in EDGES)


def _steep(picture: Image.Image) -> bool:
    lightest, darkest = (np.asarray(picture.filter(kind(3))) for kind in (ImageFilter.MaxFilter, ImageFilter.MinFilter))
    levels = np.asarray(picture)
    noise = _noise(levels, np.ones(levels.shape, bool)) if max(levels.shape) > SIDE else 0.0
    return int((lightest - darkest).max()) >= FAINT_EDGE + NOISE_REACH * noise


def _crowded(levels: Levels, ground: int) -> bool:
    """Whether much of the border differs from the ground about as much as anything on the picture does."""
    differences = np.abs(levels.astype(np.int16) - ground)
    reach = float(np.quantile(differences, FEW))
    if reach < max(FAINTEST, APART * _noise(levels, np.ones(levels.shape, bool))):
        return False
    return bool((_border(differences) > STRONG * reach).mean() > CROWDED)


def _split(levels: Levels) -> tuple[int, bool, float] | None:
    """The ground's level, whether the ink is darker than that, and the noise, on a picture that is crowded with ink.

    The levels are split in two where that explains most of their variance (Otsu, 1979). Ink hangs together, leaves the
    corners free and covers less of the border than its ground does, which it cuts into pieces. None where the two are
    not apart: there is only noise.
    """
    light = levels > _threshold(_counts(levels))
    shorter = min(1.0, CELLS / max(levels.shape))
    size = [max(round(length * shorter), 1) for length in reversed(levels.shape)]
    cells = np.asarray(Image.fromarray(255 * light.astype(np.uint8)).resize(size, Image.Resampling.BOX)) > 127
    inverted = bool(_unlike_ink(cells) > _unlike_ink(~cells))
    lying, drawn = (light, ~light) if inverted else (~light, light)
    if not (lying.any() and drawn.any()):
        return None
    ground, ink = np.quantile(levels[lying], 0.75 if inverted else 0.25), np.median(levels[drawn])
    noise = _noise(levels, lying)
    return (int(ground), inverted, noise) if abs(ink - ground) >= max(FAINTEST, APART * noise) else None


def _noise(levels: Levels, where: Bool[np.ndarray, "height width"]) -> float:
    """The noise by the steps between neighbours: their quartile, since most may lie on the soft edges of strokes."""
    steps = np.abs(np.diff(levels.astype(np.int16), axis=1))[where[:, 1:] & where[:, :-1]]
    return STEP_DEVIATION * float(np.quantile(steps, 0.25)) if steps.size else 0.0


def _unlike_ink(cells: Bool[np.ndarray, "rows columns"]) -> float:
    """How many parts there are, and how much of border and corners they cover, weighed against each other."""
    masses = [len(part) for part in parts_of(cells)]
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


def box_of(drawn: np.ndarray) -> tuple[slice, slice]:
    """The rows and columns that hold all that is drawn."""
    rows, columns = np.nonzero(drawn.any(1))[0], np.nonzero(drawn.any(0))[0]
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _counts(levels: UInt8[np.ndarray, "*any"]) -> Int[np.ndarray, "256"]:
    return np.bincount(levels.ravel(), minlength=256)


def _quantile(counts: np.ndarray, share: float) -> int:
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
