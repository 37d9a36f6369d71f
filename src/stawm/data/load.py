"""Data sets by name, loaded as training and held-out pictures."""

import difflib
from pathlib import Path

import numpy as np
import torch

from stawm.data import celeba
from stawm.data.catalogue import DIGITS, PUBLISHED, PublishedSet
from stawm.data.fetch import fetch
from stawm.data.folder import folder_set
from stawm.data.formats import parse_cifar, parse_idx
from stawm.data.image_set import ImageSet, Splits, image_set
from stawm.data.places import Place, contents, find
from stawm.errors import DataError, UsageError

EMBEDDED = "mnist-5k"
EMBEDDED_FILE = Path(__file__).parent / "embedded" / "mnist_5k.npz"
EMBEDDED_TRAIN = 4_000
EMBEDDED_SHAPE = (1, 28, 28)
FOLDER = "folder:"
NAMES = (EMBEDDED, *PUBLISHED, celeba.NAME, f"{FOLDER}PATH")


def load_data(name: str, *, data_dir: Path | None = None, image: tuple[int, int, int] | None = None) -> Splits:
    """The training and held-out pictures of a data set, as uint8.

    `data_dir` is a folder of the user's that wins over every other source. `image` is the (channels, height, width)
    that the caller wants: folder:PATH and celeba are brought to it, the others must have it.
    """
    if image is not None and image[0] not in (1, 3):
        raise DataError(f"pictures of {times(image)} were asked for, but they have 1 channel (grey) or 3 (colour)")
    shape = EMBEDDED_SHAPE if name == EMBEDDED else PUBLISHED[name].shape if name in PUBLISHED else image
    if image is not None and shape != tuple(image):
        raise DataError(f"{name} has pictures of {times(shape)}, but {times(image)} was asked for: change one of them")
    if name == EMBEDDED:
        return embedded_digits()
    if name in PUBLISHED:
        return published_set(PUBLISHED[name], data_dir)
    if name == celeba.NAME:
        return celeba.celeba_set(celeba_root(data_dir), image)
    if name.startswith(FOLDER):
        return folder_set(name, folder_root(name), image)
    raise unknown(name)


def times(shape: tuple[int, ...] | None) -> str:
    """A shape as people write it."""
    return "×".join(map(str, shape or ()))


def folder_root(name: str) -> Path:
    """The folder that folder:PATH names."""
    path = name.removeprefix(FOLDER)
    if not path:
        raise UsageError("folder: has no path after it; write folder:PATH with the path of a folder of pictures")
    return Path(path).expanduser()


def celeba_root(data_dir: Path | None) -> Path:
    """Where the user's copy of CelebA lies."""
    root = celeba.find_celeba(data_dir)
    if root is None:
        raise celeba.not_here()
    return root


def unknown(name: str) -> UsageError:
    """The error for a name that is no data set, with the closest that is."""
    close = difflib.get_close_matches(name, NAMES, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return UsageError(f"there is no data set {name!r}: {hint}known are {', '.join(NAMES)}")


def embedded_digits() -> Splits:
    """The 5,000 embedded digits: 4,000 to learn from (400 a class), 1,000 held out (100 a class)."""
    with np.load(EMBEDDED_FILE, allow_pickle=False) as kept:
        images, labels = torch.from_numpy(kept["images"]), torch.from_numpy(kept["labels"]).long()
    train, test = slice(None, EMBEDDED_TRAIN), slice(EMBEDDED_TRAIN, None)
    return Splits(
        image_set(EMBEDDED, images[train], labels[train], DIGITS),
        image_set(EMBEDDED, images[test], labels[test], DIGITS),
    )


def published_place(published: PublishedSet, data_dir: Path | None) -> Place:
    """Where the files of a published set lie: the user's folder, or the cache folder, fetched to it if need be."""
    return find(published, data_dir) or fetch(published)


def published_set(published: PublishedSet, data_dir: Path | None) -> Splits:
    """A published set from the user's folder, the cache folder, or fetched now."""
    unpacked = contents(published, published_place(published, data_dir))
    if published.layout == "cifar":
        train = [name for name in published.files if name.startswith("data_batch")]
        return Splits(_cifar(published, unpacked, train), _cifar(published, unpacked, ["test_batch.bin"]))
    return Splits(_idx(published, unpacked, "train"), _idx(published, unpacked, "t10k"))


def _idx(published: PublishedSet, unpacked: dict[str, bytes], split: str) -> ImageSet:
    names = f"{split}-images-idx3-ubyte", f"{split}-labels-idx1-ubyte"
    images, labels = (torch.from_numpy(parse_idx(unpacked[name], name)) for name in names)
    return image_set(published.name, images[:, None], labels.long(), published.classes)


def _cifar(published: PublishedSet, unpacked: dict[str, bytes], names: list[str]) -> ImageSet:
    batches = [parse_cifar(unpacked[name], name) for name in names]
    images, labels = (torch.from_numpy(np.concatenate(part)) for part in zip(*batches, strict=True))
    return image_set(published.name, images, labels.long(), published.classes)
