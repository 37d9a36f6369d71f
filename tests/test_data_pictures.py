"""Picture files to pixels: crop, orientation, transparency, depth, and files that are no whole pictures."""

import io
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stawm.data import get_data
from stawm.data.pictures import opacity
from stawm.errors import DataError
from tiny_folders import classes, grey, load, only, twice

RED, BLUE = (255, 0, 0), (0, 0, 255)
pytestmark = pytest.mark.usefixtures("own_cache")


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


def test_ink_that_black_would_hide_lies_on_white(root: Path) -> None:
    picture = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    picture.paste((0, 0, 0, 255), (0, 0, 2, 4))
    twice(root, picture)
    pixels = only(root, (3, 4, 4))
    assert pixels[:, 0, 0].tolist() == [0, 0, 0] and pixels[:, 0, 3].tolist() == [255, 255, 255]


def test_what_is_wholly_transparent_is_black(root: Path) -> None:
    twice(root, Image.new("RGBA", (4, 4), (9, 9, 9, 0)))
    assert not only(root, (3, 4, 4)).any()


def test_opacity_is_upright_and_none_where_all_is_opaque(tmp_path: Path) -> None:
    picture, exif = Image.new("RGBA", (4, 2), (1, 2, 3, 255)), Image.Exif()
    picture.putpixel((0, 0), (1, 2, 3, 51))
    exif[0x0112] = 6
    picture.save(tmp_path / "x.png", exif=exif)
    found = opacity((tmp_path / "x.png").read_bytes())
    assert found is not None and found.size == (2, 4) and found.getpixel((1, 0)) == 51
    Image.new("RGB", (4, 2)).save(tmp_path / "y.png")
    assert opacity((tmp_path / "y.png").read_bytes()) is None


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
    assert "\n" not in message and "remove or replace" in message
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


def test_damage_anywhere_in_a_file_never_escapes_as_a_traceback(root: Path) -> None:
    whole = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)).save(whole, "PNG")
    content = whole.getvalue()
    root.mkdir()
    for cut in range(0, len(content), 40):
        (root / f"{cut:04}.png").write_bytes(content[:cut] + zlib.compress(bytes([cut % 256])) + content[cut + 9 :])
    with pytest.raises(DataError, match=r" more; remove"):
        load(root, (3, 16, 16))
