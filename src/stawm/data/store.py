"""Pictures of one shape kept as memory-mapped uint8 arrays in the cache folder, so that large sets are decoded once."""

import hashlib
import io
import json
import logging
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from stawm.data.image_set import pixel_digest
from stawm.data.pictures import Frame, Picture, Shape, each
from stawm.data.published import cache_folder
from stawm.files import parsed, whole_file, write_text

logger = logging.getLogger(__name__)

LAYOUT = 2
UNUSED_DAYS = 30
"""Arrays that nobody asked for in so many days are removed when another is written."""


def stored(
    root: Path, parts: Sequence[Sequence[Picture]], shape: Shape, frame: Frame
) -> list[tuple[UInt8[Tensor, "count channel height width"], str]]:
    """For each part its pictures (memory-mapped) and the sha256 of their pixels; decoded only if they changed."""
    kept = cache_folder() / "pictures" / f"{key_of(root, parts, shape, frame)}.npy"
    counts = [len(part) for part in parts]
    if kept.exists():
        try:
            return read(kept, counts, shape)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
            logger.warning("the pictures kept in %s are damaged (%s); they are read anew", kept, failure)
    write(kept, root, parts, shape, frame)
    return read(kept, counts, shape)


def key_of(root: Path, parts: Sequence[Sequence[Picture]], shape: Shape, frame: Frame) -> str:
    """What the array depends on, hashed: the files with their stamps, how they are split, framed and scaled."""
    listed = [[(picture.name, picture.stamp) for picture in part] for part in parts]
    content = json.dumps([LAYOUT, str(root.resolve()), listed, shape, frame.__qualname__])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def read(
    kept: Path, counts: Sequence[int], shape: Shape
) -> list[tuple[UInt8[Tensor, "count channel height width"], str]]:
    """The parts of a kept array with their digests; one that is not as it was written is an error."""
    beside = kept.with_suffix(".json")
    known, whole = parsed(beside.read_bytes()), (sum(counts), *shape)
    header = header_of(whole)
    with kept.open("rb") as file:
        begins = file.read(len(header))
    if begins != header or kept.stat().st_size != len(header) + math.prod(whole):
        raise ValueError(f"it is no whole array of shape {whole}")
    # Copy-on-write: torch wants writable memory, and the file must never change.
    parts = torch.from_numpy(np.memmap(kept, np.uint8, "c", len(header), whole)).split(list(counts))
    digests = [pixel_digest(part) for part in parts]
    if known.get("of", kept.stem) != kept.stem or known["digests"] != digests:
        raise ValueError("its checksum differs")
    with suppress(OSError):  # A cache that may only be read is a cache too.
        beside.touch()
    return list(zip(parts, digests, strict=True))


def header_of(shape: tuple[int, ...]) -> bytes:
    """What a .npy file of unsigned bytes in this shape begins with."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return header.getvalue()


def forget(folder: Path) -> None:
    """Remove the arrays in a folder that nobody has read for long."""
    for beside in folder.glob("*.json"):
        with suppress(OSError):
            if time.time() - beside.stat().st_mtime > UNUSED_DAYS * 86_400:
                beside.with_suffix(".npy").unlink(missing_ok=True)
                beside.unlink()


def write(kept: Path, root: Path, parts: Sequence[Sequence[Picture]], shape: Shape, frame: Frame) -> None:
    """Decode every picture into one array file, and write the sha256 of each part's pixels beside it.

    Rows are written, not mapped: a full disk then is an error with a name, where a mapping would kill the process.
    """
    forget(kept.parent)
    pictures = [picture for part in parts for picture in part]
    hashes = [hashlib.sha256() for _ in parts]
    part_of = [number for number, part in enumerate(parts) for _ in part]
    with whole_file(kept) as partial, partial.open("wb") as rows:
        rows.write(header_of((len(pictures), *shape)))
        for part, pixels in zip(part_of, each(root, pictures, shape, frame), strict=False):
            content = pixels.tobytes()
            hashes[part].update(content)
            rows.write(content)
    digests = [digest.hexdigest() for digest in hashes]
    write_text(kept.with_suffix(".json"), json.dumps({"of": kept.stem, "digests": digests, "from": str(root)}))
