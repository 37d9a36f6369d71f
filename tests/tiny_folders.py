"""Folders of small pictures, and what a folder data set makes of them."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from stawm.data import Splits, load_data


def grey(path: Path, value: int, size: tuple[int, int] = (8, 8)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, value).save(path)


def classes(root: Path, counts: dict[str, int], under: str = ".") -> None:
    """Pictures whose grey value tells their class (from 40, from 80, …) and their number within it."""
    for label, (name, count) in enumerate(counts.items()):
        for number in range(count):
            grey(root / under / name / f"{number}.png", 40 * (label + 1) + number)


def load(root: Path, image: tuple[int, int, int] | None = (1, 8, 8)) -> Splits:
    return load_data(f"folder:{root}", image=image)


def only(root: Path, image: tuple[int, int, int]) -> np.ndarray:
    """The one distinct picture in a folder, whose twin was held out."""
    splits = load(root, image)
    assert torch.equal(splits.train.images[0], splits.test.images[0])
    return splits.train.images[0].numpy()


def twice(root: Path, picture: Image.Image, suffix: str = "png", **options: Any) -> None:
    root.mkdir(exist_ok=True)
    for name in "ab":
        picture.save(root / f"{name}.{suffix}", **options)
