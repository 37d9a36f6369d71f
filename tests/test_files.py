"""Files that are either whole or not there."""

from pathlib import Path

import pytest

from stawm.errors import StorageError
from stawm.files import whole_file, write_bytes, write_text


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
