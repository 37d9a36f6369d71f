import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from stawm.data.picture_file import CHUNKS, LIGHT, Heavy, TooMuch, decoded, opened
from stawm.data.prepare.given import open_given
from stawm.errors import DataError


def file_of(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def chunk(kind: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def scans(edge: int, times: int, between: bytes = b"") -> bytes:
    """A progressive JPEG whose last scan comes so many times."""
    content = file_of(Image.new("L", (edge, edge), 128), "JPEG", progressive=True)
    last = content.rfind(b"\xff\xda")
    return content[:last] + (between + content[last:-2]) * times + content[-2:]


def run_lengths(edge: int) -> bytes:
    """A BMP of run lengths, each row a single pixel."""
    head = struct.pack("<IiiHHIIiiII", 40, edge, edge, 1, 8, 1, 0, 0, 0, 256, 0)
    content = head + bytes(1024) + b"\1\0\0\0" * edge + b"\0\1"
    return b"BM" + struct.pack("<IHHI", 14 + len(content), 0, 0, 14 + 40 + 1024) + content


def flood(kind: bytes, count: int, content: bytes = b"") -> bytes:
    whole = file_of(Image.new("L", (28, 28)))
    return whole[:33] + chunk(kind, content) * count + whole[33:]


def webp_flood(count: int) -> bytes:
    whole = file_of(Image.new("RGB", (8, 8)), "WEBP")
    content = whole[8:] + (b"ABCD" + bytes(4)) * count
    return b"RIFF" + struct.pack("<I", len(content)) + content


PLAIN = Image.new("L", (28, 28))
DESCRIBED = Image.Exif()
DESCRIBED[0x010E] = "x" * 60_000


@pytest.mark.parametrize(
    "content",
    [
        scans(2000, 2000),
        scans(200, 60_000),
        scans(2000, 2000, between=b"\xff\xfe\0\4\xff\xd9"),
        scans(8, 2, between=b"\xff\xfe\0\2" * 300),
        run_lengths(3000),
        flood(b"abCd", 1000),
        flood(b"iCCP", 100, b"a\0\0" + zlib.compress(bytes(1_000_000))),
        flood(b"IDAT", 60_000),
        flood(b"eXIf", 1, b"II*\0" + bytes(70_000)),
        webp_flood(200),
        file_of(PLAIN, "WEBP", exif=b"Exif\0\0II*\0" + bytes(70_000)),
    ],
    ids=lambda content: f"{content[:4]!r} {len(content)}",
)
def test_too_much_work_is_refused_undecoded_and_in_one_line(content: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stawm.data.prepare.given.decoded", lambda _: pytest.fail("it was decoded"))
    with pytest.raises(TooMuch), opened(content):
        pass
    with pytest.raises(DataError, match="too much work") as refusal:
        open_given(content, "x")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "content",
    [
        scans(400, 20),
        run_lengths(60),
        flood(b"tEXt", CHUNKS - 5, b"a\0b"),
        file_of(PLAIN, "JPEG", exif=DESCRIBED),
        file_of(PLAIN, "WEBP", append_images=[PLAIN] * 90, save_all=True),
        b"".join((file_of(PLAIN, "JPEG"), scans(400, 200))),
    ],
    ids=lambda content: f"{content[:4]!r} {len(content)}",
)
def test_odd_but_bearable_pictures_are_opened(content: bytes):
    assert open_given(content, "x").picture.width > 20


@pytest.mark.parametrize(
    "content",
    [scans(400, 100), file_of(Image.new("1", (2100, 2000))), flood(b"abCd", 1, bytes(300_000)), run_lengths(170)],
)
def test_what_is_bearable_and_not_light_is_heavy(content: bytes):
    with pytest.raises(Heavy), opened(content, limits=LIGHT):
        pass
    assert open_given(content, "x").picture.width > 20


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("1", "PNG"), ("L", "JPEG"), ("P", "PNG"), ("RGB", "JPEG"), ("RGBA", "WEBP"), ("I;16", "PNG"), ("LA", "PNG")],
)
def test_large_pictures_are_reduced_by_a_whole_factor(mode: str, kind: str):
    levels = np.full((1500, 3001), 255, np.uint8)
    levels[:, :1500] = 0
    drawn = Image.fromarray(levels)
    drawn = Image.fromarray(levels.astype(np.uint16) * 257) if mode == "I;16" else drawn.convert("RGB").convert(mode)
    given = open_given(file_of(drawn, kind), "x")
    assert (given.size, given.picture.size) == ((3001, 1500), (1501, 750))
    seen = np.asarray(given.flat(colour=False))
    assert seen[:, 10].max() <= 3
    assert seen[:, -10].min() >= 252


@pytest.mark.parametrize("size", [(1, 5_000_000), (4_100_000, 1)])
def test_even_a_thread_of_pixels_becomes_small(size: tuple[int, int]):
    with opened(file_of(Image.new("L", size))) as picture:
        small, before = decoded(picture)
    assert before == size
    assert small.width * small.height < 4_000_000


def test_a_large_picture_is_turned_too():
    exif = Image.Exif()
    exif[0x0112] = 6
    given = open_given(file_of(Image.new("L", (3000, 1500)), "JPEG", exif=exif), "x")
    assert (given.size, given.picture.size) == ((1500, 3000), (750, 1500))
