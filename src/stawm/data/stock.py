"""What data sets there are, which of them are here, and bringing one here: for the command line."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stawm.data import celeba
from stawm.data.catalogue import DIGITS, PUBLISHED
from stawm.data.fetch import sources
from stawm.data.folder import check_folder
from stawm.data.load import (
    EMBEDDED,
    EMBEDDED_FILE,
    EMBEDDED_SHAPE,
    EMBEDDED_TRAIN,
    FOLDER,
    celeba_root,
    folder_root,
    load_data,
    published_place,
    unknown,
)
from stawm.data.places import contents, find
from stawm.errors import DataError


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
    shape: tuple[int, int, int] | None = None
    where: str | None = None
    """Where it lies, if it is here."""
    here: bool = False

    def to_dict(self) -> dict[str, Any]:
        """This record as plain JSON values."""
        return asdict(self)


def list_data(data_dir: Path | None = None) -> list[DataRecord]:
    """A record for every data set that has a name; nothing is fetched and no content is checked."""
    records = [
        DataRecord(
            name=EMBEDDED,
            about="5,000 of MNIST's training digits, grey",
            source="comes with stawm",
            train=EMBEDDED_TRAIN,
            test=5_000 - EMBEDDED_TRAIN,
            classes=len(DIGITS),
            shape=EMBEDDED_SHAPE,
            where=str(EMBEDDED_FILE),
            here=True,
        )
    ]
    for published in PUBLISHED.values():
        where = place_of(published.name, data_dir)
        records.append(
            DataRecord(
                name=published.name,
                about=published.about,
                source=", then ".join(source for source, _ in sources(published)),
                train=published.train,
                test=published.test,
                classes=len(published.classes),
                shape=published.shape,
                where=where,
                here=where is not None,
            )
        )
    where = place_of(celeba.NAME, data_dir)
    faces = DataRecord(
        name=celeba.NAME,
        about="aligned faces, colour, no labels",
        source=f"your own copy: {celeba.ARCHIVE} or a folder of its pictures",
        shape=celeba.SHAPE,
        where=where,
        here=where is not None,
    )
    yours = DataRecord(
        name=f"{FOLDER}PATH",
        about="your own pictures: a sub-folder for each class, or all together",
        source="a folder of yours",
    )
    return [*records, faces, yours]


def place_of(name: str, data_dir: Path | None) -> str | None:
    """Where a named set lies, if it is here."""
    try:
        if name == celeba.NAME:
            root = celeba.find_celeba(data_dir)
            return root and str(root)
        place = find(PUBLISHED[name], data_dir)
        return place and str(place.folder)
    except DataError:
        return None


def get_data(name: str, data_dir: Path | None = None) -> Path:
    """Where a data set lies, after it was fetched (if it has to be) and all of it was read and checked."""
    if name == EMBEDDED:
        load_data(name)
        return EMBEDDED_FILE
    if name in PUBLISHED:
        place = published_place(PUBLISHED[name], data_dir)
        contents(PUBLISHED[name], place)
        return place.folder
    if name == celeba.NAME:
        load_data(name, data_dir=data_dir)
        return celeba_root(data_dir)
    if name.startswith(FOLDER):
        check_folder(folder_root(name))
        return folder_root(name)
    raise unknown(name)
