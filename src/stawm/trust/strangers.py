"""Pictures that are none of those a model learnt from, made by chance: signs, scribbles, shapes, collages, textures.

They teach `familiar` what to refuse. None of them is a letter of an alphabet, a photograph or noise, though a sign made
of a few strokes may look like one.
"""

from collections.abc import Callable
from itertools import pairwise
from math import comb

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from PIL import Image, ImageDraw, ImageFilter, ImageOps
from torch import Tensor

SHEET = 280
EDGE = 40
"""What is drawn keeps so far from the edges of its sheet."""
REDRAWN, LIGHT = 84, 100
"""The edge of a picture while its strokes are thinned, and the level above which something is a stroke."""

Prepare = Callable[[Image.Image], UInt8[Tensor, "channel height width"]]
"""How a picture that somebody drew becomes one that the model takes."""
Points = Float[np.ndarray, "... 2"]


def drawn(prepare: Prepare, count: int, seed: int = 0) -> UInt8[Tensor, "count channel height width"]:
    """So many drawings, dark on light, that go the way of a user's picture: signs, scribbles and shapes."""
    chance = np.random.default_rng(seed)
    kinds = (sign, scribble, upright, sign, shape, upright, sign, upright)
    return torch.stack([prepare(kinds[number % len(kinds)](chance)) for number in range(count)])


def composed(
    own: UInt8[Tensor, "learnt channel height width"], count: int, seed: int = 0
) -> UInt8[Tensor, "count channel height width"]:
    """So many collages and textures of the size of `own`, in turn."""
    chance, kinds, pictures = np.random.default_rng(seed), (collage, texture), own.numpy()
    return torch.from_numpy(np.stack([kinds[number % 2](chance, pictures) for number in range(count)]))


def evenly(picture: UInt8[np.ndarray, "channel height width"], chance: np.random.Generator) -> Image.Image:
    """The picture redrawn, dark on light, with a pen of even width along the middle of what is light in it."""
    light = Image.fromarray(picture.max(0)).resize((REDRAWN, REDRAWN), Image.Resampling.BICUBIC)
    line = _thinned(np.asarray(light.filter(ImageFilter.GaussianBlur(2))) > LIGHT)
    down, across = np.nonzero(line)
    lines = Image.fromarray(255 * line.astype(np.uint8))
    if len(down) > 1 and chance.random() < 0.6:
        lean = float(np.cov(across, down)[0, 1] / max(down.var(), 1))
        lines = lines.transform(lines.size, Image.Transform.AFFINE, (1, lean, -lean * down.mean(), 0, 1, 0))
    lines = lines.resize((3 * REDRAWN, 3 * REDRAWN), Image.Resampling.BILINEAR).filter(ImageFilter.GaussianBlur(3))
    lines, width = lines.point([255 * (level > 40) for level in range(256)]), int(chance.integers(4, 10))
    if chance.random() < 0.5:
        lines = lines.filter(ImageFilter.MaxFilter(2 * width + 1))
    else:
        lines = lines.filter(ImageFilter.GaussianBlur(width)).point([255 * (level > 30) for level in range(256)])
    return ImageOps.invert(lines.filter(ImageFilter.GaussianBlur(1)))


def _thinned(mask: Bool[np.ndarray, "height width"]) -> Bool[np.ndarray, "height width"]:
    """Lines one pixel wide along the middle of a mask (Zhang and Suen, 1984)."""
    line = np.pad(mask, 1).astype(np.int8)
    around = ((1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1))
    gone = 1
    while gone:
        gone = 0
        for last in (False, True):
            near = np.stack([np.roll(line, place, (0, 1)) for place in around])
            north, east, south, west = near[::2]
            sides = (north & west & (east | south), east & south & (north | west))
            count, turns = near.sum(0), ((near == 0) & (np.roll(near, -1, 0) == 1)).sum(0)
            off = (line == 1) & (count >= 2) & (count <= 6) & (turns == 1) & (sides[0 if last else 1] == 0)
            line[off], gone = 0, gone + int(off.sum())
    return line[1:-1, 1:-1] > 0


def sign(chance: np.random.Generator) -> Image.Image:
    """One to four straight strokes, bends and bowls between the points of a coarse grid: the writing of nobody."""
    return _sign(chance, _pen(chance), chance.normal(0, 0.12))


def upright(chance: np.random.Generator) -> Image.Image:
    """A sign as if printed: it does not lean, most of its strokes end straight, and direction gives their width."""
    return _sign(chance, _nib(chance), 0.0)


def _sign(chance: np.random.Generator, pen: Points, lean: float) -> Image.Image:
    columns, rows = np.linspace(EDGE, SHEET - EDGE, 3), np.linspace(EDGE, SHEET - EDGE, 4)
    grid = np.array([(across, down) for across in columns for down in rows])
    narrow, sheet = chance.uniform(0.4, 1.0), _sheet()
    for kind in chance.choice(3, chance.integers(1, 5), p=(0.45, 0.2, 0.35)):
        first, second, third = grid[chance.choice(len(grid), 3, replace=False)]
        paths = (
            np.array([first, second]),
            _curve(np.array([first, 1.5 * second - 0.25 * (first + third), third])),
            _bowl(first, second, chance),
        )
        path = paths[kind]
        path[:, 0] = SHEET / 2 + narrow * (path[:, 0] - SHEET / 2) + lean * (path[:, 1] - SHEET / 2)
        _stroke(sheet, path, pen)
    if chance.random() < 0.1:
        _stroke(sheet, chance.uniform(EDGE, SHEET - EDGE, (1, 2)).repeat(2, 0), 1.3 * pen)
    return sheet


def scribble(chance: np.random.Generator) -> Image.Image:
    """One to four Bézier curves anywhere."""
    sheet, pen = _sheet(), _pen(chance)
    for _ in range(chance.integers(1, 5)):
        _stroke(sheet, _curve(chance.uniform(EDGE, SHEET - EDGE, (chance.integers(3, 6), 2))), pen)
    return sheet


def shape(chance: np.random.Generator) -> Image.Image:
    """One to three ellipses and polygons, filled or not."""
    sheet, pen = _sheet(), _pen(chance)
    for _ in range(chance.integers(1, 4)):
        corners = 40 if chance.random() < 0.3 else int(chance.integers(3, 8))
        turns = chance.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(corners + 1) / corners
        radii = chance.uniform(25, 90, 2)
        star = np.where(np.arange(corners + 1) % 2, chance.choice((0.5, 1.0)), 1.0) if corners % 2 == 0 else 1.0
        middle = chance.uniform(110, 170, 2)
        path = middle + (star * np.stack([np.cos(turns), np.sin(turns)]) * radii[:, None]).T
        if chance.random() < 0.35:
            ImageDraw.Draw(sheet).polygon([tuple(point) for point in path], fill=0)
        _stroke(sheet, path, pen)
    return sheet


def collage(chance: np.random.Generator, own: np.ndarray) -> np.ndarray:
    """Parts of two pictures: halves, one over the other, or the four quarters of one in another order."""
    first, second = own[chance.choice(len(own), 2, replace=len(own) < 2)]
    height, width = (side // 2 for side in first.shape[1:])
    made = first.copy()
    how = chance.integers(4)
    if how == 0:
        made[:, height:] = second[:, height:]
    elif how == 1:
        made[:, :, width:] = second[:, :, width:]
    elif how == 2:
        made = np.maximum(first, second)
    else:
        corners = [(0, 0), (0, width), (height, 0), (height, width)]
        for (down, across), (top, left) in zip(corners, chance.permutation(corners), strict=True):
            part = first[:, top : top + height, left : left + width]
            made[:, down : down + height, across : across + width] = part
    return made


def texture(chance: np.random.Generator, own: np.ndarray) -> np.ndarray:
    """Waves, a slope, squares, cells or spots that fill the picture."""
    channels, height, width = own.shape[1:]
    down, across = np.mgrid[:height, :width] * 28 / max(height, width)
    turn = chance.uniform(0, 2 * np.pi)
    along = np.cos(turn) * across + np.sin(turn) * down
    points = chance.uniform(0, 28, (chance.integers(2, 12), 2))
    far = np.hypot(across[..., None] - points[:, 0], down[..., None] - points[:, 1])
    side = chance.uniform(2, 8)
    levels = (
        lambda: 0.5 + 0.5 * np.sin(chance.uniform(0.2, 1.6) * along + turn),
        lambda: (along - along.min()) / np.ptp(along),
        lambda: (across // side + down // side) % 2,
        lambda: chance.uniform(0, 1, len(points))[far.argmin(-1)],
        lambda: np.clip(1 - far.min(-1) / chance.uniform(4, 14), 0, 1),
    )[chance.integers(5)]()
    low, high = np.sort(chance.uniform(0, 1, (channels, 2)), 1).T[..., None, None]
    return (255 * (low + (high - low) * levels)).astype(np.uint8)


def _sheet() -> Image.Image:
    return Image.new("L", (SHEET, SHEET), 255)


def _pen(chance: np.random.Generator) -> Points:
    """The corners of a pen: round, or broad and thin as a quill is, so that strokes swell with their direction."""
    size, thin, turn = chance.uniform(5, 16), chance.choice((1.0, 1.0, 0.4)), chance.uniform(0, np.pi)
    turns = 2 * np.pi * np.arange(12) / 12
    round_pen = size * np.stack([np.cos(turns), thin * np.sin(turns)])
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return (turned @ round_pen).T


def _nib(chance: np.random.Generator) -> Points:
    """The corners of a pen that is not turned: mostly a rectangle, else round or an ellipse."""
    size, thin, turns = chance.uniform(5, 13), chance.choice((1.0, 1.0, 0.6, 0.35)), 2 * np.pi * np.arange(12) / 12
    square = 0.85 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    corners = square if chance.random() < 0.7 else np.stack([np.cos(turns), np.sin(turns)], 1)
    return size * corners * np.array([1, thin])


def _curve(points: Points) -> Points:
    """Bézier's curve of these points."""
    steps, degree = np.linspace(0, 1, 24)[:, None], len(points) - 1
    parts = [comb(degree, k) * (1 - steps) ** (degree - k) * steps**k * points[k] for k in range(degree + 1)]
    return np.sum(parts, 0)


def _bowl(first: Points, second: Points, chance: np.random.Generator) -> Points:
    """A part of the ellipse in the box of two points, a third of it at least."""
    radii = np.maximum(np.abs(first - second) / 2, SHEET / 8)
    turns = chance.uniform(0, 2 * np.pi) + np.linspace(0, chance.uniform(0.33, 1.0) * 2 * np.pi, 24)
    return (first + second) / 2 + radii * np.stack([np.cos(turns), np.sin(turns)], 1)


def _stroke(sheet: Image.Image, path: Points, pen: Points) -> None:
    """Draw a pen along a path: the hull of the pen at both ends of each piece."""
    draw = ImageDraw.Draw(sheet)
    for start, end in pairwise(path):
        ahead = (pen - pen.mean(0)) @ np.array([-(end - start)[1], (end - start)[0]])
        left, right = pen[ahead.argmax()], pen[ahead.argmin()]
        for at in (start, end):
            draw.polygon([tuple(point) for point in at + pen], fill=0)
        draw.polygon([tuple(point) for point in (start + left, end + left, end + right, start + right)], fill=0)
