"""What a model is given of somebody's picture: its pixels, what was done to it, and where it lies in the picture."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from stawm.data.pictures import Frame, Shape, framed
from stawm.data.prepare.digit import SIDE, as_digit
from stawm.data.prepare.given import Given
from stawm.data.prepare.placed import Placed, placed_by


@dataclass(frozen=True)
class Prepared:
    """A picture as a model takes it."""

    pixels: UInt8[Tensor, "channel height width"]
    inverted: bool = False
    notes: tuple[str, ...] = ()
    """What was done to it, for people."""
    placed: Placed | None = None
    """Where it lies in the picture that was given."""


def in_frame(given: Given, shape: Shape, frame: Frame) -> Prepared:
    """The largest centred part of the picture's frame that has the proportions of `shape`, scaled to it."""
    channels, height, width = shape
    pixels = framed(given.flat(colour=channels == 3), shape, frame)
    placed = placed_by(frame, given.picture.size, width, height)
    return Prepared(torch.from_numpy(np.array(pixels)), placed=placed)


def handwritten(given: Given, shape: Shape, frame: Frame) -> Prepared:
    """A digit made as MNIST's were, where that is the shape that is wanted; else the part in the frame."""
    if shape != (1, SIDE, SIDE):
        return in_frame(given, shape, frame)
    digit = as_digit(given.flat(colour=False, background=given.background))
    return Prepared(torch.from_numpy(digit.pixels)[None], digit.inverted, digit.notes, digit.placed)
