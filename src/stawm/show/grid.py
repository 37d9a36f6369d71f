"""Pictures of one size in rows and columns, each with its outlines and a caption."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.show.picture import picture_of
from stawm.show.sheet import FAINT, INK, Colour, Point, Sheet, shortened, text_width

EDGE = 84
"""The longer edge of a picture on the sheet, in pixels."""
GAP = 10
NARROWEST = 40
"""The least room for a picture and its caption, however narrow it is."""
RIM = 4
"""How far an outline may reach past its picture."""
LINE = 20
"""Height of a title or caption."""
ACROSS = 10
"""Pictures in a row, where rows may be broken."""
REACH = 1e4
"""Outlines are cut this far away from their picture, for a drawing library counts in finite numbers."""


@dataclass(frozen=True)
class Cell:
    """A picture, outlines on it (corners in its own pixels, colour), and what stands below it."""

    image: Float[Tensor, "channel height width"]
    outlines: tuple[tuple[list[Point], Colour], ...] = ()
    caption: str = ""
    colour: Colour = INK


def grid(
    rows: Sequence[Sequence[Cell | None]],
    *,
    title: str = "",
    columns: Sequence[str] = (),
    sides: Sequence[str] = (),
    edge: float = EDGE,
    most: int | None = None,
) -> Image.Image:
    """A sheet of cells (None leaves a place free), with `columns` written above them and `sides` left of them.

    Rows longer than `most` are broken, all at the same places, and go on below.
    """
    if most is not None and len(rows[0]) > most:
        starts = range(0, len(rows[0]), most)
        sides = [side for _ in starts for side in sides]
        rows = [row[start : start + most] for start in starts for row in rows]
    height, width = next(cell for row in rows for cell in row if cell is not None).image.shape[-2:]
    scale = edge / max(height, width)
    across, down = width * scale, height * scale
    # Cells stand at whole pixels, so that their edges stay sharp.
    step, fall = ceil(max(across, NARROWEST)) + GAP, ceil(down) + GAP
    left = GAP + max((ceil(text_width(side, 12)) + GAP for side in sides), default=0)
    top = GAP + LINE * bool(title) + LINE * bool(columns)
    captioned = [any(cell is not None and cell.caption for cell in row) for row in rows]
    count = max(len(row) for row in rows)
    sheet_width = max(left + count * step, text_width(title, 13) + 2 * GAP)
    sheet = Sheet(sheet_width, top + sum(fall + LINE * with_caption for with_caption in captioned))
    sheet.text((GAP, GAP), title, 13, FAINT)
    for place, name in enumerate(columns):
        sheet.text((left + place * step + across / 2, top - 6), shortened(name, 12, step - 4), 12, FAINT, "ms")
    for number, row in enumerate(rows):
        if number < len(sides):
            sheet.text((left - GAP, top + down / 2), sides[number], 12, FAINT, "rm")
        for place, cell in enumerate(row):
            if cell is not None:
                x = left + place * step
                sheet.inset(_framed(cell, scale, across, down), x - RIM, top - RIM)
                told = shortened(cell.caption, 13, step - 4)
                sheet.text((x + across / 2, top + down + RIM + 12), told, 13, cell.colour, "ms")
        top += fall + LINE * captioned[number]
    return sheet.finished()


def _framed(cell: Cell, scale: float, across: float, down: float) -> Sheet:
    """A picture within a rim; what an outline draws past the rim is cut off."""
    sheet = Sheet(across + 2 * RIM, down + 2 * RIM)
    sheet.picture(picture_of(cell.image), RIM, RIM, across, down)
    for corners, colour in cell.outlines:
        places = [(RIM + _near(x) * scale, RIM + _near(y) * scale) for x, y in corners]
        sheet.outline(places, colour, 1.5)
    return sheet


def _near(place: float) -> float:
    return min(max(place, -REACH), REACH)
