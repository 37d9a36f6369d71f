"""Scenes: digits lie where their labels say, none over another; those held out are of other digits."""

import pytest
import torch

from stawm.data.data_set import find_data, load_data
from stawm.data.image_set import Splits, hold_out
from stawm.data.sets.scenes import SIDE, SceneSet, halved, made
from stawm.errors import DataError, UsageError

LAYOUTS = ["scenes:2x2:4", "scenes:2x3:2", "scenes:1x1:1", "scenes:2x2+4:3", "scenes:56px:4", "scenes:40px:1"]
SOME = "scenes:2x2+4:0-3"


def scene_set(name: str) -> SceneSet:
    found = load_data(name).train
    assert isinstance(found, SceneSet)
    return found


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_ink_of_a_scene_is_that_of_its_digits(name: str) -> None:
    """As many digits as asked for, each in its own cell, and none covers a pixel of another."""
    scenes = scene_set(name)
    assert scenes.labels is not None
    assert ((scenes.labels >= 0).sum(1) == scenes.items[1]).all()
    assert scenes.images.shape[1:] == find_data(name).shape
    chance, again = torch.Generator().manual_seed(5), torch.Generator().manual_seed(5)
    images, labels = made(scenes.digits, scenes.layout, scenes.items, 50, chance)
    chosen = torch.randint(len(scenes.digits), (50, scenes.items[1]), generator=again)
    assert torch.equal(images.flatten(1).sum(1), scenes.digits.images[chosen].flatten(1).sum(1))
    assert scenes.digits.labels is not None
    assert torch.equal(labels.sort(1).values[:, -scenes.items[1] :], scenes.digits.labels[chosen].sort(1).values)


@pytest.mark.parametrize("name", ["scenes:2x3:4", "scenes:2x2+4:3", "scenes:56px:4"])
def test_a_digit_lies_in_the_cell_that_names_it(name: str) -> None:
    """Found by search: the place where a digit's own pixels are, which is unique enough to try all of them."""
    scenes = scene_set(name)
    assert scenes.digits.labels is not None
    layout = scenes.layout
    images, labels = made(scenes.digits, layout, scenes.items, 12, torch.Generator().manual_seed(3))
    chosen = torch.randint(len(scenes.digits), (12, scenes.items[1]), generator=torch.Generator().manual_seed(3))
    for image, cells, digits in zip(images[:, 0].int(), labels, chosen, strict=True):
        windows = image.unfold(0, SIDE, 1).unfold(1, SIDE, 1)
        for digit in digits:
            found = (windows == scenes.digits.images[digit, 0].int()).flatten(2).all(-1).nonzero()
            assert len(found) == 1
            down, across = (found[0] + SIDE / 2).tolist()
            cell = int(down * layout.rows / layout.height) * layout.columns + int(
                across * layout.columns / layout.width
            )
            assert cells[cell] == scenes.digits.labels[digit]


def test_another_epoch_has_other_scenes_and_the_same_seed_the_same() -> None:
    scenes = scene_set("scenes:2x2:4")
    first, second, other = (scenes.renewed(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.images, second.images)
    assert not torch.equal(first.images, other.images)
    assert len(other) == len(scenes)


def test_scenes_to_learn_from_and_held_out_share_no_digit() -> None:
    digits = load_data("mnist-5k")
    splits = load_data("scenes:2x2:4")
    assert isinstance(splits.train, SceneSet) and isinstance(splits.test, SceneSet)
    for part, known in ((splits.train, digits.train), (splits.test, digits.test)):
        assert torch.equal(part.digits.images, halved(known).images)


def test_digits_are_held_out_for_validation_and_not_scenes() -> None:
    splits = load_data("scenes:2x2:4")
    train, validation, split = hold_out(splits, 500)
    assert split == "validation"
    assert isinstance(train, SceneSet) and isinstance(validation, SceneSet)
    assert (len(train.digits), len(validation.digits)) == (3500, 500)
    with pytest.raises(DataError, match="4000 digits"):
        hold_out(Splits(splits.train, splits.test), 4000)


@pytest.mark.parametrize("name", ["scenes", "scenes:", "scenes:2x2", "scenes:axb:1", "scenes:2x2:4:celeba"])
def test_a_name_that_tells_no_layout_is_one_line(name: str) -> None:
    with pytest.raises(UsageError, match="scenes:GRID:ITEMS"):
        load_data(name)


@pytest.mark.parametrize("name", ["scenes:2x2:5", "scenes:2x2:0", "scenes:28px:2", "scenes:0x2:1", "scenes:2x2:4-2"])
def test_digits_that_find_no_room_are_one_line(name: str) -> None:
    with pytest.raises(UsageError, match="digits or more; give from 1"):
        load_data(name)


def test_a_number_of_digits_from_one_to_another() -> None:
    """All numbers come up about as often, and cells without a digit have no ink."""
    scenes = scene_set(SOME)
    assert scenes.labels is not None
    counts = (scenes.labels >= 0).sum(1).bincount()
    assert len(counts) == 4 and counts.min() > 2_000
    empty = (scenes.labels < 0).all(1)
    assert not scenes.images[empty].any() and scenes.images[~empty].flatten(1).any(1).all()
