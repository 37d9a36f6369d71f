"""One look at one picture as plain values, and as the JSON that reports, scripts and the web page share."""

import base64
import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt8

from stawm.data.prepare.placed import Placed
from stawm.look.memory_view import PALETTE, MemoryView

DIGITS = 4
"""Decimals of every number in a payload."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, COLOUR, PALETTED = 0, 2, 3
SMALL, QUICK, MUCH = 6, 1, 4096
"""How hard zlib tries, and from how many bytes on it is not worth it."""

Pixels = UInt8[np.ndarray, "..."]
"""Grey [height width] or colour [height width 3]."""
Corners = tuple[tuple[float, float], ...]
"""Top left, top right, bottom right, bottom left, in pixels of the image: 0 is its left edge, its width the right."""


@dataclass(frozen=True)
class SeenGlimpse:
    """One glimpse: where it lies, what was seen, and what was believed and drawn after it."""

    outline: Corners
    outside: float
    """The share of the glimpse that lies outside the image."""
    glimpse: Pixels
    belief: tuple[float, ...] | None
    sketch: Pixels | None
    """The patch as it would show on an empty canvas, on its own."""
    sketch_outline: Corners | None
    """Where on the canvas the sketch was pasted; none where the pose has no inverse."""
    canvas: Pixels | None
    """All sketches up to this one."""


@dataclass(frozen=True)
class Seen:
    """One look at one picture."""

    name: str
    model: str
    inverted: bool
    notes: tuple[str, ...]
    classes: tuple[str, ...]
    image: Pixels
    """What the model was shown, after preparation."""
    glimpses: tuple[SeenGlimpse, ...]
    memory: MemoryView | None = None
    placed: Placed | None = None
    """Where the image lies in the picture that was given; nowhere if nothing was found in that."""

    @property
    def belief(self) -> tuple[float, ...] | None:
        """The model's answer: the belief after the last glimpse; none of a model that does not classify."""
        return self.glimpses[-1].belief

    @property
    def prediction(self) -> str | None:
        """The class that is believed most at the end."""
        return None if self.belief is None else self.classes[_highest(self.belief)]

    @property
    def confidence(self) -> float | None:
        """How much it is believed."""
        return None if self.belief is None else max(self.belief)

    def believed(self) -> list[tuple[str, float]]:
        """The class that was believed most after each glimpse, and how much; empty for a model that only draws."""
        beliefs = [glimpse.belief for glimpse in self.glimpses if glimpse.belief is not None]
        return [(self.classes[_highest(belief)], max(belief)) for belief in beliefs]

    def payload(self) -> dict[str, Any]:
        """This look as JSON values; pictures are data URLs, numbers have four decimals."""
        height, width = self.image.shape[:2]
        return {
            "name": self.name,
            "model": self.model,
            "inverted": self.inverted,
            "notes": list(self.notes),
            "prediction": self.prediction,
            "confidence": None if self.confidence is None else rounded(self.confidence),
            "classes": list(self.classes),
            "image": {"width": width, "height": height, "png": png_url(self.image)},
            "given": None if self.placed is None else _given(self.placed),
            "glimpses": [_glimpse(number, glimpse) for number, glimpse in enumerate(self.glimpses, 1)],
            "memory": None if self.memory is None else _memory(self.memory),
        }


def png_url(pixels: Pixels, palette: UInt8[np.ndarray, "256 3"] | None = None) -> str:
    """Grey or colour pixels, or places in a palette, as a data URL."""
    return f"data:image/png;base64,{base64.b64encode(png_of(pixels, palette)).decode('ascii')}"


def png_of(pixels: Pixels, palette: UInt8[np.ndarray, "256 3"] | None = None) -> bytes:
    """Grey or colour pixels, or places in a palette, as a PNG file.

    Written by hand: for pictures as small as these it takes a fraction of Pillow's time, and a look has twenty.
    """
    height, width = pixels.shape[:2]
    lines = np.zeros((height, 1 + pixels.size // height), np.uint8)  # each begins with its filter: 0, none
    lines[:, 1:] = pixels.reshape(height, -1)
    kind = PALETTED if palette is not None else GREY if pixels.ndim == 2 else COLOUR
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    colours = b"" if palette is None else _chunk(b"PLTE", palette.tobytes())
    packed = zlib.compress(lines.tobytes(), SMALL if pixels.size < MUCH else QUICK)
    return SIGNATURE + _chunk(b"IHDR", head) + colours + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def rounded(value: float) -> float:
    """A number as it stands in a payload; JSON knows no infinity, so what is not finite becomes 0."""
    return round(value, DIGITS) if math.isfinite(value) else 0.0


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _highest(belief: tuple[float, ...]) -> int:
    return max(range(len(belief)), key=belief.__getitem__)


def _corners(corners: Corners | None) -> list[list[float]] | None:
    return None if corners is None else [[rounded(x), rounded(y)] for x, y in corners]


def _given(placed: Placed) -> dict[str, float]:
    return {
        "width": placed.width,
        "height": placed.height,
        "left": rounded(placed.left),
        "top": rounded(placed.top),
        "scale": rounded(placed.scale),
    }


def _glimpse(number: int, seen: SeenGlimpse) -> dict[str, Any]:
    return {
        "number": number,
        "outline": _corners(seen.outline),
        "outside": rounded(seen.outside),
        "glimpse": png_url(seen.glimpse),
        "belief": None if seen.belief is None else [rounded(share) for share in seen.belief],
        "sketch": None if seen.sketch is None else png_url(seen.sketch),
        "sketch_outline": _corners(seen.sketch_outline),
        "canvas": None if seen.canvas is None else png_url(seen.canvas),
    }


def _memory(view: MemoryView) -> dict[str, Any]:
    return {
        "size": view.size,
        "steps": [
            {
                "matrix": png_url(step.matrix, PALETTE),
                "scale": rounded(view.scale),
                "norm": rounded(step.norm),
                "singular_values": [rounded(value) for value in step.singular_values],
            }
            for step in view.steps
        ],
        "similarity": [[rounded(cosine) for cosine in row] for row in view.similarity],
        "recall": [{"cosine": rounded(recall.cosine), "best": recall.best} for recall in view.recalls],
    }
