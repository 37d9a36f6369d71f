"""Pairs of scenes: the same digits, but for one in half of them, found again by their pixels."""

import pytest
import torch

from stawm.data.data_set import find_data, load_data
from stawm.data.image_set import hold_out
from stawm.data.sets.changes import ChangeSet, pairs
from stawm.data.sets.scenes import SIDE, halved
from stawm.errors import UsageError
from tiny_seed import SHIFT


def change_set(name: str) -> ChangeSet:
    found = load_data(name).train
    assert isinstance(found, ChangeSet)
    return found


def digits_in(image: torch.Tensor, known: ChangeSet) -> dict[int, tuple[int, int, torch.Tensor]]:
    """Top, left and pixels of what is in each cell, found by its ink; the outermost of a digit's pixels are empty."""
    layout, found = known.layout, {}
    for cell in range(layout.cells):
        row, column = divmod(cell, layout.columns)
        high, wide = layout.height // layout.rows, layout.width // layout.columns
        part = image[row * high : (row + 1) * high, column * wide : (column + 1) * wide]
        ink = part.nonzero()
        if len(ink):
            (top, left), (bottom, right) = ink.min(0).values.tolist(), (ink.max(0).values + 1).tolist()
            found[cell] = (top, left, part[top:bottom, left:right])
    return found


@pytest.mark.parametrize("name", ["changes:2x2+4:4", "changes:2x3:1-4", "changes:1x2+2:0-2"])
def test_only_the_digit_that_the_labels_name_is_another(name: str) -> None:
    """By pixels: in unchanged cells the ink is the same, wherever it lies; in the changed one it is not."""
    known = change_set(name)
    images, labels = pairs(known.digits, known.layout, known.items, 60, torch.Generator().manual_seed(SHIFT))
    before, after = labels.chunk(2, 1)
    assert ((before != after).sum(1) <= 1).all()
    assert torch.equal(before < 0, after < 0), "nothing comes or goes"
    assert find_data(name).shape == tuple(images.shape[1:])
    shifted = 0
    for image, one, other in zip(images[:, 0], before.tolist(), after.tolist(), strict=True):
        first, second = (digits_in(half, known) for half in image.chunk(2))
        assert first.keys() == second.keys() == {cell for cell, label in enumerate(one) if label >= 0}
        for cell in first:
            (*place, ink), (*moved, again) = first[cell], second[cell]
            assert torch.equal(ink, again) == (one[cell] == other[cell])
            shifted += place != moved and one[cell] == other[cell]
    margin = known.layout.height // known.layout.rows > SIDE
    assert bool(shifted) == margin, "with a margin, what stays the same moves"


def test_digits_are_those_of_the_labels() -> None:
    """The pixels of every cell of both scenes are those of some digit of the class that the labels name."""
    known = change_set("changes:2x2:4")
    assert known.digits.labels is not None
    images, labels = pairs(known.digits, known.layout, known.items, 20, torch.Generator().manual_seed(SHIFT))
    cells = images[:, 0].unfold(1, SIDE, SIDE).unfold(2, SIDE, SIDE).flatten(1, 2)
    for pixels, label in zip(cells.flatten(0, 1), labels.flatten(), strict=True):
        of_class = known.digits.images[known.digits.labels == label, 0]
        assert (of_class == pixels).flatten(1).all(1).any()


def test_half_of_the_pairs_differ_in_any_place_and_to_any_class() -> None:
    labels = change_set("changes:2x2+4:4").labels
    assert labels is not None
    before, after = labels.chunk(2, 1)
    changed = before != after
    assert 0.47 < changed.any(1).double().mean() < 0.53
    assert (changed.sum(0) / changed.sum() - 0.25).abs().max() < 0.04
    kinds = (10 * before + after)[changed].unique()
    assert len(kinds) == 90, "from any class to any other"


def test_another_epoch_has_other_pairs_and_held_out_ones_are_of_other_digits() -> None:
    splits = load_data("changes:2x2:4")
    first, second, other = (splits.train.renewed(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.images, second.images) and not torch.equal(first.images, other.images)
    digits = load_data("mnist-5k")
    for part, known in ((splits.train, digits.train), (splits.test, digits.test)):
        assert isinstance(part, ChangeSet)
        assert torch.equal(part.digits.images, halved(known).images)
    train, validation, _ = hold_out(splits, 500)
    assert isinstance(train, ChangeSet) and isinstance(validation, ChangeSet)
    assert (len(train.digits), len(validation.digits)) == (3500, 500)
    assert train.images.shape[1:] == validation.images.shape[1:] == (1, 56, 28)


@pytest.mark.parametrize("name", ["changes", "changes:2x2", "changes:2x2:4:celeba"])
def test_a_name_that_tells_no_layout_is_one_line(name: str) -> None:
    with pytest.raises(UsageError, match="changes:GRID:ITEMS, as changes:2x2"):
        load_data(name)


def test_a_place_must_have_a_name() -> None:
    with pytest.raises(UsageError, match="changes:56px:4 has no grid"):
        load_data("changes:56px:4")
