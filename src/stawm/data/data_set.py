"""A data set as one record, and all of them by name: those of this package, of other packages, of a user's script."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from stawm.data.image_set import Splits
from stawm.data.pictures import Frame, Shape, whole
from stawm.data.prepare.given import Given
from stawm.data.prepare.prepared import Prepared, as_given, in_frame
from stawm.errors import DataError, UsageError
from stawm.registry import Registry

Loader = Callable[[Path | None, Shape | None], Splits]
Preparer = Callable[[Given, Shape, Frame], Prepared]


@dataclass(frozen=True)
class Facts:
    """What a model must know of pictures before it sees them."""

    shape: Shape
    classes: tuple[str, ...] = ()
    """Their names; none where the pictures have no labels."""
    pictures: int | None = None
    """How many there are, to learn from and held out, if that is known."""
    cells: tuple[int, int] | None = None
    """Of scenes: the rows and columns of places that can be asked about."""


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """All that is known about one data set.

    A name, a phrase and a loader are enough. A set that lies somewhere, is fetched, or takes an argument is a subclass
    with methods of its own.
    """

    name: str
    about: str
    """What it holds, in one phrase."""
    loader: Loader | None = field(default=None, compare=False)
    """From the user's folder and the shape that is wanted (both may be None) to training and held-out pictures."""
    classes: tuple[str, ...] = ()
    shape: Shape | None = None
    """(channels, height, width) of its pictures, or those that they get unless others are asked for."""
    scales: bool = False
    """Whether its pictures are brought to any shape that is asked for."""
    train: int | None = None
    test: int | None = None
    source: str = "code of yours"
    """Where it would come from."""
    place: Path | None = None
    """The file or folder that holds it, if there is one that is always here."""
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The md5 of each of its files, where these are known."""
    frame: Frame = field(default=whole, compare=False)
    """The part of a user's picture that a model which learnt from this set is shown."""
    preparer: Preparer = field(default=in_frame, compare=False)
    """How such a picture is made like those of this set."""
    preparation: str = "the largest centred part that has the proportions of the image, scaled to it"
    """The same in a phrase, for those who write it in another language."""
    terms: str = "The pictures are not among those that stawm knows; ask their owner."
    """Whose the pictures are, and what may be done with them."""
    research_only: bool = False
    """Whether the terms are narrower than the licence of stawm, and hold for what was learnt from the set too."""

    def of(self, argument: str) -> "DataSet":
        """The record of NAME:ARGUMENT."""
        raise UsageError(f"{self.name}:{argument} is no data set: nothing may follow {self.name}")

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """The pictures to learn from and those held out; whether they have the shape `image` is for others to check."""
        if self.loader is None:
            raise UsageError(f"the data set {self.name} has no loader; give it a function from (data_dir, image)")
        return self.loader(data_dir, image)

    def find(self, data_dir: Path | None = None) -> Path | None:
        """Where it lies, if it is here; a set that code makes lies in that code."""
        code = getattr(self.loader, "__code__", None)
        return self.place or (code and Path(code.co_filename))

    def get(self, data_dir: Path | None = None) -> Path:
        """Where it lies, after it was brought here (if it has to be) and all of it was read and checked."""
        self.load(data_dir)
        return self.find(data_dir) or Path.cwd()

    def facts(self, data_dir: Path | None = None) -> Facts:
        """Shape and classes of its pictures, by the cheapest way."""
        if self.shape is not None:
            return Facts(self.shape, self.classes, self.train and self.test and self.train + self.test)
        splits = self.load(data_dir)
        _, channels, height, width = splits.train.images.shape
        return Facts((channels, height, width), splits.train.classes, len(splits.train) + len(splits.test))

    def prepare(self, given: Given, shape: Shape) -> Prepared:
        """A user's picture for a model that learnt from this set; cheap, without the model, and safe in threads."""
        return as_given(self.preparer(given, shape, self.frame), given)


DATA_SETS: Registry[DataSet] = Registry("data set", home="stawm.data.sets", group="stawm.data")


def find_data(name: str) -> DataSet:
    """The record of a name, or of NAME:ARGUMENT such as folder:PATH; an unknown one is a `UsageError`."""
    if name in DATA_SETS:
        return DATA_SETS[name]
    prefix, colon, argument = name.partition(":")
    return DATA_SETS[prefix].of(argument) if colon else DATA_SETS[name]


def learnt_from(name: str) -> DataSet:
    """The record of the set that a model learnt from; where that is not known here, the one for folders of pictures."""
    try:
        return find_data(name)
    except UsageError:
        return DATA_SETS["folder"]


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
        raise DataError(f"{name} has pictures of {_times(found)}, but {_times(wanted)} was asked for: change one")


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
    records: list[DataRecord] = []
    for known in DATA_SETS.values():
        try:
            where = known.find(data_dir)
        except DataError:
            where = None
        sizes = (known.train, known.test, len(known.classes) or None, known.shape)
        place = (where and str(where), where is not None)
        records.append(DataRecord(known.name, known.about, known.source, *sizes, *place))
    return sorted(records, key=lambda record: (not record.here, record.name))
