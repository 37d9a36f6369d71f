"""Pictures as they are held: whole sets of uint8 tensors, turned into float batches only when asked."""

import hashlib
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float32, Int64, UInt8
from torch import Tensor

from stawm.errors import DataError
from stawm.model.heads.head import Batch


@dataclass(frozen=True)
class ImageSet:
    """One split of a data set: uint8 pictures (in memory or memory-mapped), their labels if any, and a checksum."""

    name: str
    images: UInt8[Tensor, "count channel height width"]
    labels: Int64[Tensor, "count *cell"] | None
    """The class of each; of scenes, that of what is in each cell (-1: nothing)."""
    classes: tuple[str, ...]
    checksum: str
    masks: Bool[Tensor, "count height width"] | None = None
    """Where the foreground of each truly is, if that is known: to measure by, never to learn from."""

    def __post_init__(self) -> None:
        """Refuse pictures that are not uint8, and labels that are not one class for each, with a `DataError`."""
        images = self.images
        if not isinstance(images, Tensor) or images.dtype != torch.uint8 or images.dim() != 4:
            kind = f"{images.dtype} {list(images.shape)}" if isinstance(images, Tensor) else type(images).__name__
            raise DataError(
                f"{self.name} has pictures of {kind}; give uint8 [count, channel, height, width] from 0 to 255, as "
                "(255 * images).round().to(torch.uint8) makes it of floats in [0, 1]"
            )
        check_labels(self.name, self.labels, len(images))
        if self.masks is not None and self.masks.shape != (len(images), *images.shape[2:]):
            raise DataError(
                f"{self.name} has masks of shape {list(self.masks.shape)}; give one for each picture, of its size: "
                f"{[len(images), *images.shape[2:]]}"
            )

    def __len__(self) -> int:
        """The number of pictures."""
        return self.images.shape[0]

    def renewed(self, chance: torch.Generator) -> "ImageSet":
        """What another epoch learns from: the same pictures, unless they are of a kind that is made anew."""
        return self

    def turned(self, degrees: float, chance: torch.Generator) -> "ImageSet":
        """The set with the digits that it is made of turned; a set that is not made of digits is a `DataError`."""
        raise DataError(f"{self.name} is not made anew of digits that could be turned; leave data.turn at 0")

    def split(self, count: int) -> "tuple[ImageSet, ImageSet]":
        """All but the last `count` pictures, and those."""
        kept = len(self) - count
        return part_of(self, slice(kept)), part_of(self, slice(kept, None))


@dataclass(frozen=True)
class FeatureSet:
    """What a frozen model made of an image set, once and for all; the checksum is that of the pictures."""

    name: str
    features: Float32[Tensor, "count features"]
    labels: Int64[Tensor, " count"] | None
    classes: tuple[str, ...]
    checksum: str

    def __len__(self) -> int:
        """The number of pictures."""
        return self.features.shape[0]


@dataclass(frozen=True)
class Splits:
    """The pictures to learn from and the pictures held out."""

    train: ImageSet
    test: ImageSet


def check_labels(name: str, labels: Tensor | None, count: int) -> None:
    """Refuse labels that are not one whole number from 0 up for each of `count` pictures.

    Those of scenes are one for each cell, from -1 up.
    """
    if labels is None:
        return
    if isinstance(labels, Tensor) and labels.dtype == torch.int64 and labels.dim() == 2 and len(labels) == count:
        if labels.numel() and (lowest := int(labels.min())) < -1:
            raise DataError(f"{name} has the label {lowest}; labels of cells are places in the list of classes, or -1")
        return
    if not isinstance(labels, Tensor) or labels.dtype != torch.int64 or tuple(labels.shape) != (count,):
        kind = f"{labels.dtype} {list(labels.shape)}" if isinstance(labels, Tensor) else type(labels).__name__
        raise DataError(f"{name} has labels of {kind}; give int64 [{count}], one for each of its {count} pictures")
    if count and (lowest := int(labels.min())) < 0:
        raise DataError(f"{name} has the label {lowest}; labels are places in the list of classes, from 0 up")


def pixel_digest(images: UInt8[Tensor, "count channel height width"]) -> str:
    """The sha256 of the pixels alone, as hexadecimal digits."""
    return hashlib.sha256(images.contiguous().numpy().data).hexdigest()


def image_set(
    name: str,
    images: UInt8[Tensor, "count channel height width"],
    labels: Int64[Tensor, "count *cell"] | None,
    classes: tuple[str, ...],
    pixels: str | None = None,
) -> ImageSet:
    """An image set with its checksum: the sha256 of shape, digest of the pixels (`pixels`, if known) and labels."""
    facts = (tuple(images.shape), pixels or pixel_digest(images), None if labels is None else labels.tolist())
    return ImageSet(name, images, labels, classes, hashlib.sha256(repr(facts).encode()).hexdigest())


def part_of(pictures: ImageSet, part: slice) -> ImageSet:
    """Some of the pictures; their checksum stays that of the whole set."""
    labels = None if pictures.labels is None else pictures.labels[part]
    masks = None if pictures.masks is None else pictures.masks[part]
    return replace(pictures, images=pictures.images[part], labels=labels, masks=masks)


def batch_of(
    pictures: ImageSet | FeatureSet,
    indices: Int64[Tensor, " batch"],
    device: torch.device | str | None = None,
    *,
    measured: bool = False,
) -> Batch:
    """The pictures at `indices` as float32 in [0, 1] with their labels, on `device`; uint8 is what travels there.

    Of a set of stored features it is these, as they are. A batch that is `measured`, and not learnt from, also has the
    true masks, where the set knows them.
    """
    labels = None if pictures.labels is None else pictures.labels[indices].to(device)
    if isinstance(pictures, FeatureSet):
        return Batch(pictures.features[indices].to(device), labels)
    masks = pictures.masks[indices].to(device) if measured and pictures.masks is not None else None
    return Batch(pictures.images[indices].to(device).float().div_(255), labels, masks)


def hold_out(data: Splits, count: int) -> tuple[ImageSet, ImageSet, str]:
    """The images to learn from, those to measure on, and the name of the latter split.

    The last `count` training images are kept for validation; with 0 it is the test set that is measured on.
    """
    if count == 0:
        return data.train, data.test, "test"
    if not 0 < count < len(data.train):
        raise DataError(f"data.hold_out={count} leaves nothing of {len(data.train)} images to learn from; lower it")
    return *data.train.split(count), "validation"
