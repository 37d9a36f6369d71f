"""Composites: the garment lies where the mask says, the photograph everywhere else; what is held out is of others."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from stawm.data import batch_of, load_data
from stawm.data.data_set import DATA_SETS, DataSet
from stawm.data.image_set import Splits, hold_out, image_set, part_of
from stawm.data.sets import composites as module
from stawm.data.sets.cifar10 import CIFAR10
from stawm.data.sets.composites import FAINT, SIDE, CompositeSet, composed, placed, silhouettes, textures
from stawm.data.sets.mnist import FASHION_MNIST
from stawm.errors import DataError
from test_data_sets import put
from tiny_model import unchecked
from tiny_sets import tiny_cifar, tiny_fashion


@pytest.fixture
def splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Splits:
    """Few composites, of tiny stand-ins for both sources."""
    for tiny in (tiny_fashion(), tiny_cifar()):
        tiny.stand_in(monkeypatch)
        put(tmp_path / tiny.record.name, tiny.files)
    monkeypatch.setattr(module, "EPOCH", 30)
    monkeypatch.setattr(module, "HELD_OUT", 12)
    return load_data("composites", data_dir=tmp_path, image=(3, SIDE, SIDE))


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_photograph_is_seen_wherever_the_garment_is_not() -> None:
    """A square garment, found again by what changed in the picture; it covers about its share of the picture."""
    garments = torch.zeros(40, 1, 28, 28, dtype=torch.uint8)
    garments[:, :, 7:21, 7:21] = 200
    photographs = torch.randint(0, 256, (40, 3, 32, 32), generator=chance(), dtype=torch.uint8)
    pictures, masks = composed(garments, photographs, chance(1))
    enlarged = F.interpolate(photographs.double(), (SIDE, SIDE), mode="bilinear", align_corners=False).round()
    changed = (pictures.double() != enlarged).any(1)
    near = F.max_pool2d(masks[:, None].float(), 5, stride=1, padding=2)[:, 0] > 0
    assert not (changed & ~near).any(), "beyond the soft rim of the garment nothing is changed"
    assert (changed & masks).sum() > 0.95 * masks.sum()
    share = masks.flatten(1).double().mean(1)
    assert share.min() > 0.9 * (32 / 64 * 14 / 28) ** 2 and share.max() < 1.2 * (60 / 64 * 14 / 28) ** 2


def test_a_garment_is_pasted_whole_and_anywhere() -> None:
    corners = placed(2000, chance()).double()
    inverse = torch.linalg.inv(corners[..., :2])
    centres = (inverse @ -corners[..., 2:])[..., 0]
    sizes = torch.linalg.det(inverse).abs().sqrt()
    assert 0.5 <= sizes.min() < 0.52 and 0.92 < sizes.max() <= 60 / 64
    assert (centres.abs() <= 1 - sizes[:, None] + 1e-9).all() and (centres.abs().amax(0) > 0.4).all()
    assert 800 < (torch.linalg.det(inverse) < 0).sum() < 1200, "half of them are mirrored"


def test_a_silhouette_is_the_garment_with_its_small_dark_spots() -> None:
    garment = torch.zeros(1, 1, 28, 28, dtype=torch.uint8)
    garment[..., 5:20, 6:22] = FAINT + 1
    whole = (garment > 0).double()
    garment[..., 10, 10] = 0
    assert torch.equal(silhouettes(garment), whole)
    garment[..., 8:14, 8:14] = FAINT
    assert silhouettes(garment)[0, 0, 10, 10] == 0, "a hole that is seen through"


def test_textures_are_of_four_kinds() -> None:
    pattern = textures(400, chance())
    assert set(pattern.unique().tolist()) == {0.0, 1.0}
    share = pattern.flatten(1).mean(1)
    assert 60 < (share == 0).sum() < 140, "plain ones"
    assert ((share[share > 0] - 0.25).abs() < 0.1).sum() > 50 and ((share - 0.5).abs() < 0.1).sum() > 150


def test_what_is_held_out_is_made_of_other_pictures_and_always_the_same(splits: Splits) -> None:
    train, test = splits.train, splits.test
    assert isinstance(train, CompositeSet) and isinstance(test, CompositeSet)
    assert (len(train), len(test)) == (30, 12)
    fashion, cifar = tiny_fashion().record, tiny_cifar().record
    assert (len(train.garments), len(test.garments), len(test.photographs)) == (20, 10, 4)
    assert {train.garments.name, test.photographs.name} == {fashion.name, cifar.name}
    again = module.composites(test.garments, test.photographs, 12, known=True)
    assert torch.equal(again.images, test.images) and again.checksum == test.checksum
    assert again.masks is not None and test.masks is not None and torch.equal(again.masks, test.masks)
    one, same, other = (train.renewed(chance(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.images, same.images) and not torch.equal(one.images, other.images)


def test_each_part_has_the_garments_and_photographs_of_its_own_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by pixels: dark photographs of three levels, all below those of cloth, and garments of three sizes.

    A garment of s pixels is drawn from 32 / 28 to 60 / 28 times as large, soft for half a pixel of its own all round.
    """
    monkeypatch.setattr(module, "EPOCH", 30)
    monkeypatch.setattr(module, "HELD_OUT", 12)
    away = (torch.arange(28) - 13.5).abs()

    def garments(*sizes: int) -> torch.Tensor:
        squares = [255 * (torch.maximum(away, away[:, None]) < size / 2) for size in sizes]
        return torch.stack(squares).to(torch.uint8).repeat_interleave(10, 0)[:, None]

    def photographs(*levels: int) -> torch.Tensor:
        return torch.tensor(levels, dtype=torch.uint8).repeat_interleave(10).view(-1, 1, 1, 1).repeat(1, 3, 32, 32)

    made = {FASHION_MNIST: (garments(2, 6), garments(18)), CIFAR10: (photographs(4, 8), photographs(12))}
    for record, parts in made.items():
        sets = [image_set(record.name, part, torch.arange(len(part)) % 10, record.classes) for part in parts]
        known = DataSet(name=record.name, about="", loader=lambda *_, sets=sets: Splits(*sets))
        monkeypatch.setitem(DATA_SETS._things, record.name, known)
    splits = load_data("composites")
    train, validation, _ = hold_out(splits, 10)
    parts = ((train, 2, 4), (train.renewed(chance()), 2, 4), (validation, 6, 8), (splits.test, 18, 12))
    for part, size, level in parts:
        images = part.images.flatten(2)
        assert (images.median(2).values == level).all(), "what is behind most of a picture"
        seen = (images > level).any(1).sum(1)
        assert ((size - 1) * 32 / 28) ** 2 < seen.min() and seen.max() < ((size + 1) * 60 / 28 + 2) ** 2
    assert {*splits.train.images.flatten(2).median(2).values.unique().tolist()} == {4, 8}


def test_masks_are_for_measuring_and_never_for_learning(splits: Splits) -> None:
    few = torch.arange(3)
    assert splits.train.masks is None and splits.train.renewed(chance()).masks is None
    assert batch_of(splits.train, few, measured=True).masks is None
    assert batch_of(splits.test, few).masks is None
    known, measured = splits.test.masks, batch_of(splits.test, few, measured=True).masks
    assert known is not None and measured is not None and torch.equal(measured, known[:3])
    some = part_of(splits.test, slice(2, 9)).masks
    assert some is not None and torch.equal(some, known[2:9])


def test_garments_and_photographs_are_held_out_for_validation(splits: Splits) -> None:
    train, validation, split = hold_out(splits, 5)
    assert split == "validation" and isinstance(train, CompositeSet) and isinstance(validation, CompositeSet)
    assert (len(train.garments), len(validation.garments), len(validation.photographs)) == (15, 5, 5)
    assert train.masks is None and validation.masks is not None and len(validation) == 12
    with pytest.raises(DataError, match="20 photographs"):
        hold_out(splits, 20)


def test_masks_must_fit_their_pictures() -> None:
    images = torch.zeros(2, 1, 4, 5, dtype=torch.uint8)
    plain = image_set("two", images, None, ())
    with unchecked(), pytest.raises(DataError, match="masks"):
        replace(plain, masks=torch.zeros(3, 4, 5, dtype=torch.bool))
