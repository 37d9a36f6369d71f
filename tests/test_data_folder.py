"""A folder of pictures as a data set: layouts, splits, and what is told of it before it is read."""

import os
from pathlib import Path

import pytest
import torch
from PIL import Image, ImageFile

from stawm.data import Facts, find_data, get_data, pictures
from stawm.data.sets import folder
from stawm.data.sets.folder import split_folder
from stawm.errors import DataError, UsageError
from tiny_folders import classes, grey, load

pytestmark = pytest.mark.usefixtures("own_cache")


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


@pytest.mark.parametrize(("train", "test"), [("Train", "Test"), ("train", "VAL"), ("TRAIN", "Validation")])
def test_train_and_test_may_be_written_in_any_case(root: Path, train: str, test: str) -> None:
    classes(root, {"cat": 4, "dog": 3}, under=train)
    classes(root, {"cat": 2}, under=test)
    learnt, held = split_folder(root)
    assert learnt.classes == held.classes == ("cat", "dog")
    assert (len(learnt.pictures), len(held.pictures)) == (7, 2)


def test_train_beside_other_classes_is_a_class(root: Path) -> None:
    classes(root, {"boat": 4, "train": 4})
    assert split_folder(root)[0].classes == ("boat", "train")


def test_held_out_classes_must_be_known(root: Path) -> None:
    classes(root, {"cat": 2}, under="train")
    classes(root, {"cat": 2, "yak": 2}, under="test")
    with pytest.raises(DataError, match=r"mine/test .*mine/train.*yak"):
        load(root)


def test_held_out_part_must_be_labelled_like_the_other(root: Path) -> None:
    classes(root, {"cat": 2}, under="train")
    grey(root / "test" / "1.png", 5)
    with pytest.raises(DataError, match=r"mine/test .*sub-folders"):
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
        "nothing": "mine is not",
        "empty": "mine is empty",
        "an empty class": "mine/dog is empty",
        "a file": "mine is not",
        "loose": r"mine .*a\.png, b\.png, c\.png and 1 more",
        "loose parts": r"mine .*labels\.csv",
        "one": "mine has too few",
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


def test_what_is_no_file_and_what_leads_in_a_circle_is_passed_over_with_a_note(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    classes(root, {"cat": 4, "dog": 3})
    plain = load(root)
    inside = root / "cat" / "deeper"
    inside.mkdir()
    (root / "itself").symlink_to(root / "itself")
    (root / "nothing").symlink_to(root / "nowhere")
    (inside / "up").symlink_to(root / "cat", target_is_directory=True)
    (inside / "here").symlink_to(inside, target_is_directory=True)
    os.mkfifo(inside / "pipe.png")
    again = load(root)
    assert again.train.checksum == plain.train.checksum
    passed = {"itself", "nothing", "up", "here", "pipe.png"}
    assert {told.split(" is passed over")[0].split("/")[-1] for told in caplog.messages} == passed
    assert len(caplog.messages) == len(passed), "each is told once"


def test_links_to_folders_elsewhere_are_followed_once(root: Path) -> None:
    classes(root.parent / "other", {"cats": 3})
    root.mkdir()
    for name in ("cat", "dog"):
        (root / name).symlink_to(root.parent / "other", target_is_directory=True)
    places = [path.relative_to(root).as_posix() for path in folder.files_under(root)]
    assert places == [f"cat/cats/{number}.png" for number in range(3)]


@pytest.mark.parametrize(("link", "to"), [("cat/up", "."), ("cat/dogs", "dog"), ("self", "."), ("more", "cat")])
def test_no_link_gives_a_picture_another_class(
    root: Path, link: str, to: str, caplog: pytest.LogCaptureFixture
) -> None:
    classes(root, {"cat": 4, "dog": 3})
    plain = load(root)
    (root / link).symlink_to(root / to, target_is_directory=True)
    again = load(root)
    assert (again.train.checksum, again.train.classes) == (plain.train.checksum, plain.train.classes)
    assert f"{link} is passed over" in caplog.text


def test_names_of_files_need_not_be_text(root: Path) -> None:
    classes(root, {"cat": 4, "dog": 3})
    try:
        (root / "cat" / "0.png").rename(root / "cat" / os.fsdecode(b"x\xff.png"))
    except OSError:
        pytest.skip("this file system takes text alone")
    assert len(load(root).train) + len(load(root).test) == 7


def test_a_class_whose_name_is_no_text_is_refused(root: Path) -> None:
    classes(root, {"cat": 4, "dog": 3})
    try:
        (root / "cat").rename(root / os.fsdecode(b"bl\xe9"))
    except OSError:
        pytest.skip("this file system takes text alone")
    with pytest.raises(DataError, match="not UTF-8"):
        load(root)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_name_that_no_folder_can_have(name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        get_data(f"folder:{name}")
    with pytest.raises(UsageError, match="name"):
        get_data("mnist", Path(name))


def test_checksum_does_not_depend_on_the_way_in(root: Path) -> None:
    from stawm.data.image_set import image_set

    classes(root, {"cat": 10})
    train = load(root).train
    assert image_set("other", train.images.clone(), train.labels, train.classes).checksum == train.checksum


def test_get_returns_the_folder_once_all_of_it_was_read(root: Path) -> None:
    classes(root, {"cat": 3})
    assert get_data(f"folder:{root}") == root
    assert not (root.parent / "cache").exists()


def facts(root: Path) -> Facts:
    return find_data(f"folder:{root}").facts()


def test_facts_of_grey_pictures_in_classes(root: Path) -> None:
    classes(root, {"cat": 4, "dog": 3})
    assert facts(root) == Facts((1, 8, 8), ("cat", "dog"), 7)


def test_facts_of_a_single_class_and_of_a_flat_folder(root: Path) -> None:
    classes(root, {"cat": 3})
    assert facts(root).classes == ("cat",)
    for number in range(3):
        grey(root.parent / "flat" / f"{number}.png", number, size=(9, 5))
    assert facts(root.parent / "flat") == Facts((1, 5, 9), (), 3)


def test_facts_of_a_split_folder_count_both_parts(root: Path) -> None:
    classes(root, {"cat": 4, "dog": 3}, under="train")
    classes(root, {"dog": 2}, under="test")
    assert facts(root) == Facts((1, 8, 8), ("cat", "dog"), 9)


def test_one_picture_in_colour_makes_the_folder_one_of_colour(root: Path) -> None:
    classes(root, {"cat": 9})
    Image.new("RGB", (8, 8)).save(root / "cat" / "x.jpg")
    assert facts(root).shape == (3, 8, 8)


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        ([(64, 48)] * 3, (48, 64)),
        ([(65, 65)] * 3, (64, 64)),
        ([(640, 480)] * 3, (48, 64)),
        ([(8, 8), (8, 9), (8, 8)], (64, 64)),
        ([(30, 20), (200, 100), (1000, 100)], (32, 64)),
        ([(20, 30), (100, 200), (100, 1000)], (64, 32)),
        ([(1000, 2)] * 3, (1, 64)),
    ],
)
def test_small_pictures_of_one_size_keep_it_and_others_get_their_proportions(
    root: Path, sizes: list[tuple[int, int]], shape: tuple[int, int]
) -> None:
    for number, size in enumerate(sizes):
        grey(root / f"{number}.png", 1, size=size)
    assert facts(root).shape == (1, *shape)
    assert load(root, facts(root).shape).train.images.shape[2:] == shape


def test_facts_are_of_upright_pictures_and_need_no_decoding(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    turned = Image.Exif()
    turned[0x0112] = 6  # shown a quarter turn clockwise
    for name in ("a.png", "b.png", "c.jpg", "d.webp", "e.tiff"):
        Image.new("L", (20, 10)).save(root / name, exif=turned)
    assert load(root, None).train.images.shape[2:] == (20, 10)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda *_: pytest.fail("decoded"))
    assert facts(root).shape[1:] == (20, 10)


def test_facts_read_a_few_headers_of_many_pictures(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes(root, {"cat": 60, "dog": 60})
    monkeypatch.setattr(folder, "LOOKED_AT", 7)
    seen: list[str] = []

    def noted(place: Path, picture: pictures.Picture) -> pictures.Shape:
        seen.append(picture.name)
        return pictures.shape_of(place, picture)

    monkeypatch.setattr(folder, "shape_of", noted)
    assert facts(root).pictures == 120
    assert len(seen) == 7
    assert {name.split("/")[0] for name in seen} == {"cat", "dog"}


def test_facts_name_what_is_not_a_picture(root: Path) -> None:
    classes(root, {"cat": 3})
    (root / "cat" / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"cat/notes\.txt"):
        facts(root)
