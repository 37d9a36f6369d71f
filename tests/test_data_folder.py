"""A folder of pictures as a data set: layouts, splits, odd files, and the cache that spares decoding twice."""

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.data import get_data, load_data, pictures
from stawm.data.folder import split_folder
from stawm.errors import DataError, StorageError

RED, BLUE = (255, 0, 0), (0, 0, 255)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAWM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "mine"


def grey(path: Path, value: int, size: tuple[int, int] = (8, 8)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, value).save(path)


def classes(root: Path, counts: dict[str, int], under: str = ".") -> None:
    """Pictures whose grey value tells their class (10 a class) and their number within it."""
    for label, (name, count) in enumerate(counts.items()):
        for number in range(count):
            grey(root / under / name / f"{number}.png", 40 * (label + 1) + number)


def load(root: Path, image: tuple[int, int, int] | None = (1, 8, 8)):
    return load_data(f"folder:{root}", image=image)


def only(root: Path, image: tuple[int, int, int]) -> np.ndarray:
    """The one distinct picture in a folder, whose twin was held out."""
    splits = load(root, image)
    assert torch.equal(splits.train.images[0], splits.test.images[0])
    return splits.train.images[0].numpy()


def twice(root: Path, picture: Image.Image, suffix: str = "png", **options: Any) -> None:
    root.mkdir(exist_ok=True)
    for name in "ab":
        picture.save(root / f"{name}.{suffix}", **options)


def test_class_folders_give_labels_and_a_tenth_of_each_is_held_out(root: Path) -> None:
    classes(root, {"cat": 20, "dog": 30})
    splits = load(root)
    train, test = splits.train, splits.test
    assert train.classes == test.classes == ("cat", "dog")
    assert train.labels is not None and test.labels is not None
    assert train.labels.bincount().tolist() == [18, 27] and test.labels.bincount().tolist() == [2, 3]
    for part, labels in ((train, train.labels), (test, test.labels)):
        assert ((part.images[:, 0, 3, 3] >= 80).long() == labels).all(), "every picture keeps its own label"
    values = torch.cat([train.images, test.images])[:, 0, 0, 0].tolist()
    assert sorted(values) == [*range(40, 60), *range(80, 110)]
    assert set(train.labels[-6:].tolist()) == {0, 1}, "shuffled: the last pictures are of both classes"


def test_the_split_is_fixed_and_does_not_move_when_a_picture_is_added(root: Path) -> None:
    classes(root, {"cat": 40})
    held = [picture.name for picture in split_folder(root)[1].pictures]
    assert held == ["cat/39.png", "cat/27.png", "cat/34.png", "cat/22.png"]
    grey(root / "cat" / "another.png", 7)
    again = [picture.name for picture in split_folder(root)[1].pictures]
    assert len(set(held) & set(again)) >= 3


def test_train_and_test_folders_are_taken_as_they_lie(root: Path) -> None:
    classes(root, {"cat": 4, "dog": 3, "emu": 2}, under="train")
    classes(root, {"emu": 2, "ox": 0}, under="test")
    grey(root / "test" / "dog" / "x.png", 1)
    splits = load(root)
    assert len(splits.train) == 9 and len(splits.test) == 3
    assert splits.test.labels is not None and sorted(splits.test.labels.tolist()) == [1, 2, 2]
    assert splits.test.images[splits.test.labels == 1].unique().tolist() == [1]


def test_val_serves_as_the_held_out_part_and_train_alone_is_split(root: Path) -> None:
    classes(root, {"cat": 10}, under="train")
    assert [len(part.pictures) for part in split_folder(root)] == [9, 1]
    classes(root, {"cat": 3}, under="val")
    assert [len(part.pictures) for part in split_folder(root)] == [10, 3]


def test_train_beside_other_classes_is_a_class(root: Path) -> None:
    classes(root, {"boat": 4, "train": 4})
    assert split_folder(root)[0].classes == ("boat", "train")


def test_held_out_classes_must_be_known(root: Path) -> None:
    classes(root, {"cat": 2}, under="train")
    classes(root, {"cat": 2, "yak": 2}, under="test")
    with pytest.raises(DataError, match=r"mine/test has classes that .*mine/train lacks \(yak\)"):
        load(root)


def test_held_out_part_must_be_labelled_like_the_other(root: Path) -> None:
    classes(root, {"cat": 2}, under="train")
    grey(root / "test" / "1.png", 5)
    with pytest.raises(DataError, match=r"mine/test has no class sub-folders"):
        load(root)


def test_flat_folder_has_no_labels(root: Path) -> None:
    for number in range(20):
        grey(root / f"{number}.png", number)
    splits = load(root)
    assert splits.train.labels is None and splits.train.classes == ()
    assert (len(splits.train), len(splits.test)) == (18, 2)


def test_shape_is_that_of_the_first_picture_unless_asked(root: Path) -> None:
    grey(root / "a.png", 1, size=(6, 4))
    grey(root / "b.png", 2, size=(9, 9))
    assert load(root, None).train.images.shape[1:] == (1, 4, 6)
    Image.new("RGB", (5, 7)).save(root / "0.png")
    assert load(root, None).train.images.shape[1:] == (3, 7, 5)
    assert load(root, (3, 10, 12)).train.images.shape[1:] == (3, 10, 12)


def test_wide_and_tall_pictures_are_cropped_about_the_centre(root: Path) -> None:
    # Blue outer quarters, red middle: the centre square of 40 × 20 and of 20 × 40 is all red.
    wide = Image.new("RGB", (40, 20), BLUE)
    wide.paste(RED, (10, 0, 30, 20))
    twice(root, wide)
    assert np.array_equal(only(root, (3, 8, 8)), np.array(RED, np.uint8)[:, None, None].repeat(8, 1).repeat(8, 2))
    twice(root, wide.rotate(90, expand=True))
    assert np.array_equal(only(root, (3, 5, 5)), np.array(RED, np.uint8)[:, None, None].repeat(5, 1).repeat(5, 2))


def test_a_two_colour_picture_keeps_its_border_where_it_was(root: Path) -> None:
    half = Image.new("RGB", (32, 16), RED)
    half.paste(BLUE, (16, 0, 32, 16))
    twice(root, half)
    pixels = only(root, (3, 16, 32))
    assert (pixels[0, :, :16] == 255).all() and (pixels[0, :, 16:] == 0).all() and (pixels[2, :, 16:] == 255).all()
    small = only(root, (3, 4, 8))
    assert (small[0, :, :3] == 255).all() and (small[2, :, 5:] == 255).all() and (small[2, :, :3] == 0).all()


def test_exif_orientation_is_respected(root: Path) -> None:
    # Orientation 6: the camera was turned; shown upright, the left half (red) lies on top.
    picture = Image.new("RGB", (16, 8), BLUE)
    picture.paste(RED, (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = 6
    twice(root, picture, exif=exif)
    assert load(root, None).train.images.shape[1:] == (3, 16, 8)
    upright = only(root, (3, 16, 8))
    assert (upright[0, :8] == 255).all() and (upright[2, 8:] == 255).all()


def test_transparency_becomes_black(root: Path) -> None:
    picture = Image.new("RGBA", (4, 4), (255, 255, 255, 0))
    picture.paste((200, 100, 0, 255), (0, 0, 2, 4))
    picture.putpixel((3, 3), (255, 255, 255, 51))
    twice(root, picture)
    pixels = only(root, (3, 4, 4))
    assert pixels[:, 0, 0].tolist() == [200, 100, 0] and pixels[:, 0, 3].tolist() == [0, 0, 0]
    assert pixels[:, 3, 3].tolist() == [51, 51, 51]


def test_palette_and_two_level_pictures(root: Path) -> None:
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([0, 0, 0, 10, 200, 30])
    twice(root, palette)
    assert only(root, (3, 4, 4))[:, 0, 0].tolist() == [10, 200, 30]
    twice(root, palette, transparency=1)
    assert only(root, (3, 4, 4)).max() == 0
    twice(root, Image.new("1", (4, 4), 1))
    assert only(root, (1, 4, 4)).min() == 255


def test_sixteen_bits_become_eight(root: Path) -> None:
    values = np.array([[0, 257], [32896, 65535]], np.uint16)
    twice(root, Image.fromarray(values))
    assert only(root, (1, 2, 2)).tolist() == [[[0, 1], [128, 255]]]
    assert load(root, None).train.images.shape[1:] == (1, 2, 2)


def test_grey_and_colour_are_turned_into_what_is_asked(root: Path) -> None:
    twice(root, Image.new("L", (4, 4), 77))
    assert only(root, (3, 4, 4))[:, 1, 1].tolist() == [77, 77, 77]
    twice(root, Image.new("RGB", (4, 4), (0, 255, 0)))
    assert only(root, (1, 4, 4))[0, 1, 1] == 150, "luma of pure green: 0.587 × 255"


def test_broken_and_foreign_files_are_named_together(root: Path) -> None:
    classes(root, {"cat": 5})
    whole = (root / "cat" / "0.png").read_bytes()
    (root / "cat" / "a-half.png").write_bytes(whole[: len(whole) // 2])
    (root / "cat" / "notes.txt").write_text("not a picture at all")
    with pytest.raises(DataError) as told:
        load(root)
    message = str(told.value)
    assert "cat/a-half.png (" in message and "cat/notes.txt (not a picture)" in message and "more" not in message
    assert "\n" not in message and "remove or replace them" in message
    assert not list((root.parent / "cache").rglob("*.npy*")), "nothing half-made is kept"
    with pytest.raises(DataError, match=r"cat/a-half\.png .*cat/notes\.txt"):
        get_data(f"folder:{root}")


def test_three_misfits_are_named_and_the_rest_counted(root: Path) -> None:
    classes(root, {"cat": 5})
    for number in range(5):
        (root / "cat" / f"bad{number}.jpg").write_bytes(b"\xff\xd8 no")
    with pytest.raises(DataError, match=r"bad0\.jpg .*bad1\.jpg .*bad2\.jpg \([^)]*\) and 2 more; remove"):
        load(root)


def test_the_first_picture_may_be_the_broken_one(root: Path) -> None:
    root.mkdir()
    (root / "a.png").write_bytes(b"nonsense")
    grey(root / "b.png", 1)
    with pytest.raises(DataError, match=r"a\.png \(not a picture\)"):
        load(root, None)


def test_floating_point_and_enormous_pictures_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice(root, Image.new("F", (4, 4)), "tiff")
    with pytest.raises(DataError, match=r"a\.tiff \(has floating-point pixels\)"):
        load(root)
    big = root.parent / "big"
    twice(big, Image.new("L", (40, 40)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(DataError, match=r"a\.png \(too large\)"):
        load(big)


def test_what_file_managers_leave_behind_is_ignored(root: Path) -> None:
    classes(root, {"cat": 4})
    (root / ".DS_Store").write_bytes(b"x")
    (root / "cat" / "Thumbs.db").write_bytes(b"x")
    (root / ".hidden").mkdir()
    splits = load(root)
    assert len(splits.train) + len(splits.test) == 4 and splits.train.classes == ("cat",)


def test_pictures_deeper_in_a_class_belong_to_it(root: Path) -> None:
    grey(root / "cat" / "one" / "1.png", 1)
    grey(root / "cat" / "two" / "1.png", 2)
    assert sorted(picture.name for part in split_folder(root) for picture in part.pictures) == [
        "cat/one/1.png",
        "cat/two/1.png",
    ]


@pytest.mark.parametrize("layout", ["nothing", "empty", "an empty class", "a file", "loose", "loose parts", "one"])
def test_folders_that_cannot_be_used_say_why(root: Path, layout: str) -> None:
    said = {
        "nothing": "mine is not a folder",
        "empty": "mine is empty: put pictures in it",
        "an empty class": "mine/dog is empty: put pictures of class dog in it",
        "a file": "mine is not a folder",
        "loose": r"mine has files beside its sub-folders: a\.png, b\.png, c\.png and 1 more",
        "loose parts": r"mine has files beside its sub-folders: labels\.csv; move",
        "one": "mine has too few pictures to hold any out",
    }[layout]
    if layout not in ("nothing", "a file"):
        root.mkdir()
    if layout == "an empty class":
        classes(root, {"cat": 3})
        (root / "dog").mkdir()
    elif layout == "a file":
        root.write_text("x")
    elif layout == "loose":
        classes(root, {"cat": 3})
        for name in "abcd":
            grey(root / f"{name}.png", 1)
    elif layout == "loose parts":
        classes(root, {"cat": 3}, under="train")
        (root / "labels.csv").write_text("x")
    elif layout == "one":
        classes(root, {"cat": 1})
    with pytest.raises(DataError, match=said) as told:
        load(root)
    assert "\n" not in str(told.value)


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


def test_checksum_does_not_depend_on_the_way_in(root: Path) -> None:
    from stawm.data.image_set import image_set

    classes(root, {"cat": 10})
    train = load(root).train
    assert image_set("other", train.images.clone(), train.labels, train.classes).checksum == train.checksum


def test_a_full_disk_while_caching_is_a_storage_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes(root, {"cat": 4})

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", no_space)
    with pytest.raises(StorageError, match="No space left on device"):
        load(root)
    assert not list((root.parent / "cache").rglob("*.partial"))


def test_get_returns_the_folder_once_all_of_it_was_read(root: Path) -> None:
    classes(root, {"cat": 3})
    assert get_data(f"folder:{root}") == root
    assert not (root.parent / "cache").exists()


def test_damage_anywhere_in_a_file_never_escapes_as_a_traceback(root: Path) -> None:
    whole = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)).save(whole, "PNG")
    content = whole.getvalue()
    root.mkdir()
    for cut in range(0, len(content), 40):
        (root / f"{cut:04}.png").write_bytes(content[:cut] + zlib.compress(bytes([cut % 256])) + content[cut + 9 :])
    with pytest.raises(DataError, match=r"files that cannot be used: .* more; remove"):
        load(root, (3, 16, 16))
