"""An upstroke on a 1, a bar through a 7: known lines on known digits, and nothing on any other."""

from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor

from stawm.data import load_data
from stawm.data.augment import augment
from stawm.data.strokes import check_digits, struck
from stawm.errors import UsageError
from stawm.experiments.experiment import DataConfig

STILL = DataConfig(rotate=0)


def generator(seed: int = 0) -> Generator:
    return torch.Generator().manual_seed(seed)


def stems(count: int, width: int = 3) -> Tensor:
    """Upright lines 20 pixels high, as the plainest 1s are."""
    images = torch.zeros(count, 1, 28, 28)
    images[:, :, 4:24, 13 : 13 + width] = 1
    return images


def test_only_ones_and_sevens_change_and_only_their_share() -> None:
    digits = load_data("mnist-5k").test
    assert digits.labels is not None
    images = digits.images.float() / 255
    changed = (struck(images, digits.labels, 0.5, generator()) != images).flatten(1).any(1)
    assert set(digits.labels[changed].tolist()) == {1, 7}
    for digit in (1, 7):
        assert 0.35 < float(changed[digits.labels == digit].float().mean()) < 0.65


def test_an_upstroke_goes_down_to_the_left_of_the_top_and_a_bar_crosses_the_stem() -> None:
    labels = torch.full((64,), 1)
    ones = struck(stems(64), labels, 1.0, generator())[:, 0]
    added = (ones.sum((1, 2)) - 60) / 3
    assert added.min() > 2, "a quarter of the stem at least, less what lies on it"
    top, bottom = ones[:, :14].sum(1), ones[:, 17:20].sum(1)
    middle = (bottom * torch.arange(28)).sum(1) / bottom.sum(1)
    left = (top * (torch.arange(28) < middle[:, None] - 1.5)).sum(1)
    right = (top * (torch.arange(28) > middle[:, None] + 2.5)).sum(1)
    assert bool((left > right).all())
    sevens = struck(stems(64), torch.full((64,), 7), 1.0, generator())[:, 0]
    widest = (sevens > 0.5).any(1).sum(1)
    assert int(widest.min()) >= 6 and int(widest.max()) <= 20


def test_the_mass_stays_in_the_middle() -> None:
    digits = load_data("mnist-5k").test
    assert digits.labels is not None
    ones = digits.labels == 1
    made = struck(digits.images[ones].float() / 255, digits.labels[ones], 1.0, generator())[:, 0]
    for axis in (1, 2):
        line = made.sum(axis)
        centre = (line * torch.arange(28)).sum(1) / line.sum(1)
        assert float((centre - 14).abs().max()) <= 0.51


def test_the_generator_decides_all_and_without_strokes_draws_nothing() -> None:
    labels, images = torch.full((8,), 7), stems(8)
    drawn = DataConfig(rotate=0, strokes=1.0)
    assert drawn.varies and not STILL.varies
    once = augment(images, drawn, generator(5), labels)
    assert torch.equal(augment(images, drawn, generator(5), labels), once)
    assert not torch.equal(augment(images, drawn, generator(6), labels), once)
    assert augment(images, STILL, generator(), labels) is images


def test_other_pictures_than_digits_are_refused() -> None:
    digits = load_data("mnist-5k").test
    check_digits(digits)
    scenes = load_data("scenes:2x2:4").test
    for other in (replace(digits, classes=("cat", "dog")), replace(digits, labels=None), scenes):
        with pytest.raises(UsageError, match=r"data\.strokes"):
            check_digits(other)
