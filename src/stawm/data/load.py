"""Data sets by name: loaded, listed, or brought here."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from stawm.data.data_set import DATA_SETS, DataSet, find_data
from stawm.data.image_set import Splits
from stawm.data.pictures import Shape
from stawm.errors import DataError


def load_data(name: str, *, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
    """The training and held-out pictures of a data set, as uint8.

    `data_dir` is a folder of the user's that wins over every other source. `image` is the (channels, height, width)
    that the caller wants: a set that scales is brought to it, the others must have it.
    """
    record = find_data(name)
    if image is not None and image[0] not in (1, 3):
        raise DataError(f"pictures of {_times(image)} were asked for, but they have 1 channel (grey) or 3 (colour)")
    if record.shape is not None and not record.scales:
        _check_shape(name, record.shape, image)
    splits = record.load(data_dir, image)
    for part in (splits.train, splits.test):
        if part.images.dtype != torch.uint8:
            raise DataError(f"{name} has pictures of {part.images.dtype}; its loader must give uint8, from 0 to 255")
        _check_shape(name, tuple(part.images.shape[1:]), image)
    return splits


def _check_shape(name: str, found: tuple[int, ...], wanted: Shape | None) -> None:
    if wanted is not None and found != tuple(wanted):
        raise DataError(
            f"{name} has pictures of {_times(found)}, but {_times(wanted)} was asked for: change one of them"
        )


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def get_data(name: str, data_dir: Path | None = None) -> Path:
    """Where a data set lies, after it was fetched (if it has to be) and all of it was read and checked."""
    return find_data(name).get(data_dir)


@dataclass(frozen=True)
class DataRecord:
    """A data set as it is listed; None where the answer depends on the user's own pictures."""

    name: str
    about: str
    source: str
    """Where it would come from."""
    train: int | None = None
    test: int | None = None
    classes: int | None = None
    shape: Shape | None = None
    where: str | None = None
    """Where it lies, if it is here."""
    here: bool = False

    def to_dict(self) -> dict[str, Any]:
        """This record as plain JSON values."""
        return asdict(self)


def list_data(data_dir: Path | None = None) -> list[DataRecord]:
    """A record for every data set that has a name, those first that are here; nothing is fetched or checked."""
    records = [_listed(record, data_dir) for record in DATA_SETS.values()]
    return sorted(records, key=lambda record: (not record.here, record.name))


def _listed(known: DataSet, data_dir: Path | None) -> DataRecord:
    try:
        where = known.find(data_dir)
    except DataError:
        where = None
    sizes = (known.train, known.test, len(known.classes) or None, known.shape)
    return DataRecord(known.name, known.about, known.source, *sizes, where and str(where), where is not None)
