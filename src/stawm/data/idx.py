"""Sets in the idx format of MNIST: four files of unsigned bytes."""

import math

import numpy as np

from stawm.data.published import Download, Files
from stawm.errors import DataError

UBYTE = 0x08
IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def idx_files(*md5: str) -> dict[str, str]:
    """The four files with their md5."""
    return dict(zip(IDX_FILES, md5, strict=True))


def gzipped(*md5: str) -> tuple[Download, ...]:
    """The four files as they are published, with the md5 of each."""
    return tuple(Download(f"{name}.gz", known) for name, known in idx_files(*md5).items())


def idx_arrays(files: Files) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
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
