"""What on a grey picture is ink, and how full."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from PIL import Image

from stawm.data.prepare.ground import counts_of, median_of_border, quantile, reading_of
from stawm.data.prepare.parts import without_specks
from stawm.data.prepare.prepared import Region

LONGEST = 800
"""Larger pictures are reduced to this first; a stroke that fades by it is brought back by its own contrast."""


@dataclass(frozen=True)
class Ink:
    """The ink of a picture, what it lies on, and what was found on the way."""

    shares: Float[np.ndarray, "height width"]
    """In shares of full ink, within the box that holds all of it; a single zero on a blank picture."""
    ground: float
    """The level of what it lies on."""
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
    """The ink on a picture of mode L; a pixel belongs to it from the share `edge` of full ink on."""
    reduced = -(-max(picture.size) // LONGEST)
    if reduced > 1:
        picture = picture.reduce(reduced)
    reading = reading_of(picture)
    if reading is None:
        ground = median_of_border(picture)
        return Ink(np.zeros((1, 1), np.float32), ground, ground > 127, fitted=False)
    # All is said by the 256 levels and how often each occurs.
    levels, counts, strengths = reading.levels, counts_of(reading.levels), reading.strengths
    # Full ink: the median of what is plainly ink, so that a glossy spot does not set it.
    order = np.argsort(strengths)
    plain = order[strengths[order] > strengths[counts > 0].max() / 2]
    full = strengths[plain[quantile(counts[plain], 0.5)]]
    shares = (strengths / full).clip(0, 1).astype(np.float32)
    # A look-up would tell the same, and takes longer: shares rise (or fall) with the levels.
    drawn = np.flatnonzero(shares >= edge)
    box = box_of(levels <= drawn[-1] if reading.inverted else levels >= drawn[0])
    region = Region(across=reduced, down=reduced).moved(box[0].start, box[1].start)
    everything = shares[levels[box]]
    found = without_specks(everything)
    if (found >= edge).any():
        box = box_of(found >= edge)
        found, region = found[box], region.moved(box[0].start, box[1].start)
    specks = found.shape != everything.shape
    return Ink(found, reading.ground, reading.inverted, reading.fitted, specks, region)


def box_of(drawn: np.ndarray) -> tuple[slice, slice]:
    """The rows and columns that hold all that is drawn."""
    rows, columns = np.nonzero(drawn.any(1))[0], np.nonzero(drawn.any(0))[0]
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
