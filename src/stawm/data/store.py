"""Pictures of one shape kept as memory-mapped uint8 arrays in the cache folder, so that large sets are decoded once."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from stawm.data.pictures import Frame, Picture, Shape, each
from stawm.data.published import cache_folder
from stawm.files import whole_file, write_text

LAYOUT = 1


def stored(
    root: Path, parts: Sequence[Sequence[Picture]], shape: Shape, frame: Frame
) -> list[tuple[UInt8[Tensor, "count channel height width"], str]]:
    """For each part its pictures (memory-mapped) and the sha256 of their pixels; decoded only if they changed."""
    kept = cache_folder() / "pictures" / f"{key_of(root, parts, shape, frame)}.npy"
    digests = known_digests(kept)
    if digests is None:
        digests = write(kept, root, parts, shape, frame)
    # Copy-on-write: torch wants writable memory, and the file must never change.
    images = torch.from_numpy(np.lib.format.open_memmap(kept, mode="c"))
    return list(zip(images.split([len(part) for part in parts]), digests, strict=True))


def key_of(root: Path, parts: Sequence[Sequence[Picture]], shape: Shape, frame: Frame) -> str:
    """What the array depends on, hashed: the files with their stamps, how they are split, framed and scaled."""
    listed = [[(picture.name, picture.stamp) for picture in part] for part in parts]
    content = json.dumps([LAYOUT, str(root.resolve()), listed, shape, frame.__qualname__])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def known_digests(kept: Path) -> list[str] | None:
    """The digests beside a kept array, if both are there and the array is whole."""
    try:
        beside = json.loads(kept.with_suffix(".json").read_text(encoding="utf-8"))
        return beside["digests"] if kept.stat().st_size == beside["bytes"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(kept: Path, root: Path, parts: Sequence[Sequence[Picture]], shape: Shape, frame: Frame) -> list[str]:
    """Decode every picture into one array file and return the sha256 of each part's pixels.

    Rows are written, not mapped: a full disk then is an error with a name, where a mapping would kill the process.
    """
    pictures = [picture for part in parts for picture in part]
    header = {"descr": "|u1", "fortran_order": False, "shape": (len(pictures), *shape)}
    hashes = [hashlib.sha256() for _ in parts]
    part_of = [number for number, part in enumerate(parts) for _ in part]
    with whole_file(kept) as partial:
        with partial.open("wb") as rows:
            np.lib.format.write_array_header_1_0(rows, header)
            for part, pixels in zip(part_of, each(root, pictures, shape, frame), strict=False):
                content = pixels.tobytes()
                hashes[part].update(content)
                rows.write(content)
        size = partial.stat().st_size
    digests = [digest.hexdigest() for digest in hashes]
    write_text(kept.with_suffix(".json"), json.dumps({"digests": digests, "bytes": size, "from": str(root)}))
    return digests
