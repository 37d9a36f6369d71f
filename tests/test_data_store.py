"""The cache of decoded pictures: mapped, used again, made anew, mended, and forgotten when nobody reads it."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stawm.data import pictures
from stawm.data.sets.celeba import face
from stawm.data.store import key_of
from stawm.errors import StorageError
from tiny_folders import classes, grey, load

pytestmark = pytest.mark.usefixtures("own_cache")


def test_the_cache_is_memory_mapped_and_used_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes(root, {"cat": 10, "dog": 10})
    first = load(root)
    kept = list((root.parent / "cache" / "pictures").glob("*.npy"))
    assert len(kept) == 1 and np.load(kept[0]).shape == (20, 1, 8, 8)
    monkeypatch.setattr(pictures, "pixels_of", lambda *_: pytest.fail("decoded again"))
    again = load(root)
    assert torch.equal(again.train.images, first.train.images)
    assert again.train.checksum == first.train.checksum and again.test.checksum == first.test.checksum
    assert first.train.checksum != first.test.checksum
    before = kept[0].read_bytes()
    again.train.images.zero_()
    assert kept[0].read_bytes() == before, "copy-on-write: the file never changes"


def test_the_cache_is_made_anew_when_it_should_be(root: Path) -> None:
    classes(root, {"cat": 10})
    first = load(root)
    folder = root.parent / "cache" / "pictures"
    grey(root / "cat" / "0.png", 255)
    changed = load(root)
    assert {first.train.checksum, first.test.checksum} != {changed.train.checksum, changed.test.checksum}
    load(root, (1, 4, 4))
    assert len(list(folder.glob("*.npy"))) == 3
    for kept in folder.glob("*.npy"):
        kept.write_bytes(kept.read_bytes()[:-1])
    assert load(root).train.checksum == changed.train.checksum
    for beside in folder.glob("*.json"):
        beside.write_text("{")
    assert load(root).train.checksum == changed.train.checksum


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


@pytest.mark.parametrize(
    ("file", "spoil"),
    [
        *((".npy", lambda content, place=place: flipped(content, place)) for place in (0, 7, 20, 100, 130, -1)),
        *((".npy", lambda content, kept=kept: content[:kept]) for kept in (0, 5, 128, -1)),
        *((".json", lambda content, text=text: text) for text in (b"", b"[]", b"{}", b"3", b"\xff", b"[" * 3000)),
        (".json", lambda content: content.replace(b'"of": "', b'"of": "0')),
        (".json", lambda content: flipped(content, content.index(b'"digests": ["') + 20)),
    ],
)
def test_damage_in_the_cache_is_told_and_mended(
    root: Path, file: str, spoil: Any, caplog: pytest.LogCaptureFixture
) -> None:
    classes(root, {"cat": 5})
    first = load(root)
    images = first.train.images.clone()  # they are mapped from the file that is spoilt
    [kept] = (root.parent / "cache" / "pictures").glob(f"*{file}")
    whole = kept.read_bytes()
    kept.write_bytes(spoil(whole))
    assert kept.read_bytes() != whole
    again = load(root)
    assert torch.equal(again.train.images, images) and again.train.checksum == first.train.checksum
    assert kept.read_bytes() == whole
    [told] = caplog.messages
    assert "damaged" in told and "\n" not in told


def test_arrays_of_earlier_versions_are_read(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    classes(root, {"cat": 5})
    load(root)
    [beside] = (root.parent / "cache" / "pictures").glob("*.json")
    values = json.loads(beside.read_text())
    del values["of"]
    beside.write_text(json.dumps(values | {"bytes": 1}))
    load(root)
    assert caplog.messages == []


def test_arrays_that_nobody_reads_are_forgotten(root: Path) -> None:
    classes(root, {"cat": 5})
    shapes = [(1, 8, 8), (1, 4, 4)]
    for shape in shapes:
        load(root, shape)
    place = root.parent / "cache" / "pictures"
    for kept in place.iterdir():
        os.utime(kept, (1, 1))
    load(root, shapes[0])  # reads it again, so it is young
    load(root, (1, 5, 5))
    heights = sorted(np.load(kept).shape[2] for kept in place.glob("*.npy"))
    assert heights == [5, 8] and len(list(place.iterdir())) == 4


def test_a_full_disk_while_caching_is_a_storage_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes(root, {"cat": 4})

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", no_space)
    with pytest.raises(StorageError, match="No space left on device"):
        load(root)
    assert not list((root.parent / "cache").rglob("*.partial"))


def test_the_names_of_kept_arrays_stay_as_long_as_pictures_are_read_alike() -> None:
    parts = [[pictures.Picture("a.png", "1 2")], [pictures.Picture("b/c.png", "3 4")]]
    place = Path("/no/such/folder")
    assert key_of(place, parts, (3, 8, 9), pictures.whole) == "138442ac149c17394e12b05a202fb400"
    assert key_of(place, parts, (3, 64, 64), face) == "70b961e6576d6d48d0be8c6c005a5667"
