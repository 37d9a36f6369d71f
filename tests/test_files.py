"""Files that are either whole or not there, and that tell whether they were changed."""

import json
import os
import platform
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from stawm import files
from stawm.errors import StorageError, UsageError
from stawm.files import (
    SEAL,
    parsed,
    placed,
    read_json,
    sealed,
    sweep,
    unsealed,
    whole_file,
    write_bytes,
    write_json,
    write_text,
)

NOBODY = 2**30
"""Too large a number for a process."""
HERE = platform.node()


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "words.txt", "ä")
    write_bytes(tmp_path / "new" / "bytes", b"\x00\x01")
    assert (tmp_path / "new" / "words.txt").read_text(encoding="utf-8") == "ä"
    assert (tmp_path / "new" / "bytes").read_bytes() == b"\x00\x01"


def test_a_failure_keeps_what_was_there_and_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "words.txt"
    write_text(place, "before")
    with pytest.raises(RuntimeError), whole_file(place) as partial:
        partial.write_text("half of")
        raise RuntimeError
    assert place.read_text() == "before"
    assert list(tmp_path.iterdir()) == [place]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match=r"file/words\.txt"):
        write_text(tmp_path / "file" / "words.txt", "words")


def test_file_and_folder_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda opened: synced.append(Path(os.readlink(f"/proc/self/fd/{opened}"))))
    write_text(tmp_path / "words.txt", "words")
    assert synced[0].name.startswith(".words.txt.")
    assert synced[1:] == [tmp_path]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    for text in ("first", "second"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "far" / "file").read_text() == text
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StorageError, match="loop"):
        write_text(tmp_path / "loop", "x")
    assert (tmp_path / "loop").is_symlink()


def test_a_device_or_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    write_text(Path("/dev/null"), "nothing")
    assert Path("/dev/null").is_char_device()
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    listener = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    listener.start()
    write_text(pipe, "through")
    listener.join()
    assert heard == ["through"] and pipe.is_fifo()


def test_a_socket_or_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # The name of a socket must be short.
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for place in (Path("socket"), tmp_path):
            with pytest.raises(StorageError, match="no regular file"):
                write_text(place, "x")
        assert Path("socket").is_socket()


def test_a_name_as_long_as_names_may_be_can_be_written(tmp_path: Path) -> None:
    for name in ("n" * 255, "字" * 85):
        write_text(tmp_path / name, "x")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["x" * 5000, "x/" * 3000, "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    for attempt in (lambda: placed(name), lambda: write_text(tmp_path / name, "x")):
        with pytest.raises(UsageError) as told:
            attempt()
        assert len(str(told.value)) < 200 + 2 * len(str(tmp_path))
    assert placed("no/such/place") == Path("no/such/place")


@pytest.mark.parametrize(
    ("owner", "age", "stays"),
    [
        (f"{NOBODY}@{HERE}", 0, False),
        (f"{NOBODY}", 0, False),
        (f"{os.getpid()}@{HERE}", 1e6, True),
        (f"{os.getppid()}", 1e6, True),
        (f"{NOBODY}@another", 0, True),
        (f"{os.getpid()}@another", 1e6, False),
        ("somebody", 1e6, True),
    ],
    ids=["dead", "dead, of old", "living", "living, of old", "elsewhere", "elsewhere, long ago", "of others"],
)
def test_only_what_the_dead_left_is_swept(tmp_path: Path, owner: str, age: float, stays: bool) -> None:
    left = tmp_path / f".words.txt.{owner}.partial"
    left.touch()
    changed = left.stat().st_mtime - age
    os.utime(left, (changed, changed))
    sweep(tmp_path)
    assert left.exists() == stays


def test_the_first_file_in_a_folder_sweeps_it(tmp_path: Path) -> None:
    left = tmp_path / f".other.{NOBODY}@{HERE}.partial"
    left.touch()
    write_text(tmp_path / "words.txt", "words")
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


def test_sealed_values_come_back(tmp_path: Path) -> None:
    values = {"a": (1, 2.5), "b": {"ü": None, "\udce9": "\udcff"}, "10": 1, "9": float("inf")}
    write_json(tmp_path / "file", values)
    assert read_json(tmp_path / "file") == values | {"a": [1, 2.5]}
    assert sealed(sealed(values)) == sealed(values)
    assert unsealed(values) == values, "of an earlier version"
    with pytest.raises(ValueError, match="no checksum"):
        unsealed(values, must=True)


def test_values_that_were_changed_are_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "file", {"a": 1, "b": [True]})
    whole = json.loads((tmp_path / "file").read_text())
    for change in ({"a": 2}, {"b": [1]}, {"c": 0}, {SEAL: "0"}, {SEAL: None}):
        (tmp_path / "file").write_text(json.dumps(whole | change))
        with pytest.raises(ValueError, match="checksum differs"):
            read_json(tmp_path / "file")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff",
        "{}".encode("utf-16"),
        b"[" * 100_000,
        b"[" * 60 + b"]" * 60,
        b'{"a":' * 900 + b"1" + b"}" * 900,
    ],
)
def test_what_is_no_json_of_ours(text: bytes) -> None:
    with pytest.raises(ValueError):
        parsed(text)


@pytest.mark.parametrize("value", [3, "", None, [], {}, {"a": [{"b": [[[1]]]}, 2]}])
def test_json_is_read(value: Any) -> None:
    assert parsed(json.dumps(value)) == value
    assert files.parsed(json.dumps(value).encode()) == value
