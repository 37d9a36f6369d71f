"""One digit somewhere in a larger picture, among pieces of others: mnist-translated:SIDE and mnist-cluttered:SIDE.

    mnist-translated:SIDE[:DIGITS]                 as mnist-translated:60
    mnist-cluttered:SIDE[:DISTRACTORS][:DIGITS]    as mnist-cluttered:60, mnist-cluttered:200:16:mnist-5k

The recipe is that of Mnih et al. (2014), as their program has it (deepmind/mnist-cluttered): on black, DISTRACTORS
squares of 8 × 8 pixels are cut anywhere from digits drawn at random and added anywhere; then the digit of 28 × 28 is
added anywhere; what is brighter than white is white. Squares may lie over the digit and over each other. 60 × 60 has 4
distractors and 100 × 100 has 8, as published; other sides must say how many. DIGITS is mnist, or mnist-5k, which comes
with the package.

Every digit is in one picture. Pictures to learn from are made anew in every epoch, of the digits to learn from alone;
those held out are made once, and their digits and distractors are held-out digits.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Int64, UInt8
from torch import Generator, Tensor

from stawm.data.data_set import DATA_SETS, DataSet, Facts
from stawm.data.image_set import ImageSet, Splits, image_set
from stawm.data.pictures import Shape
from stawm.data.prepare.page import page
from stawm.data.sets.mnist import DIGITS, MNIST, MNIST_5K
from stawm.errors import DataError, UsageError
from stawm.vision.glimpse import cut

TRANSLATED, CLUTTERED = "mnist-translated", "mnist-cluttered"
DIGIT, PIECE = 28, 8
"""Pixels of a digit's side, and of a distractor's."""
PUBLISHED = {60: 4, 100: 8}
"""Distractors by the side of the picture."""
SMALLEST, LARGEST, MOST = 32, 1024, 999
AT_ONCE = 2_000
GRAMMAR = re.compile(r"(\d{2,4})(?::(\d{1,3}))?(?::(mnist|mnist-5k))?", re.ASCII)


@dataclass(frozen=True)
class ClutteredSet(ImageSet):
    """Pictures with one digit each, and what they are made of."""

    digits: ImageSet = field(kw_only=True)
    distractors: int = field(kw_only=True)
    corners: Int64[Tensor, "count 2"] = field(kw_only=True)
    """Row and column of the first pixel of each digit's 28 × 28."""

    def renewed(self, chance: Generator) -> ImageSet:
        """The same digits elsewhere, among other distractors."""
        images, corners = made(self.digits, self.images.shape[-1], self.distractors, chance)
        return replace(self, images=images, corners=corners)

    def turned(self, degrees: float, chance: Generator) -> ImageSet:
        """The set with each of its digits turned about its middle by its own angle of at most so many degrees."""
        angles = torch.deg2rad(degrees * (2 * torch.rand(len(self.digits), generator=chance) - 1))
        rows = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], 1).unflatten(1, (2, 2))
        poses = F.pad(rows, (0, 1))
        images = torch.empty_like(self.digits.images)
        for part in torch.arange(len(images)).split(AT_ONCE):
            seen = cut(self.digits.images[part].float(), poses[part], DIGIT, DIGIT)
            images[part[0] : part[-1] + 1] = seen.round_().to(torch.uint8)
        return replace(self, digits=replace(self.digits, images=images))

    def split(self, count: int) -> tuple[ImageSet, ImageSet]:
        """Pictures of all but the last `count` digits, and of those, so that no digit is in both."""
        first, last = self.digits.split(count)
        side = self.images.shape[-1]
        return cluttered(self.name, first, side, self.distractors), cluttered(self.name, last, side, self.distractors)


@dataclass(frozen=True, kw_only=True)
class Cluttered(DataSet):
    """The record of all such pictures, or of those of one side."""

    side: int = 0
    distractors: int = 0
    digits: DataSet = MNIST

    def of(self, argument: str) -> DataSet:
        """The record of NAME:SIDE[:DISTRACTORS][:DIGITS]."""
        name, found = self.name.partition(":")[0], GRAMMAR.fullmatch(argument)
        if not found or not SMALLEST <= int(found[1]) <= LARGEST or (name == TRANSLATED and found[2]):
            raise UsageError(
                f"{name}:{argument} names no pictures; write {self.name}, with a side from {SMALLEST} to {LARGEST}, as "
                f"{name}:60 or {name}:60:mnist-5k"
            )
        side = int(found[1])
        if name == CLUTTERED and not found[2] and side not in PUBLISHED:
            raise UsageError(
                f"{name}:{argument} does not say how many distractors; give the number, as {name}:{side}:8 (only "
                f"{' and '.join(map(str, PUBLISHED))} have published ones)"
            )
        distractors = int(found[2]) if found[2] else PUBLISHED.get(side, 0) if name == CLUTTERED else 0
        digits = MNIST_5K if found[3] == MNIST_5K.name else MNIST
        own = {"side": side, "shape": (1, side, side), "distractors": distractors, "digits": digits}
        sizes = {"train": digits.train, "test": digits.test, "terms": digits.terms}
        return replace(self, name=f"{name}:{argument}", **own, **sizes)

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """Pictures to learn from and pictures held out, of different digits."""
        self._check_side()
        known = self.digits.load(data_dir)
        parts = (cluttered(self.name, part, self.side, self.distractors) for part in (known.train, known.test))
        return Splits(*parts)

    def find(self, data_dir: Path | None = None) -> Path | None:
        """Where its digits lie."""
        return self.digits.find(data_dir)

    def facts(self, data_dir: Path | None = None) -> Facts:
        """Shape and classes."""
        self._check_side()
        return super().facts(data_dir)

    def _check_side(self) -> None:
        if not self.side:
            name = self.name.partition(":")[0]
            raise UsageError(f"{name} has no side; write {self.name}, as {name}:60")


def cluttered(name: str, digits: ImageSet, side: int, distractors: int) -> ClutteredSet:
    """One picture of each of these digits, always the same."""
    images, corners = made(digits, side, distractors, torch.Generator().manual_seed(0))
    plain = image_set(name, images, digits.labels, digits.classes)
    return ClutteredSet(**vars(plain), digits=digits, distractors=distractors, corners=corners)


def made(
    digits: ImageSet, side: int, distractors: int, chance: Generator
) -> tuple[UInt8[Tensor, "count 1 side side"], Int64[Tensor, "count 2"]]:
    """A picture of each digit, by chance, and where the digit lies in it (row and column of its first pixel)."""
    if tuple(digits.images.shape[1:]) != (1, DIGIT, DIGIT):
        raise DataError(f"{digits.name} has pictures of {list(digits.images.shape[1:])}; give [1, {DIGIT}, {DIGIT}]")
    count = len(digits)
    pictures = torch.empty(count, 1, side, side, dtype=torch.uint8)
    corners = torch.randint(side - DIGIT + 1, (count, 2), generator=chance)
    for part in torch.arange(count).split(AT_ONCE):
        levels = torch.zeros(len(part), side * side, dtype=torch.int16)
        if distractors:
            pieces = _pieces(digits, (len(part), distractors), chance)
            places = torch.randint(side - PIECE + 1, (len(part), distractors, 2), generator=chance)
            _add(levels, pieces, places, side)
        _add(levels, digits.images[part], corners[part, None], side)
        pictures[part[0] : part[-1] + 1] = levels.clamp_(max=255).to(torch.uint8).unflatten(1, (1, side, side))
    return pictures, corners


def _pieces(digits: ImageSet, shape: tuple[int, int], chance: Generator) -> UInt8[Tensor, "count pieces 8 8"]:
    """Squares cut from anywhere of digits drawn at random."""
    chosen = torch.randint(len(digits), shape, generator=chance)
    top, left = torch.randint(DIGIT - PIECE + 1, (2, *shape), generator=chance)
    line = torch.arange(PIECE)
    rows, columns = top[..., None] + line, left[..., None] + line
    return digits.images[:, 0][chosen[..., None, None], rows[..., None], columns[..., None, :]]


def _add(
    levels: Tensor, pieces: UInt8[Tensor, "count pieces size size"], places: Int64[Tensor, "count pieces 2"], side: int
) -> None:
    """Add each piece to its picture, `levels` [count, side²], with its first pixel at its place."""
    line = torch.arange(pieces.shape[-1])
    inside = (line[:, None] * side + line).flatten()
    first = places[..., 0] * side + places[..., 1]
    levels.scatter_add_(1, (first.unsqueeze(-1) + inside).flatten(1), pieces.flatten(1).to(levels.dtype))


TRANSLATED_DIGITS = DATA_SETS.add(
    TRANSLATED,
    Cluttered(
        name=f"{TRANSLATED}:SIDE[:DIGITS]",
        about="one digit anywhere in a larger picture, grey",
        classes=DIGITS,
        source="made of digits, those of mnist or mnist-5k",
        preparer=page,
        preparation="all of the picture, light on dark, in the middle of a square, not cropped to the digit; a single "
        "thing that is larger than 28 pixels of it is made 20 pixels large",
        terms=MNIST.terms,
    ),
)
CLUTTERED_DIGITS = DATA_SETS.add(
    CLUTTERED,
    replace(
        TRANSLATED_DIGITS,
        name=f"{CLUTTERED}:SIDE[:DISTRACTORS][:DIGITS]",
        about="one digit anywhere in a larger picture, among pieces of others, grey",
    ),
)
