"""Composites: a garment of Fashion-MNIST, coloured and textured, over a photograph of CIFAR-10; its true mask is known.

Pictures are 64 × 64. Those to learn from are made anew in every epoch, of the garments and photographs to learn from,
and nobody keeps their masks. Those held out are made once, of held-out garments and photographs, always the same; their
masks are for measuring. Numbers are computed in float64, so that rounding does not differ between machines.
"""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from torch import Generator, Tensor

from stawm.data.data_set import DATA_SETS, DataSet
from stawm.data.image_set import ImageSet, Splits, image_set
from stawm.data.pictures import Shape
from stawm.data.sets.cifar10 import CIFAR10
from stawm.data.sets.mnist import FASHION_MNIST
from stawm.errors import DataError
from stawm.vision.glimpse import paste

NAME = "composites"
SIDE = 64
EPOCH, HELD_OUT = 10_000, 2_000
"""Pictures in an epoch, and pictures held out."""
AT_ONCE = 100
FAINT = 12
"""Levels of a garment up to this are its background."""
SMALLEST, LARGEST = 32, 60
"""The side of the square that a garment is drawn in, in pixels; it lies wholly in the picture, but for its turn."""
TURN = math.radians(15)
DARKEST = 0.1
"""Of a colour's channels."""
SHADE = 0.4
"""What is left of a colour where the garment is black."""
PERIODS = (5, 16)
"""Of a texture, in pixels."""
KINDS = 4
"""Textures: plain, stripes, checks, dots."""
Pictures = UInt8[Tensor, "count 3 height width"]
Masks = Bool[Tensor, "count height width"]


@dataclass(frozen=True)
class CompositeSet(ImageSet):
    """Composites, and what they are made of."""

    garments: ImageSet = field(kw_only=True)
    photographs: ImageSet = field(kw_only=True)

    def renewed(self, chance: Generator) -> ImageSet:
        """As many others of the same garments and photographs, without masks."""
        images, labels, _ = made(self.garments, self.photographs, len(self), chance)
        return replace(self, images=images, labels=labels, masks=None)

    def split(self, count: int) -> tuple[ImageSet, ImageSet]:
        """Composites of all but the last `count` garments and photographs, and some of those, with masks."""
        fewest = min(len(self.garments), len(self.photographs))
        if count >= fewest:
            raise DataError(f"data.hold_out={count} leaves nothing of {fewest} photographs to learn from; lower it")
        (first, last), (under, over) = self.garments.split(count), self.photographs.split(count)
        return composites(first, under, len(self), known=False), composites(last, over, HELD_OUT, known=True)


@dataclass(frozen=True, kw_only=True)
class Composites(DataSet):
    """The record of composites."""

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """Composites to learn from and composites held out, of different garments and photographs."""
        garments, photographs = (DATA_SETS[known.name].load(data_dir) for known in (FASHION_MNIST, CIFAR10))
        return Splits(
            composites(garments.train, photographs.train, EPOCH, known=False),
            composites(garments.test, photographs.test, HELD_OUT, known=True),
        )

    def find(self, data_dir: Path | None = None) -> Path | None:
        """Where its garments lie, if they and its photographs are here."""
        found = [DATA_SETS[known.name].find(data_dir) for known in (FASHION_MNIST, CIFAR10)]
        return found[0] if all(found) else None


def composites(garments: ImageSet, photographs: ImageSet, count: int, *, known: bool) -> CompositeSet:
    """So many composites, always the same, with their masks if these shall be known."""
    images, labels, masks = made(garments, photographs, count, torch.Generator().manual_seed(0))
    plain = replace(image_set(NAME, images, labels, garments.classes), masks=masks if known else None)
    return CompositeSet(**vars(plain), garments=garments, photographs=photographs)


def made(
    garments: ImageSet, photographs: ImageSet, count: int, chance: Generator
) -> tuple[Pictures, Tensor | None, Masks]:
    """`count` composites drawn by chance, the class of each garment, and where it is."""
    images, labels, masks = [], [], []
    for part in torch.arange(count).split(AT_ONCE):
        worn = torch.randint(len(garments), (len(part),), generator=chance)
        behind = torch.randint(len(photographs), (len(part),), generator=chance)
        picture, mask = composed(garments.images[worn], photographs.images[behind], chance)
        images.append(picture)
        masks.append(mask)
        labels.append(worn if garments.labels is None else garments.labels[worn])
    return torch.cat(images), None if garments.labels is None else torch.cat(labels), torch.cat(masks)


def composed(
    garments: UInt8[Tensor, "count 1 side side"], photographs: UInt8[Tensor, "count 3 edge edge"], chance: Generator
) -> tuple[Pictures, Masks]:
    """Each garment over its photograph, and where it covers more than half of a pixel."""
    count = len(garments)
    both = torch.cat([garments.double() / 255, silhouettes(garments)], 1)
    grey, cover = paste(both, placed(count, chance), SIDE, SIDE).split(1, 1)
    colours = DARKEST + (1 - DARKEST) * _chance(chance, count, 2, 3, 1, 1)
    pattern = textures(count, chance)
    cloth = (SHADE + (1 - SHADE) * grey) * (colours[:, 0] * (1 - pattern) + colours[:, 1] * pattern)
    # In levels up to 255, of which an enlarged photograph has sixteenths: exact, so that halves are rounded alike.
    behind = F.interpolate(photographs.double(), (SIDE, SIDE), mode="bilinear", align_corners=False)
    return torch.lerp(behind, 255 * cloth, cover).round().to(torch.uint8), cover[:, 0] > 0.5


def silhouettes(garments: UInt8[Tensor, "count 1 side side"]) -> Float[Tensor, "count 1 side side"]:
    """1 where a garment is, 0 elsewhere; dark spots in it that are one pixel wide belong to it (a closing)."""
    grown = F.max_pool2d((garments > FAINT).float(), 3, stride=1, padding=1)
    return (1 - F.max_pool2d(1 - grown, 3, stride=1, padding=1)).double()


def placed(count: int, chance: Generator) -> Float[Tensor, "count 2 3"]:
    """The inverse poses by which garments are pasted: of any size, turned a little, mirrored or not, anywhere."""
    size = SMALLEST + (LARGEST - SMALLEST) * _chance(chance, count)
    angle = TURN * (2 * _chance(chance, count) - 1)
    mirror = 1 - 2 * (_chance(chance, count) < 0.5).double()
    down, across = (2 * _chance(chance, 2, count) - 1) * (1 - size / SIDE)
    scale, cosine, sine = SIDE / size, angle.cos(), angle.sin()
    first = torch.stack([cosine, sine, -(cosine * across + sine * down)], -1) * (scale * mirror)[:, None]
    second = torch.stack([-sine, cosine, sine * across - cosine * down], -1) * scale[:, None]
    return torch.stack([first, second], 1)


def textures(count: int, chance: Generator) -> Float[Tensor, "count 1 height width"]:
    """How much of a garment's second colour each pixel has, 0 or 1: none, stripes, checks or dots, of any direction."""
    kind = torch.randint(KINDS, (count,), generator=chance)
    period = PERIODS[0] + (PERIODS[1] - PERIODS[0]) * _chance(chance, count, 1, 1)
    angle, first, second = (math.tau * _chance(chance, 3, count, 1, 1)).unbind(0)
    places = torch.arange(SIDE, dtype=torch.float64)
    along = angle.cos() * places + angle.sin() * places[:, None]
    beside = angle.cos() * places[:, None] - angle.sin() * places
    one, other = (torch.sin(math.tau * way / period + at) for way, at in ((along, first), (beside, second)))
    kinds = torch.stack([torch.zeros_like(one), one > 0, (one > 0) ^ (other > 0), one * other > 0.25], 1)
    return kinds[torch.arange(count), kind][:, None].double()


def _chance(chance: Generator, *shape: int) -> Tensor:
    return torch.rand(shape, generator=chance, dtype=torch.float64)


COMPOSITES = DATA_SETS.add(
    NAME,
    Composites(
        name=NAME,
        about="garments over photographs, colour, with true masks of those held out",
        classes=FASHION_MNIST.classes,
        shape=(3, SIDE, SIDE),
        train=EPOCH,
        test=HELD_OUT,
        source="made of fashion-mnist and cifar10",
        terms=f"{FASHION_MNIST.terms} {CIFAR10.terms}",
    ),
)
