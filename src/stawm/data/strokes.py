"""Strokes that many people write and few writers of MNIST did: an upstroke on a 1, a foot under it, a bar through a 7.

In batches, from MNIST's own digits; every number is drawn from the generator that is passed in.
"""

import math

import torch
from jaxtyping import Bool, Float, Int64
from torch import Generator, Tensor

from stawm.data.image_set import ImageSet
from stawm.errors import UsageError

DIGITS = tuple("0123456789")
ONE, SEVEN = 1, 7
MIDDLE = 14
"""The pixel at which MNIST has the centre of mass, counted from 0."""
UPSTROKE, UPSTROKE_ANGLE = (0.25, 0.65), (20.0, 50.0)
"""Its length as a share of the stem's, and its angle to the stem in degrees."""
FLATTEST = 55.0
"""Its angle to the vertical at most: flatter, a 1 is a 7 as MNIST has it. A stem too slanted for that stays alone."""
FOOT, FOOT_SHARE = (0.1, 0.3), 0.3
"""Half its length as a share of the stem's, and how many of the new 1s have one."""
BAR, BAR_HEIGHT, BAR_ANGLE = (0.15, 0.35), (0.4, 0.65), (-25.0, 10.0)
"""Half its length and its height from the top as shares of the digit's height, and its angle to the horizontal."""

Images = Float[Tensor, "batch 1 height width"]
Points = Float[Tensor, "batch 2"]
"""Columns and rows."""


def check_digits(pictures: ImageSet) -> None:
    """Refuse pictures that are not digits: on others, strokes of digits mean nothing."""
    known = pictures.labels is not None and pictures.labels.dim() == 1
    if pictures.classes != DIGITS or not known or pictures.images.shape[1] != 1:
        raise UsageError(f"data.strokes is for digits with their labels, and {pictures.name} is not; leave it at 0")


def struck(images: Images, labels: Int64[Tensor, " batch"], share: float, generator: Generator) -> Images:
    """The same digits, of which this share of the 1s has an upstroke and of the 7s a bar; moved so as to be centred."""
    draws = torch.rand(5, len(images), generator=generator, device=generator.device).to(images.device)
    chosen = draws[0] < share
    struck = images.clone()
    for digit, strokes in ((ONE, _upstroke), (SEVEN, _bar)):
        rows = (chosen & (labels == digit)).nonzero()[:, 0]
        if len(rows):
            struck[rows] = _centred(strokes(images[rows], draws[1:, rows]))
    return struck


def _upstroke(images: Images, draws: Float[Tensor, "4 batch"]) -> Images:
    """The 1s with a line from their top down to the left; some also with a foot."""
    top, bottom = _ends(images)
    stem = bottom - top
    length = stem.norm(dim=1)
    slant = torch.atan2(-stem[:, 0], stem[:, 1])
    turn = torch.deg2rad(_between(UPSTROKE_ANGLE, draws[0])).minimum(math.radians(FLATTEST) - slant)
    across = stem[:, 0] * turn.cos() - stem[:, 1] * turn.sin()
    down = stem[:, 0] * turn.sin() + stem[:, 1] * turn.cos()
    flag = top + _between(UPSTROKE, draws[1])[:, None] * torch.stack([across, down], 1)
    made = _drawn(images, top, flag)
    half = torch.stack([_between(FOOT, draws[2]) * length, torch.zeros_like(length)], 1)
    made = torch.where(_each(draws[3] < FOOT_SHARE), _drawn(made, bottom - half, bottom + half), made)
    return torch.where(_each(turn < math.radians(UPSTROKE_ANGLE[0])), images, made)


def _bar(images: Images, draws: Float[Tensor, "4 batch"]) -> Images:
    """The 7s with a bar through their stem."""
    top, bottom = _ends(images)
    height = bottom[:, 1] - top[:, 1]
    row = top[:, 1] + _between(BAR_HEIGHT, draws[0]) * height
    middle = torch.stack([_column(images, row.round().long()), row], 1)
    turn, half = torch.deg2rad(_between(BAR_ANGLE, draws[1])), _between(BAR, draws[2]) * height
    reach = torch.stack([half * turn.cos(), half * turn.sin()], 1)
    return _drawn(images, middle - reach, middle + reach)


def _ends(images: Images) -> tuple[Points, Points]:
    """The middles of the ink in the first and the last row that has much of it."""
    inked = images[:, 0].amax(-1) > 0.5
    first = inked.int().argmax(1)
    last = inked.shape[1] - 1 - inked.flip(1).int().argmax(1)
    return (
        torch.stack([_column(images, first), first.to(images)], 1),
        torch.stack([_column(images, last), last.to(images)], 1),
    )


def _column(images: Images, rows: Int64[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """The middle of the ink in one row of each picture."""
    ink = images[torch.arange(len(images), device=images.device), 0, rows]
    return (ink * torch.arange(ink.shape[1], device=ink.device)).sum(1) / ink.sum(1).clamp(min=1e-6)


def _drawn(images: Images, start: Points, end: Points) -> Images:
    """Each picture with a straight line, as wide as its own strokes: twice their area over their outline's length."""
    slopes = torch.hypot(
        images[:, 0, 1:, 1:] - images[:, 0, :-1, :-1], images[:, 0, 1:, :-1] - images[:, 0, :-1, 1:]
    ).sum((1, 2))
    width = 2 * 2**0.5 * images.sum((1, 2, 3)) / slopes.clamp(min=1e-6)
    height, columns = images.shape[-2:]
    grid = torch.meshgrid(
        torch.arange(columns, device=images.device), torch.arange(height, device=images.device), indexing="xy"
    )
    places = torch.stack(grid, -1).to(images)[None]
    line = (end - start)[:, None, None]
    from_start = places - start[:, None, None]
    along = ((from_start * line).sum(-1) / line.square().sum(-1).clamp(min=1e-6)).clamp(0, 1)
    away = (from_start - along[..., None] * line).norm(dim=-1)
    ink = (width[:, None, None] / 2 + 0.5 - away).clamp(0, 1)
    return torch.maximum(images, ink[:, None])


def _centred(images: Images) -> Images:
    """Each picture moved by whole pixels, the centre of mass to the middle."""
    height, width = images.shape[-2:]
    ink, mass = images[:, 0], images.sum((1, 2, 3)).clamp(min=1e-6)
    down = MIDDLE - (ink.sum(2) * torch.arange(height, device=ink.device)).sum(1) / mass
    across = MIDDLE - (ink.sum(1) * torch.arange(width, device=ink.device)).sum(1) / mass
    rows = (torch.arange(height, device=ink.device) - down.round().long()[:, None]) % height
    columns = (torch.arange(width, device=ink.device) - across.round().long()[:, None]) % width
    picture = torch.arange(len(images), device=ink.device)[:, None, None]
    return ink[picture, rows[:, :, None], columns[:, None]][:, None]


def _each(chosen: Bool[Tensor, " batch"]) -> Bool[Tensor, "batch 1 1 1"]:
    return chosen[:, None, None, None]


def _between(limits: tuple[float, float], draws: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    low, high = limits
    return low + (high - low) * draws
