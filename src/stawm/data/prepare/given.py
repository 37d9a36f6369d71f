"""A picture as somebody gives it: a file or bytes of a known format and a bearable size, decoded and upright."""

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from stawm.data.picture_file import BEARABLE, Heavy, Limits, TooMuch, decoded, opened
from stawm.data.pictures import eight_bits, flat, see_through
from stawm.errors import DataError

FORMATS = ("PNG", "JPEG", "WEBP", "BMP")
MOST_PIXELS = 40_000_000
COUNTED = 512
"""Larger pictures are reduced to about this to see whether what is drawn on them is dark."""
LONGEST_NAME = 80


@dataclass(frozen=True)
class Given:
    """A decoded picture by its name: upright, eight bits a channel, with its transparency if it has any."""

    name: str
    picture: Image.Image
    before: tuple[int, int] | None = None
    """The (width, height) that it had before it was reduced, if it was."""

    @property
    def size(self) -> tuple[int, int]:
        """The (width, height) of the picture that was given."""
        return self.before or self.picture.size

    def flat(self, colour: bool, background: int | None = None) -> Image.Image:
        """The picture in mode RGB or L over a grey background (if none is given, that of training pictures)."""
        return flat(self.picture, colour, background)

    @property
    def background(self) -> int:
        """What to put behind a transparent picture so that what is drawn on it shows: 255 behind dark, 0 behind light.

        Where nothing is transparent it does not matter.
        """
        if not see_through(self.picture):
            return 0
        layers = self.picture.convert("LA")
        layers = np.asarray(layers.reduce(max(1, max(layers.size) // COUNTED)), dtype=np.float32)
        levels, opaque = layers[..., 0], layers[..., 1]
        return 255 if (levels * opaque).sum() <= 127.5 * opaque.sum() else 0


def open_given(source: Path | bytes, name: str, most_pixels: int = MOST_PIXELS, limits: Limits = BEARABLE) -> Given:
    """The picture of a file or of bytes; a `DataError` that calls it `name` for all that is not a whole picture.

    Only PNG, JPEG, WebP and BMP are tried. How much work a file is, is checked before it is decoded: what is bearable,
    but beyond the limits, is `Heavy`. Of a film the first frame is taken.
    """
    _be_strict()
    shown = in_words(name)
    try:
        if isinstance(source, Path) and source.exists() and not source.is_file():
            raise DataError(f"{shown} cannot be read (it is a folder, a pipe or a device); give a picture file")
        content = source if isinstance(source, bytes) else _read(source)
        with opened(content, FORMATS, limits) as picture:
            _check_pixels(picture.size, shown, most_pixels)
            small, size = decoded(picture)
            return Given(name, eight_bits(small), size)
    except DataError:
        raise
    except Heavy as failure:
        _check_pixels(failure.size, shown, most_pixels)
        raise
    except TooMuch as failure:
        raise DataError(f"{shown} is too much work ({failure}); save it anew as a plain PNG or JPEG") from failure
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as failure:
        raise DataError(f"{shown} has too many pixels; give a picture of at most {most_pixels:,}") from failure
    except UnidentifiedImageError as failure:
        raise DataError(f"{shown} is not a picture that can be read; give a PNG, JPEG, WebP or BMP") from failure
    except FileNotFoundError as failure:
        raise DataError(f"there is no picture {shown}; give the path of one") from failure
    except MemoryError as failure:
        raise DataError(f"{shown} does not fit into memory; give a smaller picture") from failure
    except Exception as failure:  # Pillow's decoders raise nearly anything on a damaged file.
        reason = in_words(str(failure)) or "it is broken"
        raise DataError(f"{shown} cannot be read ({reason}); give a whole PNG, JPEG, WebP or BMP") from failure


def _check_pixels(size: tuple[int, int], shown: str, most: int) -> None:
    width, height = size
    if width * height > most:
        raise DataError(f"{shown} has {width:,} × {height:,} pixels; give a picture of at most {most:,}")


@cache
def _be_strict() -> None:
    """Refuse decompression bombs, which have too many pixels in any case, and drop remarks on odd metadata.

    For the whole process, since filters that are set for a block do not hold in threads.
    """
    warnings.filterwarnings("error", category=Image.DecompressionBombWarning)
    warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")


def in_words(name: str, longest: int | None = LONGEST_NAME) -> str:
    """A name or reason as it can stand in a message: one line, printable, not endless."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BEARABLE.length + 1)
