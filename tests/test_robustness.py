"""Digits as people draw them are still recognised: `benchmarks/robustness.py` on some of them, with loose limits."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from stawm.data import ImageSet, load_data
from stawm.data.image_set import part_of
from stawm.look.looker import Looker
from stawm.store.weights import load_trained

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
robustness = import_module("robustness")

# None or one of 34 is usual here; thick strokes close the holes that tell digits apart.
LIMITS = {kind: 0.2 if kind == "thick" else 0.1 for kind in ("raw", *robustness.VARIANTS)}


@pytest.fixture(scope="module")
def looker() -> Looker:
    return Looker(load_trained("mnist-5k-sketchpad"), "mnist-5k-sketchpad")


@pytest.fixture(scope="module")
def digits() -> ImageSet:
    return part_of(load_data("mnist-5k").test, slice(None, None, 30))


@pytest.mark.parametrize("kind", LIMITS)
def test_digits_are_recognised_however_they_are_drawn(kind: str, looker: Looker, digits: ImageSet):
    assert robustness.error(kind, looker, digits) <= LIMITS[kind]


def test_the_variants_are_what_they_are_called(digits: ImageSet):
    chance = np.random.default_rng(0)
    digit = digits.images[0, 0].numpy()
    made = {kind: robustness.VARIANTS[kind](digit, chance) for kind in robustness.VARIANTS}
    ink = {kind: float(strokes.sum()) for kind, strokes in made.items()}
    assert ink["hairline"] < ink["thin"] < ink["clean"] < ink["thick"]
    assert ink["small"] < ink["clean"] < ink["large"]
    assert all(strokes.shape == (280, 280) for strokes in made.values())
