"""A small picture in an answer: an array for Python, a PNG for files, a data URL in JSON."""

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, COLOUR, PALETTED = 0, 2, 3
SMALL, QUICK, MUCH = 6, 1, 4096
"""How hard zlib tries, and from how many bytes on it is not worth it."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels, grey [height width] or colour [height width 3]; with a palette, [height width] places in it."""

    array: UInt8[np.ndarray, "..."]
    palette: UInt8[np.ndarray, "256 3"] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        height, width = self.array.shape[:2]
        return width, height

    def png(self) -> bytes:
        """The picture as a PNG file.

        Written by hand: for pictures as small as these it takes a fraction of Pillow's time, and a look has twenty.
        """
        width, height = self.size
        lines = np.zeros((height, 1 + self.array.size // height), np.uint8)  # each begins with its filter: 0, none
        lines[:, 1:] = self.array.reshape(height, -1)
        kind = PALETTED if self.palette is not None else GREY if self.array.ndim == 2 else COLOUR
        head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
        colours = b"" if self.palette is None else _chunk(b"PLTE", self.palette.tobytes())
        packed = zlib.compress(lines.tobytes(), SMALL if self.array.size < MUCH else QUICK)
        return SIGNATURE + _chunk(b"IHDR", head) + colours + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")

    def url(self) -> str:
        """The picture as a data URL."""
        return f"data:image/png;base64,{base64.b64encode(self.png()).decode('ascii')}"

    def image(self) -> Image.Image:
        """The picture as Pillow has it, in mode L or RGB."""
        return Image.fromarray(self.array if self.palette is None else self.palette[self.array])

    _repr_png_ = png  # What a notebook shows.

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """In descriptions of JSON, which pydantic makes where it is installed, a picture is a string."""
        from pydantic_core import core_schema

        return core_schema.str_schema(metadata={"pydantic_js_updates": {"description": "A PNG as a data URL."}})


def picture_of(levels: UInt8[Tensor, "channel height width"]) -> Picture:
    """Grey or colour pixels as a picture."""
    return Picture((levels[0] if levels.shape[0] == 1 else levels.permute(1, 2, 0)).cpu().numpy())


def pictures_of(images: Float[Tensor, "batch glimpse channel height width"]) -> list[list[Picture]]:
    """Images in [0, 1] as pictures."""
    levels = (images.float().clamp(0, 1) * 255).round().to(torch.uint8).cpu().numpy()
    levels = levels[:, :, 0] if levels.shape[2] == 1 else np.moveaxis(levels, 2, -1)
    return [[Picture(one) for one in row] for row in levels]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
