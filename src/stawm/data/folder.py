"""What pictures lie in a folder: class sub-folders or none, split as they lie or by a fixed hash."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stawm.data.pictures import Picture
from stawm.errors import DataError

HELD_OUT = 0.1
HELD_OUT_FOLDERS = ("test", "val", "valid", "validation")
NOT_OURS = {"thumbs.db", "desktop.ini"}


@dataclass(frozen=True)
class Listing:
    """The pictures of a folder with their labels (none when the folder is flat), and the classes these stand for."""

    pictures: tuple[Picture, ...]
    labels: tuple[int, ...] | None
    classes: tuple[str, ...]


def split_folder(root: Path) -> tuple[Listing, Listing]:
    """What to learn from and what is held out.

    A folder with `train` (and `test` or `val`) is taken as it lies; of any other, 10 % of each class is held out.
    """
    if not root.is_dir():
        raise DataError(f"{root} is not a folder: give folder:PATH with the path of a folder of pictures")
    parts = [entry.name for entry in visible(root) if entry.is_dir()]
    if "train" not in parts or not set(parts) <= {"train", *HELD_OUT_FOLDERS}:
        return hold_out(list_pictures(root, root), root)
    refuse_loose(root)
    train = list_pictures(root / "train", root)
    held = next((part for part in HELD_OUT_FOLDERS if part in parts), None)
    if held is None:
        return hold_out(train, root)
    test = list_pictures(root / held, root)
    if strange := sorted(set(test.classes) - set(train.classes)):
        raise DataError(f"{root / held} has classes that {root / 'train'} lacks ({', '.join(strange[:3])}): add them")
    if train.labels is not None and test.labels is None:
        raise DataError(f"{root / held} has no class sub-folders, but {root / 'train'} has: sort its pictures likewise")
    renumbered = test.labels and tuple(train.classes.index(test.classes[label]) for label in test.labels)
    return shuffled(train), shuffled(Listing(test.pictures, renumbered, train.classes))


def visible(folder: Path) -> list[Path]:
    """What lies in a folder, in order of name, without hidden files and those that file managers leave behind."""
    return sorted(
        entry for entry in folder.iterdir() if not entry.name.startswith(".") and entry.name.lower() not in NOT_OURS
    )


def refuse_loose(folder: Path) -> None:
    """Refuse files that lie beside sub-folders, where nobody can tell what they belong to."""
    if loose := [entry.name for entry in visible(folder) if not entry.is_dir()]:
        named = ", ".join(loose[:3]) + (f" and {len(loose) - 3} more" if len(loose) > 3 else "")
        raise DataError(f"{folder} has files beside its sub-folders: {named}; move them into one, or elsewhere")


def list_pictures(folder: Path, root: Path) -> Listing:
    """The pictures of a folder, named from `root`: one class for each sub-folder, or no classes when it has none."""
    entries = visible(folder)
    if not entries:
        raise DataError(f"{folder} is empty: put pictures in it, all together or in one sub-folder for each class")
    classes = [entry for entry in entries if entry.is_dir()]
    if not classes:
        return Listing(tuple(picture_at(entry, root) for entry in entries), None, ())
    refuse_loose(folder)
    pictures: list[Picture] = []
    labels: list[int] = []
    for label, place in enumerate(classes):
        found = [picture_at(path, root) for path in files_under(place)]
        if not found:
            raise DataError(f"{place} is empty: put pictures of class {place.name} in it, or remove it")
        pictures += found
        labels += [label] * len(found)
    return Listing(tuple(pictures), tuple(labels), tuple(place.name for place in classes))


def files_under(folder: Path) -> Iterable[Path]:
    """Every visible file in a folder and the folders below it, in order of name."""
    for entry in visible(folder):
        if entry.is_dir():
            yield from files_under(entry)
        else:
            yield entry


def picture_at(path: Path, root: Path) -> Picture:
    """The picture of a file, stamped with its size and the time it was changed."""
    seen = os.stat(path)
    return Picture(path.relative_to(root).as_posix(), f"{seen.st_size} {seen.st_mtime_ns}")


def drawn(name: str) -> bytes:
    """The place of a name in a shuffled order that is the same on every machine, whatever else lies in the folder."""
    return hashlib.sha256(f"stawm 0 {name}".encode()).digest()


def shuffled(listing: Listing) -> Listing:
    """The same pictures in a fixed shuffled order, so that a slice of them holds all classes."""
    order = sorted(range(len(listing.pictures)), key=lambda row: drawn(listing.pictures[row].name))
    return chosen(listing, order)


def chosen(listing: Listing, rows: Iterable[int]) -> Listing:
    """The rows of a listing, in the order given."""
    rows = list(rows)
    labels = listing.labels and tuple(listing.labels[row] for row in rows)
    return Listing(tuple(listing.pictures[row] for row in rows), labels, listing.classes)


def hold_out(listing: Listing, root: Path, share: float = HELD_OUT) -> tuple[Listing, Listing]:
    """A listing in two: of each class the first `share` in the shuffled order (at least one of two) is held out."""
    mixed = shuffled(listing)
    labels = mixed.labels or (0,) * len(mixed.pictures)
    held: set[int] = set()
    for label in sorted(set(labels)):
        rows = [row for row, other in enumerate(labels) if other == label]
        held.update(rows[: max(round(share * len(rows)), 1 if len(rows) > 1 else 0)])
    if not held:
        raise DataError(f"{root} has too few pictures to hold any out: put at least two of a class in it")
    everything = range(len(labels))
    return chosen(mixed, (row for row in everything if row not in held)), chosen(mixed, sorted(held))
