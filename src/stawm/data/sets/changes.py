"""Changes: two scenes, one above the other, the same or with one digit replaced. changes:GRID:ITEMS[:DIGITS].

The digits of the second scene are those of the first, pixel by pixel and in the same cells; in every other pair, by
chance, exactly one is replaced by a digit of another class. In a grid with a margin (2x2+4) each digit lies anywhere in
its cell, anew in each scene, so that a difference of pixels tells nothing. Labels are what is in the cells of the first
scene, then of the second. GRID, ITEMS and DIGITS are those of scenes, without digits anywhere.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int64, UInt8
from torch import Generator, Tensor

from stawm.data.data_set import DATA_SETS, DataSet
from stawm.data.image_set import ImageSet
from stawm.data.sets.mnist import DIGITS, MNIST_5K
from stawm.data.sets.scenes import AT_ONCE, EPOCH, HELD_OUT, Layout, Scenes, SceneSet, painted
from stawm.errors import DataError, UsageError

NAME = "changes"


def pairs(
    digits: ImageSet, layout: Layout, items: tuple[int, int], count: int, chance: Generator
) -> tuple[UInt8[Tensor, "count 1 height width"], Int64[Tensor, "count cell"]]:
    """`count` pairs of scenes of so many digits, drawn by chance, and what is in the cells of both (-1: nothing)."""
    if digits.labels is None or len(digits.labels.unique()) < 2:
        raise DataError(
            f"{digits.name} has not two classes, and a changed digit is of another; give digits with labels"
        )
    images, labels = [], []
    for part in torch.arange(count).split(AT_ONCE):
        first = torch.randint(len(digits), (len(part), items[1]), generator=chance)
        corners, cells = layout.placed(len(part), items[1], chance)
        number = torch.randint(items[0], items[1] + 1, (len(part),), generator=chance)
        second = _changed(first, number, digits.labels, chance)
        there = number[:, None] > torch.arange(items[1])
        frames = ((first, corners), (second, layout.within(cells, chance)))
        ink = [digits.images[chosen] * there[..., None, None, None] for chosen, _ in frames]
        images.append(torch.cat([painted(own, at, layout) for own, (_, at) in zip(ink, frames, strict=True)], 2))
        empty = torch.full((len(part), layout.cells), -1)
        known = [torch.where(there, digits.labels[chosen], -1) for chosen, _ in frames]
        labels.append(torch.cat([empty.scatter(1, cells, own) for own in known], 1))
    return torch.cat(images), torch.cat(labels)


def _changed(first: Tensor, number: Tensor, labels: Tensor, chance: Generator) -> Int64[Tensor, "count items"]:
    """The digits of the second scenes: in half of them one of the `number` that are there is of another class."""
    second, rows = first.clone(), torch.arange(len(first))
    place = (torch.rand(len(first), generator=chance) * number).long()
    left = rows[(torch.rand(len(first), generator=chance) < 0.5) & (number > 0)]
    while len(left):
        second[left, place[left]] = torch.randint(len(labels), (len(left),), generator=chance)
        left = left[labels[second[left, place[left]]] == labels[first[left, place[left]]]]
    return second


@dataclass(frozen=True)
class ChangeSet(SceneSet):
    """Pairs of scenes, and what they are made of."""

    make = staticmethod(pairs)


@dataclass(frozen=True, kw_only=True)
class Changes(Scenes):
    """The record of all pairs of scenes, or of those of one layout."""

    made_of = ChangeSet
    examples = "as changes:2x2+4:4"

    def of(self, argument: str) -> DataSet:
        """The record of changes:GRID:ITEMS[:DIGITS]."""
        known = super().of(argument)
        assert isinstance(known, Changes) and known.layout is not None
        if known.layout.free:
            raise UsageError(f"{known.name} has no grid; give rows and columns, {self.examples}")
        return replace(known, shape=(1, 2 * known.layout.height, known.layout.width))


CHANGES = DATA_SETS.add(
    NAME,
    Changes(
        name=f"{NAME}:GRID:ITEMS",
        about="two scenes of digits, the same or with one digit replaced",
        classes=DIGITS,
        train=EPOCH,
        test=HELD_OUT,
        source="made of digits, those of mnist-5k or mnist",
        preparation="two pictures, one above the other, each light on dark in the proportions of the grid",
        terms=MNIST_5K.terms,
    ),
)
