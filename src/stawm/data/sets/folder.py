"""A folder of the user's own pictures, as folder:PATH: with class sub-folders or none, split by a fixed hash."""

import hashlib
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import median

import torch

from stawm.data.data_set import DATA_SETS, DataSet, Facts
from stawm.data.image_set import Splits, image_set
from stawm.data.pictures import Picture, Shape, each, shape_of, whole
from stawm.data.store import stored
from stawm.errors import DataError, UsageError
from stawm.files import placed, real

logger = logging.getLogger(__name__)

NAME = "folder"
HELD_OUT = 0.1
HELD_OUT_FOLDERS = ("test", "val", "valid", "validation")
NOT_OURS = {"thumbs.db", "desktop.ini"}
LONGEST = 64
"""The longer edge that large pictures get: what the paper's largest, the faces, have."""
LOOKED_AT = 256
"""Headers read to tell what a folder holds: enough to meet what is not rare, in well under a second."""


@dataclass(frozen=True)
class Listing:
    """The pictures of a folder with their labels (none when the folder is flat), and the classes these stand for."""

    pictures: tuple[Picture, ...]
    labels: tuple[int, ...] | None
    classes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FolderSet(DataSet):
    """The pictures under a folder; without one, any pictures of a user's."""

    path: str = ""

    @property
    def root(self) -> Path:
        """The folder."""
        if not self.path:
            raise UsageError("folder: has no path after it; write folder:PATH with the path of a folder of pictures")
        return placed(Path(self.path).expanduser())

    def of(self, argument: str) -> DataSet:
        """The record of folder:PATH."""
        return replace(self, name=f"{NAME}:{argument}", path=argument)

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """The pictures in the shape `image` (that of the first by name if not given)."""
        train, test = split_folder(self.root)
        first = min((*train.pictures, *test.pictures), key=lambda picture: picture.name)
        kept = stored(self.root, [train.pictures, test.pictures], image or shape_of(self.root, first), whole)
        labels = [None if part.labels is None else torch.tensor(part.labels) for part in (train, test)]
        parts = zip(kept, labels, strict=True)
        return Splits(
            *(image_set(self.name, images, known, train.classes, pixels) for (images, pixels), known in parts)
        )

    def find(self, data_dir: Path | None = None) -> Path | None:
        """The folder, if it is there."""
        return self.root if self.path and self.root.is_dir() else None

    def get(self, data_dir: Path | None = None) -> Path:
        """The folder, after every picture was decoded and none kept; what cannot be used is named."""
        train, test = split_folder(self.root)
        for _ in each(self.root, (*train.pictures, *test.pictures), (3, 1, 1), whole):
            pass
        return self.root

    def facts(self, data_dir: Path | None = None) -> Facts:
        """What the headers of some pictures, spread evenly over all, tell."""
        train, test = split_folder(self.root)
        pictures = sorted((*train.pictures, *test.pictures), key=lambda picture: picture.name)
        return Facts(common_shape(self.root, pictures), train.classes, len(pictures))


def common_shape(root: Path, pictures: Sequence[Picture]) -> Shape:
    """A shape that suits all pictures: theirs if they have a small one in common, else their median proportions.

    In colour if any is.
    """
    seen = [shape_of(root, picture) for picture in pictures[:: -(-len(pictures) // LOOKED_AT)]]
    channels = max(shape[0] for shape in seen)
    sizes = {(height, width) for _, height, width in seen}
    if len(sizes) == 1 and max(seen[0][1:]) <= LONGEST:
        return (channels, *sizes.pop())
    aspect = median(width / height for _, height, width in seen)
    height, width = (LONGEST / max(aspect, 1), LONGEST * min(aspect, 1))
    return (channels, max(round(height), 1), max(round(width), 1))


def split_folder(root: Path) -> tuple[Listing, Listing]:
    """What to learn from and what is held out.

    A folder with `train` (and `test` or `val`), in any case, is taken as it lies; of any other, 10 % of each class is
    held out.
    """
    if not root.is_dir():
        here = "" if root.is_absolute() else f" in {Path.cwd()}"
        raise DataError(
            f"{root} is not a folder{here}: give folder:PATH with the path of a folder of pictures, as --data where "
            "a trained model is shown others"
        )
    folders = [entry for entry in visible(root) if entry.is_dir()]
    parts = {folder.name.lower(): folder for folder in folders}
    if "train" not in parts or not set(parts) <= {"train", *HELD_OUT_FOLDERS} or len(parts) < len(folders):
        return hold_out(list_pictures(root, root), root)
    _refuse_loose(root)
    learnt = parts["train"]
    train = list_pictures(learnt, root)
    held = next((parts[part] for part in HELD_OUT_FOLDERS if part in parts), None)
    if held is None:
        return hold_out(train, root)
    test = list_pictures(held, root)
    if strange := sorted(set(test.classes) - set(train.classes)):
        raise DataError(f"{held} has classes that {learnt} lacks ({', '.join(strange[:3])}): add them")
    if train.labels is not None and test.labels is None:
        raise DataError(f"{held} has no class sub-folders, but {learnt} has: sort its pictures likewise")
    renumbered = test.labels and tuple(train.classes.index(test.classes[label]) for label in test.labels)
    return shuffled(train), shuffled(Listing(test.pictures, renumbered, train.classes))


def visible(folder: Path) -> list[Path]:
    """The files and folders in a folder, in order of name, without those that are hidden or left by file managers.

    What is neither file nor folder (a pipe, a socket, a link to nothing or to itself) is passed over, which is said.
    """
    found: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name.lower() in NOT_OURS:
                    continue
                path = folder / entry.name
                if _is_either(entry):
                    found.append(path)
                else:
                    _pass_over(path, "it is neither a file nor a folder")
    except OSError as failure:
        raise DataError(f"{folder} cannot be read ({failure.strerror}); give another folder") from failure
    return sorted(found)


def _is_either(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file() or entry.is_dir()
    except OSError:  # A link to itself.
        return False


@cache
def _pass_over(path: Path, why: str) -> None:
    """Say, once, that something in a folder is not used."""
    logger.warning("%s is passed over: %s", path, why)


def _refuse_loose(folder: Path) -> None:
    """Beside sub-folders nobody can tell what a file belongs to."""
    if loose := [entry.name for entry in visible(folder) if not entry.is_dir()]:
        named = ", ".join(loose[:3]) + (f" and {len(loose) - 3} more" if len(loose) > 3 else "")
        raise DataError(f"{folder} has files beside its sub-folders: {named}; move them into one, or elsewhere")


def _refuse_bytes(classes: Sequence[Path]) -> None:
    """A class is called after its folder, in files of text."""
    for place in classes:
        try:
            place.name.encode()
        except UnicodeEncodeError as failure:
            raise DataError(f"{place} has a name that is not UTF-8; rename it, for a class is called so") from failure


def list_pictures(folder: Path, root: Path) -> Listing:
    """The pictures of a folder, named from `root`: one class for each sub-folder, or no classes when it has none."""
    entries = visible(folder)
    if not entries:
        raise DataError(f"{folder} is empty: put pictures in it, all together or in one sub-folder for each class")
    classes = [entry for entry in entries if entry.is_dir()]
    if not classes:
        return Listing(tuple(picture_at(entry, root) for entry in entries), None, ())
    _refuse_loose(folder)
    classes = _apart(classes, folder)
    _refuse_bytes(classes)
    places = {real(folder), *map(real, classes)}
    found = [[picture_at(path, root) for path in files_under(place, set(places))] for place in classes]
    for place, pictures in zip(classes, found, strict=True):
        if not pictures:
            raise DataError(f"{place} is empty: put pictures of class {place.name} in it, or remove it")
    labels = tuple(label for label, pictures in enumerate(found) for _ in pictures)
    return Listing(tuple(chain(*found)), labels, tuple(place.name for place in classes))


def _apart(classes: Sequence[Path], folder: Path) -> list[Path]:
    """The class folders, without links to the folder that they are in, to one above it, or to another class."""
    above = real(folder)
    seen, kept = {above, *above.parents}, list[Path]()
    for place in sorted(classes, key=lambda place: place.is_symlink()):
        if real(place) in seen:
            _pass_over(place, "it is a link to a folder that was read already")
        else:
            seen.add(real(place))
            kept.append(place)
    return sorted(kept)


def files_under(folder: Path, seen: set[Path] | None = None) -> Iterable[Path]:
    """Every visible file in a folder and the folders below it, in order of name.

    A folder that is met again by way of a link is passed over, or a link to a folder above would never end.
    """
    seen = seen if seen is not None else set()
    seen.add(folder.resolve())
    for entry in visible(folder):
        if not entry.is_dir():
            yield entry
        elif entry.resolve() in seen:
            _pass_over(entry, "it is a link to a folder that was read already")
        else:
            yield from files_under(entry, seen)


def picture_at(path: Path, root: Path) -> Picture:
    """The picture of a file, stamped with its size and the time it was changed."""
    seen = path.stat()
    return Picture(path.relative_to(root).as_posix(), f"{seen.st_size} {seen.st_mtime_ns}")


def drawn(name: str) -> bytes:
    """The place of a name in a shuffled order that is the same on every machine, whatever else lies in the folder."""
    # Names of files are bytes on most systems, and need not be text.
    return hashlib.sha256(f"stawm 0 {name}".encode("utf-8", "surrogateescape")).digest()


def shuffled(listing: Listing) -> Listing:
    """The same pictures in a fixed shuffled order, so that a slice of them holds all classes."""
    return _chosen(listing, sorted(range(len(listing.pictures)), key=lambda row: drawn(listing.pictures[row].name)))


def _chosen(listing: Listing, rows: Sequence[int]) -> Listing:
    labels = listing.labels and tuple(listing.labels[row] for row in rows)
    return Listing(tuple(listing.pictures[row] for row in rows), labels, listing.classes)


def hold_out(listing: Listing, root: Path) -> tuple[Listing, Listing]:
    """A listing in two: of each class the first tenth in the shuffled order (at least one of two) is held out."""
    mixed = shuffled(listing)
    labels = mixed.labels or (0,) * len(mixed.pictures)
    held: set[int] = set()
    for label in sorted(set(labels)):
        rows = [row for row, other in enumerate(labels) if other == label]
        held.update(rows[: max(round(HELD_OUT * len(rows)), 1 if len(rows) > 1 else 0)])
    if not held:
        raise DataError(f"{root} has too few pictures to hold any out: put at least two of a class in it")
    return _chosen(mixed, [row for row in range(len(labels)) if row not in held]), _chosen(mixed, sorted(held))


FOLDER = FolderSet(
    name=f"{NAME}:PATH",
    about="your own pictures: a sub-folder for each class, or all together",
    source="a folder of yours",
    scales=True,
)
DATA_SETS.add(NAME, FOLDER)
