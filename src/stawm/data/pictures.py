"""Picture files to arrays of one shape: upright, eight bits, grey or colour, cropped about the centre, scaled."""

import math
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from stawm.data.picture_file import opened
from stawm.data.progress import Bar
from stawm.errors import DataError

Shape = tuple[int, int, int]
Box = tuple[float, float, float, float]
Frame = Callable[[int, int], Box]
AT_ONCE = 256
NAMED = 3
DARK = 32
"""What is nowhere lighter than this cannot be seen on black."""
SIXTEEN_TO_EIGHT_BITS = 257
ORIENTATION, LYING = 0x0112, (5, 6, 7, 8)
"""The EXIF tag, and those of its values that stand for a quarter turn."""


@dataclass(frozen=True)
class Picture:
    """A picture by its name under a root (a folder or a zip archive), and a stamp that changes when it does."""

    name: str
    stamp: str


def whole(width: int, height: int) -> Box:
    """The frame that leaves nothing out."""
    return (0, 0, width, height)


@contextmanager
def reader(root: Path) -> Iterator[Callable[[str], bytes]]:
    """A function from the names under `root` to their contents."""
    if root.is_dir():
        yield lambda name: (root / name).read_bytes()
    else:
        with zipfile.ZipFile(root) as archive:
            yield archive.read


def centred(box: Box, aspect: float) -> Box:
    """The largest part of a box, about its centre, that is `aspect` times as wide as high."""
    left, top, right, bottom = box
    width = min(right - left, (bottom - top) * aspect)
    height = min(bottom - top, (right - left) / aspect)
    across, down = (left + right) / 2, (top + bottom) / 2
    return (across - width / 2, down - height / 2, across + width / 2, down + height / 2)


def upright(content: bytes, colour: bool) -> Image.Image:
    """A picture file in mode L or RGB, turned as its EXIF says; behind what is transparent lies what `flat` says."""
    with opened(content) as file:
        picture = ImageOps.exif_transpose(file)
    return flat(eight_bits(picture), colour)


def eight_bits(picture: Image.Image) -> Image.Image:
    """A picture of any mode as one of eight bits a channel; floating-point pixels have no known scale."""
    if picture.mode == "F":
        raise ValueError("has floating-point pixels")
    if picture.mode.startswith("I"):
        wide = np.asarray(picture).astype(np.int64)
        return Image.fromarray((wide.clip(0, 65535) / SIXTEEN_TO_EIGHT_BITS).round().astype(np.uint8))
    return picture


def flat(picture: Image.Image, colour: bool, background: int | None = None) -> Image.Image:
    """A picture in mode L or RGB; what is transparent shows the background.

    If none is given that is black, as the padding is, and white behind what cannot be seen on black: ink, mostly.
    """
    if see_through(picture):
        layers = picture.convert("RGBA")
        picture = _over(layers, background or 0)
        unseen = background is None and np.asarray(picture.convert("L")).max(initial=0) < DARK
        if unseen and np.asarray(layers.getchannel("A")).any():
            picture = _over(layers, 255)
    return picture.convert("RGB" if colour else "L")


def _over(layers: Image.Image, level: int) -> Image.Image:
    return Image.alpha_composite(Image.new("RGBA", layers.size, (level, level, level, 255)), layers)


def opacity(content: bytes) -> Image.Image | None:
    """How opaque each pixel of a picture file is, upright, from 0 to 255; none where all of it is."""
    with opened(content) as file:
        picture = ImageOps.exif_transpose(file)
    return picture.convert("RGBA").getchannel("A") if see_through(picture) else None


def see_through(picture: Image.Image) -> bool:
    """Whether a picture says for each pixel, or for one colour, how transparent it is."""
    return picture.mode in ("LA", "PA", "RGBA", "RGBa", "La") or "transparency" in picture.info


def pixels_of(content: bytes, shape: Shape, frame: Frame) -> np.ndarray:
    """The pixels [channel height width] of a picture file: its frame, centre-cropped to the proportions asked for."""
    return framed(upright(content, colour=shape[0] == 3), shape, frame)


def framed(picture: Image.Image, shape: Shape, frame: Frame) -> np.ndarray:
    """The pixels [channel height width] of a picture in mode L or RGB, as `pixels_of` has them of a file."""
    channels, height, width = shape
    left, top, right, bottom = centred(frame(picture.width, picture.height), width / height)
    # Cropped before it is scaled, or the filter would mix in what lies outside.
    at = math.floor(left), math.floor(top)
    inside = picture.crop((*at, math.ceil(right), math.ceil(bottom)))
    box = (left - at[0], top - at[1], right - at[0], bottom - at[1])
    scaled = np.asarray(inside.resize((width, height), Image.Resampling.BILINEAR, box=box))
    return scaled.transpose(2, 0, 1) if channels == 3 else scaled[None]


def shape_of(root: Path, picture: Picture) -> Shape:
    """The shape (channels, height, width) of a single picture, upright, by its header."""
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(root / picture.name) as opened:
            width, height = opened.size
            # Asked only where a header has it: of other PNGs Pillow would decode all, and TIFFs it has turned already.
            turns = opened.getexif().get(ORIENTATION) if "exif" in opened.info else None
            grey = opened.mode in ("1", "L", "LA", "F") or opened.mode.startswith("I")
    except Exception as failure:
        raise _refusal(root, {picture.name: why(failure)}) from failure
    return (1 if grey else 3, *((width, height) if turns in LYING else (height, width)))


def each(root: Path, pictures: Sequence[Picture], shape: Shape, frame: Frame) -> Iterator[np.ndarray]:
    """The pixels of every picture in turn; all that cannot be used are named together at the end."""
    misfits: dict[str, str] = {}
    with reader(root) as read, ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks on odd metadata; what it cannot decode it raises.

        def decode(picture: Picture) -> np.ndarray | None:
            try:
                return pixels_of(read(picture.name), shape, frame)
            except Exception as failure:  # Pillow's decoders raise nearly anything on a damaged file.
                misfits[picture.name] = why(failure)

        with Bar(f"reading {root.name}", "pictures", len(pictures)) as bar:
            for start in range(0, len(pictures), AT_ONCE):
                for pixels in pool.map(decode, pictures[start : start + AT_ONCE]):
                    if pixels is not None:
                        yield pixels
                    bar.update(1)
    if misfits:
        raise _refusal(root, misfits)


def why(failure: Exception) -> str:
    """Why a picture cannot be used, in a few words."""
    if isinstance(failure, UnidentifiedImageError):
        return "not a picture"
    if isinstance(failure, Image.DecompressionBombError):
        return "too large"
    return " ".join(str(failure).split())[:80] or "broken"


def _refusal(root: Path, misfits: Mapping[str, str]) -> DataError:
    ordered = sorted(misfits.items())
    named = ", ".join(f"{name} ({reason})" for name, reason in ordered[:NAMED])
    more = f" and {len(ordered) - NAMED} more" if len(ordered) > NAMED else ""
    return DataError(f"{root} has files that cannot be used: {named}{more}; remove or replace them")
