"""A picture file, opened only if decoding it is bearable work, and decoded to a bearable size.

Small files can ask for hours: a progressive JPEG that repeats a scan, a run-length coded BMP that Pillow decodes in
Python, a PNG with a flood of chunks. So the markers of a file are walked first, which costs next to nothing.

As a script, this turns the file on its input into a plain PNG on its output, within limits of memory and time that the
operating system keeps; it needs Pillow and nothing else, to start quickly.
"""

import io
import math
import os
import re
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from PIL import Image, ImageOps

MOST_WORK = 1_200_000_000
"""Pixels decoded, each as often as it is: 30 scans of 40 million pixels, about a second."""
KEPT_PIXELS = 4_000_000
"""Larger pictures are reduced by a whole factor as they are decoded."""
METADATA = 65_536
"""Most bytes of EXIF and the like, which Pillow reads in Python: what one segment of a JPEG can hold."""
PIXEL_PARTS, CHUNKS, SEGMENTS = 50_000, 64, 256
"""Most parts of a file that hold pixels; most other chunks of a PNG or WebP, most other segments of a JPEG."""
RUN_LENGTHS = 150
"""How many times the work of another file a run-length coded BMP is."""
MARKER = re.compile(rb"\xff+([\x01-\xcf\xd8-\xfe])", re.DOTALL)
SCAN, END, ALONE = 0xDA, 0xD9, (0x01, 0xD8)
MEMORY, SECONDS = 2**30 + 2**29, 10
"""What a process that decodes one picture may have of each."""
SIZE = struct.Struct(">II")


class TooMuch(ValueError):
    """A file that no picture needs to be."""


class Heavy(Exception):
    """A bearable file that is more work than was asked for."""

    def __init__(self, size: tuple[int, int]) -> None:
        """Of a picture of this (width, height)."""
        super().__init__(size)
        self.size = size


@dataclass(frozen=True)
class Limits:
    """How much work a file may be: its bytes, its metadata, and its pixels as often as they are decoded."""

    length: int = 2**29
    metadata: int = METADATA
    work: int = MOST_WORK

    def __contains__(self, file: "Limits") -> bool:
        """Whether a file of this much work is within the limits."""
        return file.length <= self.length and file.metadata <= self.metadata and file.work <= self.work


BEARABLE = Limits()
LIGHT = Limits(2**18, 2**13, KEPT_PIXELS)
"""What is decoded within a few hundredths of a second."""


@contextmanager
def opened(content: bytes, formats: tuple[str, ...] | None = None, limits: Limits = BEARABLE) -> Iterator[Image.Image]:
    """The picture of a file, not decoded yet; `TooMuch` if that is unbearable, `Heavy` if it is beyond the limits."""
    walk = next((walk for start, walk in WALKS.items() if content.startswith(start)), _plain)
    passes, metadata = walk(content)
    if Limits(len(content), metadata, 0) not in BEARABLE:
        raise TooMuch(f"it has {len(content):,} bytes, {metadata:,} of them metadata")
    with Image.open(io.BytesIO(content), formats=formats) as picture:
        if picture.info.get("compression") in (1, 2) and picture.format == "BMP":
            passes = RUN_LENGTHS
        width, height = picture.size
        file = Limits(len(content), metadata, passes * max(width * height, len(content)))
        if file not in BEARABLE:
            raise TooMuch(f"it asks to decode {width:,} × {height:,} pixels {passes:,} times")
        if file not in limits:
            raise Heavy((width, height))
        yield picture


def decoded(picture: Image.Image) -> tuple[Image.Image, tuple[int, int]]:
    """An opened picture, upright and reduced to about `KEPT_PIXELS` if it has more; and its size before that."""
    size, factor = picture.size, _factor(picture)
    if factor > 1:
        picture.draft(picture.mode, (size[0] // factor, size[1] // factor))
    picture.load()
    upright = turned(picture)
    size = size if upright.size == picture.size else (size[1], size[0])
    factor = _factor(upright)
    if factor == 1:
        return upright, size
    plain = {"1": "L", "P": "RGB", "I;16": "I", "I;16B": "I"}.get(upright.mode, upright.mode)
    if "transparency" in upright.info and plain != "I":
        plain = "RGBA"
    across, down = (factor, factor) if min(upright.size) >= factor else (factor**2, 1)
    by = (across, down) if upright.width >= upright.height else (down, across)
    return upright.convert(plain).reduce(by), size


def _factor(picture: Image.Image) -> int:
    return math.ceil(math.sqrt(picture.width * picture.height / KEPT_PIXELS))


def turned(picture: Image.Image) -> Image.Image:
    """The picture turned as its EXIF says, or as it lies where its EXIF is damaged."""
    if len(picture.info.get("Raw profile type exif", "")) > 2 * METADATA:
        return picture.copy()
    try:
        return ImageOps.exif_transpose(picture)
    except Exception:  # EXIF is read by hand in Pillow, and damage surfaces as nearly anything.
        return picture.copy()


def _plain(content: bytes) -> tuple[int, int]:
    return 1, 0


def _jpeg(content: bytes) -> tuple[int, int]:
    """How many scans a JPEG has, each of which passes over all pixels whatever it holds; and its metadata."""
    at, scans, metadata, others = 2, 0, 0, 0
    while found := MARKER.search(content, at):
        kind, at = found[1][0], found.end()
        if kind == END:
            break
        if kind in ALONE:
            continue
        if content.startswith((b"Exif\0", b"MPF\0"), at + 2):
            metadata += int.from_bytes(content[at : at + 2], "big")
        if kind == SCAN:
            scans += 1
        else:
            others += 1
        if scans > PIXEL_PARTS or others > SEGMENTS + 20 * scans:
            raise TooMuch(f"it has more than {scans + others - 1:,} segments")
        at += max(2, int.from_bytes(content[at : at + 2], "big"))
    return max(1, scans), metadata


def _png(content: bytes) -> tuple[int, int]:
    return 1, _in_chunks(content, 8, struct.Struct(">I4s"), 12, (b"IDAT", b"fdAT", b"fcTL"), b"eXIf")


def _webp(content: bytes) -> tuple[int, int]:
    return 1, _in_chunks(content, 12, struct.Struct("<4sI"), 8, (b"ANMF",), b"EXIF")


def _in_chunks(
    content: bytes, at: int, head: struct.Struct, around: int, of_pixels: tuple[bytes, ...], exif: bytes
) -> int:
    """The bytes of metadata in a file of chunks; `TooMuch` of a flood of them."""
    pixels = others = metadata = 0
    while at + head.size <= len(content):
        first, second = head.unpack_from(content, at)
        kind, length = (second, first) if isinstance(first, int) else (first, second + second % 2)
        pixels += kind in of_pixels
        others += kind not in of_pixels
        metadata += length if kind == exif else 0
        if pixels > PIXEL_PARTS or others > CHUNKS:
            raise TooMuch(f"it has more than {pixels + others - 1:,} chunks")
        if kind == b"IEND":
            break
        at += length + around
    return metadata


WALKS: dict[bytes, Callable[[bytes], tuple[int, int]]] = {
    b"\xff\xd8": _jpeg,
    b"\x89PNG\r\n\x1a\n": _png,
    b"RIFF": _webp,
}


def main() -> int:
    """Write the size of the picture on the input and a PNG of it to the output; or exit with 3, and a reason."""
    out = sys.stdout.buffer
    try:
        _limit()
        with opened(sys.stdin.buffer.read(), tuple(sys.argv[1].split(","))) as picture:
            small, size = decoded(picture)
        plain = small.mode if small.mode in ("1", "L", "LA", "P", "RGB", "RGBA") else "RGB"
        made = io.BytesIO()
        small.convert("I;16" if small.mode.startswith("I") else plain).save(made, "PNG", compress_level=1)
    except Exception as failure:  # Pillow's decoders raise nearly anything on a damaged file.
        out.write(str(failure).encode(errors="replace"))
        return 3
    out.write(SIZE.pack(*size) + made.getvalue())
    return 0


def _limit() -> None:
    """Keep this process small, short and polite, as far as the operating system lets it."""
    warnings.simplefilter("ignore")
    with suppress(ImportError, OSError, ValueError):
        import resource

        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    sys.exit(main())
