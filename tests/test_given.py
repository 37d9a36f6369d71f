import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from stawm.data.picture_file import LIGHT
from stawm.data.prepare.given import MOST_PIXELS, in_words, open_given
from stawm.errors import DataError


def ramp(width: int = 9, height: int = 6) -> Image.Image:
    return Image.fromarray((np.arange(width * height) * 4 % 256).astype(np.uint8).reshape(height, width))


def file_of(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def levels(content: bytes, **options: Any) -> np.ndarray:
    return np.asarray(open_given(content, "it").flat(colour=False, **options))


@pytest.mark.parametrize("kind", ["PNG", "BMP", "WEBP", "JPEG"])
def test_every_format_keeps_its_pixels(kind: str):
    options = {"PNG": {}, "BMP": {}, "WEBP": {"lossless": True}, "JPEG": {"quality": 100}}[kind]
    picture = ramp().convert("RGB" if kind == "WEBP" else "L")
    seen = levels(file_of(picture, kind, **options))
    assert np.abs(seen.astype(int) - np.asarray(ramp())).max() <= (2 if kind == "JPEG" else 0)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_mode_is_brought_to_eight_bits(mode: str):
    plain = Image.new("L", (4, 3), 255)
    if mode == "I;16":
        picture = Image.fromarray(np.full((3, 4), 65535, np.uint16))
    else:
        picture = plain.convert("RGB").convert(mode) if mode == "P" else plain.convert(mode)
    assert (levels(file_of(picture)) == 255).all()


def test_colour_survives():
    picture = Image.new("RGB", (2, 2), (10, 200, 90))
    assert np.asarray(open_given(file_of(picture), "it").flat(colour=True))[0, 0].tolist() == [10, 200, 90]


def test_a_picture_is_turned_as_its_exif_says():
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise
    seen = levels(file_of(ramp(), "PNG", exif=exif))
    assert (seen == np.rot90(np.asarray(ramp()), -1)).all()


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_damaged_exif_does_not_cost_the_picture():
    content = file_of(ramp(), "JPEG", quality=100, exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert levels(content).shape == (6, 9)


@pytest.mark.parametrize(("ink", "background"), [(0, 255), (60, 255), (255, 0), (200, 0)])
def test_what_is_drawn_on_nothing_is_put_before_what_shows_it(ink: int, background: int):
    drawn = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    drawn.paste((ink, ink, ink, 255), (2, 2, 5, 5))
    it = open_given(file_of(drawn), "it")
    assert it.background == background
    seen = np.asarray(it.flat(colour=False, background=it.background))
    assert (seen[0, 0], seen[3, 3]) == (background, ink)
    plain = np.asarray(it.flat(colour=True))[0, 0].tolist()
    assert plain == [255 * (ink == 0)] * 3, "black unless told, or the ink would not be seen"


def test_a_file_is_read_by_its_path(tmp_path: Path):
    ramp().save(tmp_path / "x.png")
    assert open_given(tmp_path / "x.png", "x.png").picture.size == (9, 6)


def refused(content: Path | bytes, name: str = "x.png") -> str:
    with pytest.raises(DataError) as refusal:
        open_given(content, name)
    told = str(refusal.value)
    assert "\n" not in told
    return told


@pytest.mark.parametrize("kind", ["GIF", "TIFF", "PPM", "ICO", "TGA"])
def test_other_formats_are_refused(kind: str):
    told = refused(file_of(ramp(), kind))
    assert told.startswith("x.png ") and "PNG, JPEG, WebP or BMP" in told


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"<svg/>", b"BM" + bytes(50)])
def test_what_is_no_picture_is_refused(content: bytes):
    assert refused(content).startswith("x.png ")


@pytest.mark.parametrize("kind", ["PNG", "BMP", "WEBP", "JPEG"])
def test_half_a_picture_is_refused(kind: str):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8))
    content = file_of(noise, kind)
    assert "x.png" in refused(content[: len(content) // 2])


def test_a_missing_file_is_named(tmp_path: Path):
    assert "no picture no.png" in refused(tmp_path / "no.png", "no.png")
    assert "cannot be read" in refused(tmp_path, "folder")


def png_head(width: int, height: int) -> bytes:
    """A PNG that claims to be this large, and has not a pixel."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize("edge", [6_325, 10_000, 100_000])
def test_pixels_are_counted_before_they_are_decoded(edge: int):
    # 6,325² is just over the limit; 10,000² makes Pillow warn, 100,000² makes it refuse.
    told = refused(png_head(edge, edge))
    assert f"{MOST_PIXELS:,}" in told
    assert "cannot be read" not in told
    with pytest.raises(DataError, match=f"{MOST_PIXELS:,}"):
        open_given(png_head(edge, edge), "x", limits=LIGHT)


def test_the_limit_can_be_lowered():
    with pytest.raises(DataError, match="9 × 6 pixels"):
        open_given(file_of(ramp()), "x", most_pixels=53)
    assert open_given(file_of(ramp()), "x", most_pixels=54).picture.size == (9, 6)


def test_a_hostile_name_stays_one_short_line():
    told = refused(b"", "../../etc/passwd\n\x1b[31m" + "x" * 500)
    assert told.isprintable()
    assert len(told) < 200
    assert in_words("  a\tb\x00c ") == "a b c"


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300), st.sampled_from(["PNG", "BMP", "WEBP", "JPEG"]), st.data())
def test_damage_is_a_refusal_or_still_a_picture(junk: bytes, kind: str, data: st.DataObject):
    content = bytearray(file_of(ramp(), kind))
    at = data.draw(st.integers(0, len(content)))
    content[at : at + len(junk)] = junk
    for hurt in (bytes(content), junk):
        try:
            assert open_given(hurt, "x").flat(colour=False).mode == "L"
        except DataError as refusal:
            assert "\n" not in str(refusal)
