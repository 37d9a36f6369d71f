"""A digit as people draw or photograph it, made into one as MNIST's were.

NIST's digits were scaled into 20 × 20 pixels with their proportions kept, which made them grey by antialiasing, and put
into 28 × 28 pixels with the centre of mass in the middle (at pixel 14, counted from 0), light on dark. Here the same is
done to any picture; what is thinner or thicker than MNIST's strokes are is brought nearer to them first.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image

from stawm.data.pictures import Frame, Shape
from stawm.data.prepare.given import Given
from stawm.data.prepare.ink import Ink, box_of, ink_of
from stawm.data.prepare.parts import things_in
from stawm.data.prepare.prepared import Placed, Prepared, Region, in_frame, put

SIDE, BOX, MIDDLE = 28, 20, 14
WORK = 100
"""The longer edge of a digit while its strokes are measured and changed: five to a pixel of the result."""
THIN, THICK = 2.0, 3.2
"""Stroke widths, in pixels of the 20 × 20 box, that are left alone: three of four of MNIST's lie between them.

Chosen by the error on embedded training digits, drawn thick and thin (benchmarks/robustness.py --split train).
"""
EDGE = 0.2
"""The share of full ink from which on a pixel belongs to the digit."""

NOTHING = "nothing to see"

Grey = Float[np.ndarray, "height width"]
Resized = Float[np.ndarray, "other_height other_width"]


@dataclass(frozen=True)
class Strokes:
    """A digit in the making, and where its pixels lie in the picture."""

    ink: Grey
    region: Region


def handwritten(given: Given, shape: Shape, frame: Frame) -> Prepared:
    """A digit made as MNIST's were, where that is the shape that is wanted; else the part in the frame."""
    if shape != (1, SIDE, SIDE):
        return in_frame(given, shape, frame)
    return as_digit(given.flat(colour=False, background=given.background))


def as_digit(picture: Image.Image) -> Prepared:
    """The digit on a grey picture (mode L); one that is as MNIST's are already comes back untouched."""
    ink = ink_of(picture, EDGE)
    if ink.blank:
        return Prepared(torch.zeros(1, SIDE, SIDE, dtype=torch.uint8), ink.inverted, (NOTHING,), found=0)
    notes = ["dark on light: inverted"] if ink.inverted else []
    if ink.fitted:
        notes.append("uneven light: evened out")
    found = things_in(ink.shares)
    if found > 1:
        notes.append(f"{found} separate things: read as one digit")
    made = _made_already(picture, ink)
    if made is not None:
        placed = Placed(SIDE, SIDE, 0.0, 0.0, 1.0)
        return Prepared(torch.from_numpy(made)[None], ink.inverted, tuple(notes), placed, found)
    if ink.specks:
        notes.append("specks: left out")
    strokes = _worked(Strokes(ink.shares, ink.region))
    width = stroke_width(strokes.ink)
    if width < THIN:
        strokes = _cropped(_grown(strokes, _radius(width, THIN)))
        notes.append("thin strokes: thickened")
    elif width > THICK:
        strokes = _thinned(strokes, _radius(width, THICK))
        notes.append("thick strokes: thinned")
    pixels, placed = _centred(_scaled(strokes, BOX), picture.size)
    notes.append("cropped, scaled and centred")
    return Prepared(torch.from_numpy(pixels)[None], ink.inverted, tuple(notes), placed, found)


def stroke_width(ink: Grey) -> float:
    """The mean width of the strokes in pixels of a box of 20: twice their area over the length of their outline.

    The length is the total variation, which counts a soft edge like a sharp one.
    """
    padded = np.zeros((ink.shape[0] + 2, ink.shape[1] + 2), ink.dtype)
    padded[1:-1, 1:-1] = ink
    slopes = np.hypot(padded[1:, 1:] - padded[:-1, :-1], padded[1:, :-1] - padded[:-1, 1:]) / np.sqrt(2)
    return float(2 * ink.sum() / max(slopes.sum(), 1e-6) * BOX / max(ink.shape))


def thickened(ink: Grey, radius: float) -> Resized:
    """The ink grown by a disc; the picture grows with it."""
    reach = int(np.ceil(radius))
    padded = np.pad(ink, 2 * reach)
    height, width = ink.shape[0] + 2 * reach, ink.shape[1] + 2 * reach
    grown = np.zeros((height, width), ink.dtype)
    for down in range(-reach, reach + 1):
        for across in range(-reach, reach + 1):
            # A disc with a soft rim, so that fractions of a pixel count.
            share = min(max(radius + 1 - np.hypot(down, across), 0.0), 1.0)
            if share:
                part = padded[reach + down : reach + down + height, reach + across : reach + across + width]
                np.maximum(grown, share * part, out=grown)
    return grown


def _grown(strokes: Strokes, radius: float) -> Strokes:
    reach = int(np.ceil(radius))
    return Strokes(thickened(strokes.ink, radius), strokes.region.moved(-reach, -reach))


def _thinned(strokes: Strokes, radius: float) -> Strokes:
    reach = int(np.ceil(radius))
    rim = reach + 1
    kept = 1 - thickened(1 - np.pad(strokes.ink, rim), radius)[reach:-reach, reach:-reach]
    return _cropped(Strokes(kept, strokes.region.moved(-rim, -rim))) if kept.max() > EDGE else strokes


def _radius(width: float, wanted: float) -> float:
    """How far, in working pixels, both sides of a stroke must move; the digit grows with them and is scaled again."""
    return abs(wanted - width) * WORK / (2 * BOX - 2 * wanted)


def _made_already(picture: Image.Image, ink: Ink) -> UInt8[np.ndarray, "28 28"] | None:
    """The pixels themselves where they are a digit as MNIST has them: its size, on plain black (or white), centred."""
    if picture.size != (SIDE, SIDE) or ink.ground != (255 if ink.inverted else 0):
        return None
    levels = np.asarray(picture)
    pixels = 255 - levels if ink.inverted else levels
    rows, columns = np.nonzero(pixels.max(1))[0], np.nonzero(pixels.max(0))[0]
    edge = max(rows[-1] - rows[0], columns[-1] - columns[0]) + 1
    off = max(abs(place - MIDDLE) for place in _centre(pixels.astype(np.float32)))
    return pixels.copy() if BOX - 2 <= edge <= BOX and off < 0.6 else None


def _cropped(strokes: Strokes) -> Strokes:
    rows, columns = box_of(strokes.ink >= EDGE * strokes.ink.max())
    return Strokes(strokes.ink[rows, columns], strokes.region.moved(rows.start, columns.start))


def _worked(strokes: Strokes) -> Strokes:
    """The strokes at the working size; those that would fade in a large reduction are widened before it."""
    factor = max(strokes.ink.shape) / WORK
    if factor > 1 and stroke_width(strokes.ink) * WORK / BOX < 2:
        strokes = _grown(strokes, factor)
    scaled = _scaled(strokes, WORK)
    return Strokes(scaled.ink / max(float(scaled.ink.max()), 1e-6), scaled.region)


def _scaled(strokes: Strokes, longest: int) -> Strokes:
    height, width = strokes.ink.shape
    factor = longest / max(height, width)
    size = max(round(width * factor), 1), max(round(height * factor), 1)
    ink = np.asarray(Image.fromarray(strokes.ink).resize(size, Image.Resampling.BILINEAR)).clip(0, 1)
    return Strokes(ink, strokes.region.scaled((height, width), ink.shape))


def _centred(strokes: Strokes, size: tuple[int, int]) -> tuple[UInt8[np.ndarray, "28 28"], Placed]:
    """The digit with its centre of mass at the middle, moved by whole pixels; and where it lies in the picture."""
    ink = strokes.ink / max(float(strokes.ink.max()), 1e-6)
    shifts = (round(MIDDLE - place) for place in _centre(ink))
    top, left = (min(max(shift, 0), SIDE - length) for shift, length in zip(shifts, ink.shape, strict=True))
    field = np.zeros((SIDE, SIDE), np.uint8)
    field[top : top + ink.shape[0], left : left + ink.shape[1]] = (255 * ink).round()
    return field, put(strokes.region, ink.shape, (top, left), size)


def _centre(ink: Grey) -> tuple[float, float]:
    mass = float(ink.sum())
    down = float((ink.sum(1) * np.arange(ink.shape[0])).sum()) / mass
    return down, float((ink.sum(0) * np.arange(ink.shape[1])).sum()) / mass
