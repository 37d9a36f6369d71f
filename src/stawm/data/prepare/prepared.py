"""What a model is given of somebody's picture: its pixels, what was done to it, and where it lies in the picture.

Points are counted from the left and top edges: 0 is the left edge of the first pixel, the width the right edge of the
last.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from stawm.data.pictures import Frame, Shape, centred, framed
from stawm.data.prepare.given import Given


@dataclass(frozen=True)
class Placed:
    """The map from a prepared picture to the given one: given = (left, top) + scale · prepared."""

    width: int
    """The given picture's, upright; so is its height."""
    height: int
    left: float
    top: float
    scale: float


@dataclass(frozen=True)
class Prepared:
    """A picture as a model takes it."""

    pixels: UInt8[Tensor, "channel height width"]
    inverted: bool = False
    notes: tuple[str, ...] = ()
    """What was done to it, for people."""
    placed: Placed | None = None
    """Where it lies in the picture that was given; nowhere if nothing was found in that."""
    found: int | None = None
    """How many separate things are drawn on it: 0 on a blank sheet; none where they are not looked for."""


def in_frame(given: Given, shape: Shape, frame: Frame) -> Prepared:
    """The largest centred part of the picture's frame that has the proportions of `shape`, scaled to it."""
    channels, height, width = shape
    pixels = framed(given.flat(colour=channels == 3), shape, frame)
    return Prepared(torch.from_numpy(np.array(pixels)), placed=placed_by(frame, given.picture.size, width, height))


def as_given(prepared: Prepared, given: Given) -> Prepared:
    """What was prepared of a picture that had been reduced, placed in the picture as it was given."""
    if prepared.placed is None or given.size == given.picture.size:
        return prepared
    at, larger = prepared.placed, given.size[0] / given.picture.width
    return replace(prepared, placed=Placed(*given.size, larger * at.left, larger * at.top, larger * at.scale))


def placed_by(frame: Frame, size: tuple[int, int], width: int, height: int) -> Placed:
    """Where the pixels that `framed` makes of a picture of this (width, height) lie in it."""
    left, top, right, _ = centred(frame(*size), width / height)
    return Placed(*size, left, top, (right - left) / width)


@dataclass(frozen=True)
class Region:
    """Where an array of pixels lies in the given picture: its first corner, and how wide and high one pixel is."""

    left: float = 0.0
    top: float = 0.0
    across: float = 1.0
    down: float = 1.0

    def moved(self, rows: int, columns: int) -> "Region":
        """That of the array without its first rows and columns; with more before them, for negative numbers."""
        return Region(self.left + columns * self.across, self.top + rows * self.down, self.across, self.down)

    def scaled(self, before: tuple[int, ...], after: tuple[int, ...]) -> "Region":
        """That of the same array with another number of rows and columns."""
        return Region(self.left, self.top, self.across * before[1] / after[1], self.down * before[0] / after[0])


def put(region: Region, shape: tuple[int, ...], corner: tuple[int, int], size: tuple[int, int]) -> Placed:
    """Where a field lies in a picture of this (width, height), if an array lies at this (row, column) of the field.

    One scale holds for both axes: that of the array's longer edge. The shorter one was rounded to whole pixels, so the
    two are laid middle on middle and differ by a quarter of the field's pixel at most.
    """
    (rows, columns), (top, left) = shape, corner
    scale = region.down if rows >= columns else region.across
    return Placed(
        *size,
        region.left + region.across * columns / 2 - scale * (left + columns / 2),
        region.top + region.down * rows / 2 - scale * (top + rows / 2),
        scale,
    )
