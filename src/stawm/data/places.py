"""Where the files of a published set lie on this machine, and their checked contents."""

import gzip
import hashlib
import os
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from stawm.data.data_set import DATA_SETS
from stawm.data.published import Published
from stawm.errors import DataError

UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError)


@dataclass(frozen=True)
class Place:
    """A folder that has every file of a set: each wanted name with the file (plain, .gz or archive) that holds it."""

    folder: Path
    holders: dict[str, Path]
    cached: bool = False


def cache_folder() -> Path:
    """The folder for everything that can be fetched or made again: STAWM_CACHE, or the system's cache folder."""
    if chosen := os.environ.get("STAWM_CACHE"):
        return Path(chosen).expanduser()
    try:
        import pooch
    except ImportError as failure:
        raise DataError(
            "the place of the cache folder needs pooch: pip install 'stawm[data]', or set STAWM_CACHE"
        ) from failure
    return Path(pooch.os_cache("stawm"))


def given_folders(data_dir: Path | None) -> Iterator[tuple[Path, bool]]:
    """The user's own folders, the strongest first, and whether each was asked for in so many words."""
    if data_dir is not None:
        yield Path(data_dir).expanduser(), True
    elif chosen := os.environ.get("STAWM_DATA"):
        yield Path(chosen).expanduser(), False


def place_in(folder: Path, published: Published) -> Place | None:
    """The place of a set in `folder` or the usual sub-folders of it, if all of its files are there."""
    for inside in (published.name, *published.folders, *(f"{published.name}/{sub}" for sub in published.folders), "."):
        holders = {name: holder for name in published.files if (holder := _holder(folder / inside, name, published))}
        if len(holders) == len(published.files):
            return Place(folder / inside, holders)
    return None


def _holder(folder: Path, name: str, published: Published) -> Path | None:
    names = (name, f"{name}.gz", name.replace("-idx", ".idx"), *published.archives)
    return next((folder / candidate for candidate in names if (folder / candidate).is_file()), None)


def find(published: Published, data_dir: Path | None) -> Place | None:
    """The place that a set would be read from: a folder that is given wins over the cache folder."""
    for folder, asked in given_folders(data_dir):
        if place := place_in(folder, published):
            return place
        if asked:
            raise DataError(f"{folder} does not have the files of {published.name}: {by_hand(published, folder)}")
    place = place_in(cache_folder(), published)
    return place and replace(place, cached=True)


def by_hand(published: Published, folder: Path) -> str:
    """What to put where, for people who bring the files themselves."""
    instead = "".join(f" or {archive}" for archive in published.archives)
    wanted = f"{', '.join(published.files)} (plain or .gz{instead})"
    return f"put {wanted} in {folder / published.name}"


def contents(published: Published, place: Place) -> dict[str, bytes]:
    """Every file of a set, unpacked and equal to the published md5; a misfit is named, and removed from the cache."""
    whole: dict[str, bytes] = {}
    unpacked: dict[Path, dict[str, bytes]] = {}
    for name, holder in place.holders.items():
        try:
            if holder.name in published.archives:
                if holder not in unpacked:
                    unpacked[holder] = members(holder)
                whole[name] = unpacked[holder][name]
            else:
                whole[name] = gzip.decompress(holder.read_bytes()) if holder.suffix == ".gz" else holder.read_bytes()
        except (*UNREADABLE, KeyError) as failure:
            raise DataError(f"{holder} is truncated or cannot be read: {_cure(holder, place)}") from failure
        if fault := misfit(published, name, whole[name]):
            raise DataError(f"{holder} {fault}: {_cure(holder, place)}")
    return whole


def misfit(published: Published, name: str, content: bytes) -> str | None:
    """What is wrong with a file's content, or None if it is the published file."""
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found == published.files[name]:
        return None
    for other in DATA_SETS.values():
        if other.files.get(name) == found:
            return f"is the file of {other.name}, not of {published.name}"
    return f"has md5 {found}, but the published file has {published.files[name]} (truncated or tampered with)"


def _cure(holder: Path, place: Place) -> str:
    if place.cached:
        holder.unlink(missing_ok=True)
        return "it was removed, so ask again to fetch it anew"
    return "put the published file in its place"


def members(archive: Path) -> dict[str, bytes]:
    """The contents of the files in a tar archive by their last name; nothing is unpacked to disk."""
    with tarfile.open(archive) as packed:
        files = ((member.name, packed.extractfile(member)) for member in packed if member.isfile())
        return {Path(name).name: opened.read() for name, opened in files if opened}
