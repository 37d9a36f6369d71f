"""A page with a digit somewhere on it, as people photograph one, for models that look for the digit themselves.

All of the page is fitted into the picture. Only a single thing that would come out larger or smaller than the digits
that were learnt from is made as large as they are: with more empty page around it, or with less of the page.
"""

import numpy as np
import torch
from jaxtyping import Float

from stawm.data.pictures import Frame, Shape
from stawm.data.prepare.digit import BOX, EDGE, NOTHING, THIN, thickened
from stawm.data.prepare.given import Given
from stawm.data.prepare.ink import Ink, ink_of
from stawm.data.prepare.parts import things_in
from stawm.data.prepare.prepared import Placed, Prepared, in_frame
from stawm.data.prepare.scene import WORK, field_of, mean_width, worked

LARGE = 1.4
"""A single thing may be so many times as large as the digits that were learnt from (28 pixels, that of their frame)."""

SMALL = 0.7
"""And so many times as large at least."""

Grey = Float[np.ndarray, "height width"]


def page(given: Given, shape: Shape, frame: Frame) -> Prepared:
    """All of the page in a grey picture, light on dark; a picture that is made already comes back untouched."""
    channels, height, width = shape
    if channels != 1:
        return in_frame(given, shape, frame)
    picture = given.flat(colour=False, background=given.background)
    ink = ink_of(picture, EDGE)
    if ink.blank:
        return Prepared(torch.zeros(shape, dtype=torch.uint8), ink.inverted, (NOTHING,), found=0)
    notes = ["dark on light: inverted"] if ink.inverted else []
    if picture.size == (width, height) and ink.ground == (255 if ink.inverted else 0):
        levels = np.asarray(picture)
        made = torch.from_numpy((255 - levels if ink.inverted else levels).copy())
        return Prepared(made[None], ink.inverted, tuple(notes), Placed(width, height, 0.0, 0.0, 1.0))
    if ink.fitted:
        notes.append("uneven light: evened out")
    scale = max(picture.width / width, picture.height / height)
    larger = _edge(ink) / scale / BOX
    whole = SMALL <= larger <= LARGE or things_in(ink.shares) != 1
    if not whole:
        scale *= larger
        notes.append("one large thing: made smaller" if larger > LARGE else "one small thing: brought nearer")
    at = _placed(picture.size, ink, scale, height, width)
    strokes = worked(_around(field_of(ink, picture), ink, at, height, width), height, width)
    stroke = mean_width(strokes)
    if stroke < WORK * THIN:
        radius = (WORK * THIN - stroke) / 2
        reach = int(np.ceil(radius))
        strokes = thickened(strokes, radius)[reach:-reach, reach:-reach]
        notes.append("thin strokes: thickened")
    notes.append(f"{'all of it' if whole or larger > LARGE else 'a part'} scaled into {width} × {height}")
    shares = strokes.reshape(height, WORK, width, WORK).mean((1, 3)).clip(0, 1)
    pixels = torch.from_numpy((255 * shares / max(float(shares.max()), 1e-6)).round().astype(np.uint8))
    return Prepared(pixels[None], ink.inverted, tuple(notes), at)


def _edge(ink: Ink) -> float:
    """The longer edge of all that is drawn, in pixels of the page."""
    rows, columns = ink.shares.shape
    return max(rows * ink.region.down, columns * ink.region.across)


def _placed(page: tuple[int, int], ink: Ink, scale: float, height: int, width: int) -> Placed:
    """Where the picture lies on the page: in the middle, or a part with the ink as far across and down as on it."""
    (rows, columns), region = ink.shares.shape, ink.region
    left = _corner(page[0], scale * width, region.left + columns * region.across / 2)
    top = _corner(page[1], scale * height, region.top + rows * region.down / 2)
    return Placed(*page, left, top, scale)


def _corner(edge: int, side: float, middle: float) -> float:
    """Where the picture's `side` begins on the page's `edge`; `middle` is that of the ink."""
    return (edge - side) * (middle / edge if side < edge else 0.5)


def _around(field: Grey, ink: Ink, at: Placed, height: int, width: int) -> Float[np.ndarray, "rows columns"]:
    """What is to become the picture: the page, or a part of it, in an empty field."""
    steps = ink.region.down, ink.region.across
    size = [max(1, round(at.scale * side / step)) for side, step in zip((height, width), steps, strict=True)]
    corner = [round(edge / step) for edge, step in zip((at.top, at.left), steps, strict=True)]
    around = np.zeros(size, np.float32)
    there = tuple(slice(max(0, first), max(0, first + count)) for first, count in zip(corner, size, strict=True))
    part = field[there]
    top, left = (max(0, -first) for first in corner)
    around[top : top + part.shape[0], left : left + part.shape[1]] = part
    return around
