"""Scenes: several digits in one picture, for questions that are asked after looking. scenes:GRID:ITEMS[:DIGITS].

GRID is ROWSxCOLUMNS of cells of 14 pixels, each with at most one digit (2x2); or cells that are larger by so many
pixels, with the digit anywhere in its cell (2x2+4); or a square picture with digits anywhere, none over another (56px).
ITEMS is how many digits a scene has, or from how many up to how many (1-4).
DIGITS is mnist-5k, which comes with the package, or mnist. Digits are MNIST's at half their size. Scenes to learn from
are made anew in every epoch from the digits to learn from; those held out are made once, of held-out digits.
"""

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import torch
from jaxtyping import Int64, UInt8
from torch import Generator, Tensor

from stawm.data.data_set import DATA_SETS, DataSet, Facts
from stawm.data.image_set import ImageSet, Splits, image_set
from stawm.data.pictures import Shape
from stawm.data.prepare.scene import SIDE, half, scene
from stawm.data.sets.mnist import DIGITS, MNIST, MNIST_5K
from stawm.errors import DataError, UsageError

NAME = "scenes"
EPOCH, HELD_OUT = 10_000, 4_000
"""Scenes in an epoch, and scenes held out."""
AT_ONCE = 2_000
TRIES = 10_000
GRAMMAR = re.compile(
    r"(?:(\d{1,2})x(\d{1,2})(?:\+(\d{1,2}))?|(\d{2,3})px):(?:(\d{1,3})-)?(\d{1,3})(?::(mnist|mnist-5k))?", re.ASCII
)


@dataclass(frozen=True)
class Layout:
    """Where digits may lie: `rows` × `columns` cells of so many pixels; `free` of the cells if they only name places.

    Two digits that do not cover each other never have their middle in the same cell, for a free cell is no larger than
    a digit.
    """

    rows: int
    columns: int
    height: int
    width: int
    free: bool = False

    @property
    def cells(self) -> int:
        """Places that can be asked about."""
        return self.rows * self.columns

    @property
    def most(self) -> int:
        """Digits that find room; anywhere, as many as are found by chance in reasonable time."""
        return self.height * self.width // (4 * SIDE * SIDE) if self.free else self.cells

    def placed(self, count: int, items: int, chance: Generator) -> tuple[Int64[Tensor, "count items 2"], Tensor]:
        """Top and left of each digit of `count` scenes, and the cell of each, all distinct."""
        if self.free:
            corners = _apart(count, items, (self.height, self.width), chance)
            middle = corners + SIDE / 2
            cell = (middle * torch.tensor([self.rows / self.height, self.columns / self.width])).long()
            return corners, cell[..., 0] * self.columns + cell[..., 1]
        cells = torch.rand(count, self.cells, generator=chance).argsort(1)[:, :items]
        return self.within(cells, chance), cells

    def within(self, cells: Int64[Tensor, "count items"], chance: Generator) -> Int64[Tensor, "count items 2"]:
        """Top and left of digits that lie anywhere in these cells of a grid."""
        side = torch.tensor([self.height // self.rows, self.width // self.columns])
        shift = torch.stack([torch.randint(int(s) - SIDE + 1, cells.shape, generator=chance) for s in side], -1)
        return torch.stack([cells // self.columns, cells % self.columns], -1) * side + shift


def made(
    digits: ImageSet, layout: Layout, items: tuple[int, int], count: int, chance: Generator
) -> tuple[UInt8[Tensor, "count 1 height width"], Int64[Tensor, "count cell"]]:
    """`count` scenes of so many digits, drawn by chance, and what is in each of their cells (-1: nothing)."""
    if digits.labels is None:
        raise DataError(f"{digits.name} has no labels, and scenes need to know their digits")
    pictures = torch.zeros(count, 1, layout.height, layout.width, dtype=torch.uint8)
    labels, (fewest, most) = torch.full((count, layout.cells), -1), items
    for part in torch.arange(count).split(AT_ONCE):
        chosen = torch.randint(len(digits), (len(part), most), generator=chance)
        corners, cells = layout.placed(len(part), most, chance)
        there = torch.randint(fewest, most + 1, (len(part), 1), generator=chance) > torch.arange(most)
        ink = digits.images[chosen] * there[..., None, None, None]
        pictures[part[0] : part[-1] + 1] = painted(ink, corners, layout)
        labels[part[0] : part[-1] + 1].scatter_(1, cells, torch.where(there, digits.labels[chosen], -1))
    return pictures, labels


def painted(
    ink: UInt8[Tensor, "count items 1 side side"], corners: Int64[Tensor, "count items 2"], layout: Layout
) -> UInt8[Tensor, "count 1 height width"]:
    """Pictures with these digits, each with its top and left where it is told."""
    pixels = torch.arange(SIDE)
    inside = (pixels[:, None] * layout.width + pixels).flatten()
    first = corners[..., 0] * layout.width + corners[..., 1]
    pictures = torch.zeros(len(ink), layout.height * layout.width, dtype=torch.uint8)
    pictures.scatter_(1, (first.unsqueeze(-1) + inside).flatten(1), ink.flatten(1))
    return pictures.unflatten(1, (1, layout.height, layout.width))


@dataclass(frozen=True)
class SceneSet(ImageSet):
    """Scenes, and what they are made of."""

    digits: ImageSet = field(kw_only=True)
    layout: Layout = field(kw_only=True)
    items: tuple[int, int] = field(kw_only=True)
    """The fewest and the most digits of a scene."""

    make = staticmethod(made)

    @classmethod
    def of(cls, name: str, digits: ImageSet, layout: Layout, items: tuple[int, int], count: int) -> "SceneSet":
        """So many scenes of these digits, always the same."""
        images, labels = cls.make(digits, layout, items, count, torch.Generator().manual_seed(0))
        plain = image_set(name, images, labels, digits.classes)
        return cls(**vars(plain), digits=digits, layout=layout, items=items)

    def renewed(self, chance: Generator) -> ImageSet:
        """As many other scenes of the same digits."""
        images, labels = self.make(self.digits, self.layout, self.items, len(self), chance)
        return replace(self, images=images, labels=labels)

    def split(self, count: int) -> tuple[ImageSet, ImageSet]:
        """Scenes of all but the last `count` digits, and some of those, so that no digit is in both."""
        if count >= len(self.digits):
            raise DataError(f"data.hold_out={count} leaves none of {len(self.digits)} digits to learn from; lower it")
        first, last = self.digits.split(count)
        return (
            self.of(self.name, first, self.layout, self.items, len(self)),
            self.of(self.name, last, self.layout, self.items, HELD_OUT),
        )


@dataclass(frozen=True, kw_only=True)
class Scenes(DataSet):
    """The record of all scenes, or of those of one layout."""

    layout: Layout | None = None
    items: tuple[int, int] = (0, 0)
    digits: DataSet = MNIST_5K

    made_of: ClassVar[type[SceneSet]] = SceneSet
    examples: ClassVar[str] = "as scenes:2x2:4, scenes:2x2+4:1-4, scenes:56px:4 or scenes:2x2:4:mnist"

    def of(self, argument: str) -> DataSet:
        """The record of scenes:GRID:ITEMS[:DIGITS]."""
        found, name = GRAMMAR.fullmatch(argument), self.name.partition(":")[0]
        if not found:
            raise UsageError(f"{name}:{argument} names no scenes; write {name}:GRID:ITEMS, {self.examples}")
        rows, columns, margin, side, fewest, most = (int(part or 0) for part in found.groups()[:6])
        fewest = most if found[5] is None else fewest
        if side:
            count = math.ceil(side / SIDE)
            layout = Layout(count, count, side, side, free=True)
        else:
            layout = Layout(rows, columns, rows * (SIDE + margin), columns * (SIDE + margin))
        if not (1 <= most <= layout.most and fewest <= most):
            raise UsageError(
                f"{name}:{argument} has {found[5] or most} digits or more; give from 1 up to {layout.most}"
            )
        digits = MNIST if found[7] == MNIST.name else MNIST_5K
        shape, items = (1, layout.height, layout.width), (fewest, most)
        own = {"shape": shape, "items": items, "layout": layout, "digits": digits, "terms": digits.terms}
        return replace(self, name=f"{name}:{argument}", **own)

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """Scenes to learn from and scenes held out, of different digits."""
        layout, known = self._laid_out(), self.digits.load(data_dir)
        parts = zip((known.train, known.test), (EPOCH, HELD_OUT), strict=True)
        return Splits(*(self.made_of.of(self.name, halved(part), layout, self.items, count) for part, count in parts))

    def find(self, data_dir: Path | None = None) -> Path | None:
        """Where its digits lie."""
        return self.digits.find(data_dir)

    def facts(self, data_dir: Path | None = None) -> Facts:
        """Shape, classes and cells."""
        layout = self._laid_out()
        return replace(super().facts(data_dir), cells=(layout.rows, layout.columns))

    def _laid_out(self) -> Layout:
        if self.layout is None:
            raise UsageError(f"{self.name.partition(':')[0]} has no layout; write {self.name}, {self.examples}")
        return self.layout


def halved(digits: ImageSet) -> ImageSet:
    """Digits of half the size: each pixel is the mean of four."""
    return replace(digits, images=half(digits.images))


def _apart(count: int, items: int, size: tuple[int, int], chance: Generator) -> Int64[Tensor, "count items 2"]:
    """Corners of digits none of which covers another; scenes in which one does are drawn again."""

    def drawn(number: int) -> Tensor:
        return torch.stack([torch.randint(side - SIDE + 1, (number, items), generator=chance) for side in size], -1)

    corners = drawn(count)
    for _ in range(TRIES):
        gaps = (corners[:, :, None] - corners[:, None]).abs().amax(-1)
        covered = ((gaps < SIDE).sum((1, 2)) > items).nonzero().flatten()
        if not len(covered):
            return corners
        corners[covered] = drawn(len(covered))
    raise DataError(f"{items} digits find no room in {size[0]} × {size[1]} pixels; give fewer, or a larger picture")


SCENES = DATA_SETS.add(
    NAME,
    Scenes(
        name=f"{NAME}:GRID:ITEMS",
        about="several digits in one picture, for questions after looking",
        classes=DIGITS,
        train=EPOCH,
        test=HELD_OUT,
        source="made of digits, those of mnist-5k or mnist",
        preparer=scene,
        preparation="light on dark, in the proportions of the grid, each digit about 10 of the 14 pixels of its cell",
        terms=MNIST_5K.terms,
    ),
)
