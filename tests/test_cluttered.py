"""Digits in larger pictures: made as published, integers only, train and test digits apart."""

from dataclasses import replace

import pytest
import torch

from stawm.data.data_set import find_data, load_data
from stawm.data.image_set import ImageSet, Splits, hold_out, image_set
from stawm.data.sets.cluttered import DIGIT, PIECE, ClutteredSet, cluttered, made
from stawm.data.sets.mnist import MNIST_5K
from stawm.errors import DataError, UsageError

TEST_CHECKSUM = "e7d03fad0e390c5c6ac98bfe2fe70c7de851eacc15ec631645ba42f33d70b1ff"


@pytest.fixture(scope="module")
def splits() -> Splits:
    return load_data("mnist-cluttered:60:mnist-5k")


def marked(value: int, count: int = 20) -> ImageSet:
    """Digits that are squares of one level, so that one can tell where a pixel came from."""
    images = torch.full((count, 1, DIGIT, DIGIT), value, dtype=torch.uint8)
    return image_set("marked", images, torch.arange(count) % 10, tuple("0123456789"))


def test_the_test_set_of_the_embedded_digits_is_the_same_on_every_machine(splits: Splits) -> None:
    assert splits.test.checksum == TEST_CHECKSUM
    assert splits.test.images.shape == (1000, 1, 60, 60) and splits.train.images.shape == (4000, 1, 60, 60)


def test_each_digit_is_in_one_picture_where_the_set_says(splits: Splits) -> None:
    known = MNIST_5K.load().test
    test = splits.test
    assert isinstance(test, ClutteredSet) and known.labels is not None
    assert test.labels is not None and torch.equal(test.labels, known.labels)
    for number in range(0, 1000, 50):
        top, left = test.corners[number].tolist()
        part = test.images[number, :, top : top + DIGIT, left : left + DIGIT]
        assert (part >= known.images[number]).all()
    assert test.corners.min() == 0 and test.corners.max() == 60 - DIGIT


def test_a_picture_is_the_clipped_sum_of_its_digit_and_of_pieces() -> None:
    images, corners = made(marked(50), 60, 3, torch.Generator().manual_seed(5))
    for picture, (top, left) in zip(images.int(), corners.tolist(), strict=True):
        inside = picture[:, top : top + DIGIT, left : left + DIGIT]
        assert inside.min() == 50, "the digit is everywhere in its own square"
        assert int(picture.sum()) == 50 * (DIGIT**2 + 3 * PIECE**2), "sums of 50 do not reach white"
        assert set(picture.unique().tolist()) <= {0, 50, 100, 150, 200}
    bright, _ = made(marked(200), 60, 3, torch.Generator().manual_seed(5))
    assert torch.equal(bright.int(), (images.int() * 4).clamp(max=255)), "what is brighter than white is white"


def test_distractors_are_cut_from_digits_of_the_same_split() -> None:
    first, second = (cluttered("x", marked(level), 60, 4) for level in (10, 30))
    assert not (first.images % 10).any() and not (second.images % 30).any()


def test_translated_digits_have_no_distractors() -> None:
    splits = load_data("mnist-translated:60:mnist-5k")
    known = MNIST_5K.load().test
    assert torch.equal(splits.test.images.long().sum((1, 2, 3)), known.images.long().sum((1, 2, 3)))


def test_an_epoch_is_made_anew_from_its_generator_alone(splits: Splits) -> None:
    first, second, other = (splits.train.renewed(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.images, second.images) and not torch.equal(first.images, other.images)
    assert first.labels is not None and splits.train.labels is not None
    assert torch.equal(first.labels, splits.train.labels)
    assert not torch.equal(first.images, splits.train.images)


def test_turned_digits_are_turned_about_their_middle(splits: Splits) -> None:
    train = splits.train
    still = train.turned(0.0, torch.Generator().manual_seed(1)).renewed(torch.Generator().manual_seed(2))
    assert torch.equal(still.images, train.renewed(torch.Generator().manual_seed(2)).images)
    turned = train.turned(20.0, torch.Generator().manual_seed(1))
    assert isinstance(turned, ClutteredSet) and isinstance(train, ClutteredSet)
    apart = (turned.digits.images.float() - train.digits.images.float()).abs()
    assert 0 < apart.mean() < 40 and apart[..., 13:15, 13:15].mean() < apart[..., 4:24, 4:24].mean()


def test_validation_digits_are_in_no_training_picture(splits: Splits) -> None:
    train, held_out, name = hold_out(splits, 500)
    assert name == "validation" and len(train) == 3500 and len(held_out) == 500
    assert (
        isinstance(train, ClutteredSet)
        and isinstance(held_out, ClutteredSet)
        and isinstance(splits.train, ClutteredSet)
    )
    assert torch.equal(torch.cat([train.digits.images, held_out.digits.images]), splits.train.digits.images)


def test_published_numbers_of_distractors_are_the_defaults() -> None:
    assert find_data("mnist-cluttered:60").shape == (1, 60, 60)
    records = [find_data(name) for name in ("mnist-cluttered:60", "mnist-cluttered:100", "mnist-cluttered:200:3")]
    assert [vars(record)["distractors"] for record in records] == [4, 8, 3]
    assert records[0].train == 60_000 and find_data("mnist-cluttered:60:mnist-5k").train == 4_000


@pytest.mark.parametrize(
    "name",
    [
        "mnist-cluttered:20",
        "mnist-cluttered:80",
        "mnist-cluttered:60:4:cifar",
        "mnist-translated:60:4",
        "mnist-cluttered:",
    ],
)
def test_names_that_mean_nothing_are_refused_with_an_example(name: str) -> None:
    with pytest.raises(UsageError, match=r"mnist-(cluttered|translated):"):
        find_data(name)


def test_a_name_without_a_side_cannot_be_loaded() -> None:
    with pytest.raises(UsageError, match="no side"):
        find_data("mnist-cluttered").load()


def test_other_pictures_than_digits_are_refused() -> None:
    small = replace(marked(5), images=torch.zeros(20, 1, 8, 8, dtype=torch.uint8))
    with pytest.raises(DataError, match=r"\[1, 28, 28\]"):
        made(small, 60, 1, torch.Generator())
    with pytest.raises(DataError, match=r"data\.turn"):
        MNIST_5K.load().train.turned(10.0, torch.Generator())
