"""Scenes of digits as people have them: one picture of all, or a picture for each cell of a grid.

Digits of scenes are MNIST's at half their size: each pixel is the mean of four.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from stawm.data.pictures import Frame, Shape, centred
from stawm.data.prepare.digit import BOX, EDGE, NOTHING, THICK, THIN, as_digit, stroke_width, thickened
from stawm.data.prepare.given import Given
from stawm.data.prepare.ink import Ink, ink_of
from stawm.data.prepare.prepared import Prepared, in_frame, placed_by
from stawm.errors import DataError

SIDE = 14
"""Pixels of a digit in a scene."""
WORK = 5
"""Pixels to one of the result, along each edge, while strokes are measured and changed."""
WIDTHS = WORK * THIN / 2, WORK * THICK / 2
"""Stroke widths in such pixels that are left alone: those of digits, at half their size."""
SLANT = 0.02
"""Pictures whose proportions differ by less are not said to be cropped."""
USUAL = "cropped, scaled and centred"

Grey = Float[np.ndarray, "height width"]
Work = Float[np.ndarray, "work_height work_width"]


def half(digits: UInt8[Tensor, "*any 28 28"]) -> UInt8[Tensor, "*any 14 14"]:
    """Digits at half their size."""
    return F.avg_pool2d(digits.float(), digits.shape[-1] // SIDE).round().to(torch.uint8)


def scene(given: Given, shape: Shape, frame: Frame) -> Prepared:
    """The scene on a picture, light on dark, with strokes as digits have them; one that is made comes back untouched.

    What lies outside the proportions of the scene is left out.
    """
    channels, height, width = shape
    if channels != 1:
        return in_frame(given, shape, frame)
    whole = given.flat(colour=False, background=given.background)
    box = centred(frame(*whole.size), width / height)
    left, top, right, bottom = (round(edge) for edge in box)
    picture = whole.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    ink = ink_of(picture, EDGE)
    cropped = abs(np.log(whole.width * height / (whole.height * width))) > SLANT
    left_out = [f"cropped to the proportions {width} × {height}"] if cropped else []
    if ink.blank:
        return Prepared(torch.zeros(shape, dtype=torch.uint8), ink.inverted, (*left_out, NOTHING), found=0)
    notes = ["dark on light: inverted"] if ink.inverted else []
    if ink.fitted:
        notes.append("uneven light: evened out")
    notes += left_out
    placed = placed_by(frame, whole.size, width, height)
    if picture.size == (width, height) and ink.ground == (255 if ink.inverted else 0):
        levels = np.asarray(picture)
        made = torch.from_numpy((255 - levels if ink.inverted else levels).copy())
    else:
        strokes, changed = _evened(worked(field_of(ink, picture), height, width))
        notes += [*changed, f"scaled to {width} × {height}"]
        shares = strokes.reshape(height, WORK, width, WORK).mean((1, 3)).clip(0, 1)
        made = torch.from_numpy((255 * shares).round().astype(np.uint8))
    return Prepared(made[None], ink.inverted, tuple(notes), placed)


def in_cells(given: Sequence[Given | None], rows: int, columns: int, shape: Shape) -> Prepared:
    """A scene of single digits, each prepared as MNIST's were, halved and put into the middle of its cell.

    The cells are counted row by row; those without a picture, and those not given, stay empty.
    """
    channels, height, width = shape
    down, across = height // rows, width // columns
    if len(given) > rows * columns:
        raise DataError(
            f"{len(given)} pictures are given for {rows} × {columns} cells; give at most {rows * columns}, or a model "
            "with more cells"
        )
    if channels != 1 or min(down, across) < SIDE:
        raise DataError(
            f"this model's cells are {across} × {down} pixels of {channels} channels, and digits for cells are grey "
            f"and {SIDE} × {SIDE}; give one picture of the whole scene"
        )
    pixels, notes, found, inverted = torch.zeros(shape, dtype=torch.uint8), [], 0, False
    for place, one in enumerate(given):
        if one is None:
            continue
        digit = as_digit(one.flat(colour=False, background=one.background))
        top, left = place // columns * down + (down - SIDE) // 2, place % columns * across + (across - SIDE) // 2
        pixels[:, top : top + SIDE, left : left + SIDE] = half(digit.pixels)
        told = [note for note in digit.notes if note != USUAL]
        notes += [f"cell {place + 1}: {'; '.join(told)}"] if told else []
        found, inverted = found + bool(digit.found), inverted or digit.inverted
    return Prepared(pixels, inverted, tuple(notes) if found else (NOTHING,), found=found)


def field_of(ink: Ink, picture: Image.Image) -> Grey:
    """The ink on the whole of the picture, which may have been reduced by a whole factor."""
    region, shares = ink.region, ink.shares
    field = np.zeros((-(-picture.height // int(region.down)), -(-picture.width // int(region.across))), np.float32)
    top, left = int(region.top / region.down), int(region.left / region.across)
    field[top : top + shares.shape[0], left : left + shares.shape[1]] = shares
    return field


def worked(field: Grey, height: int, width: int) -> Work:
    """The ink at the working size; strokes that would fade in a large reduction are widened before it."""
    factor = max(field.shape) / (WORK * max(height, width))
    if factor > 1 and mean_width(field) < 2 * factor:
        reach = int(np.ceil(factor))
        field = thickened(field, factor)[reach:-reach, reach:-reach]
    size = (WORK * width, WORK * height)
    scaled = np.asarray(Image.fromarray(field).resize(size, Image.Resampling.BILINEAR)).clip(0, 1)
    return scaled / max(float(scaled.max()), 1e-6)


def _evened(ink: Work) -> tuple[Work, list[str]]:
    """The ink with strokes neither thinner nor thicker than digits have them, and what was done."""
    (thin, thick), width = WIDTHS, mean_width(ink)
    if thin <= width <= thick:
        return ink, []
    radius = abs(width - (thin if width < thin else thick)) / 2
    reach = int(np.ceil(radius))
    if width < thin:
        return thickened(ink, radius)[reach:-reach, reach:-reach], ["thin strokes: thickened"]
    kept = 1 - thickened(1 - ink, radius)[reach:-reach, reach:-reach]
    return (kept, ["thick strokes: thinned"]) if kept.max() > EDGE else (ink, [])


def mean_width(ink: Grey) -> float:
    """The mean width of the strokes in pixels."""
    return stroke_width(ink) * max(ink.shape) / BOX
