"""A run folder has one owner, and the death of that gives it back."""

import subprocess
import sys
from pathlib import Path

import pytest

from stawm.errors import CheckpointError, StorageError, UsageError
from stawm.store.lock import RunLock
from stawm.training.fit import fit
from tiny_run import TINY, digits, with_training

HOLD = """
import sys
from pathlib import Path
from filelock import FileLock
lock = FileLock(Path(sys.argv[1]) / ".lock", timeout=0)
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_folder_has_one_owner(tmp_path: Path):
    first, second = RunLock(tmp_path / "run"), RunLock(tmp_path / "run")
    first.take()
    with pytest.raises(CheckpointError, match="another process") as told:
        second.take()
    assert str(tmp_path / "run") in str(told.value)
    second.free()
    with pytest.raises(CheckpointError):
        second.take()
    first.free()
    second.take()
    second.free()


def test_a_killed_owner_has_nothing_left(tmp_path: Path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError):
            RunLock(tmp_path).take()
        child.kill()
    lock = RunLock(tmp_path)
    lock.take()
    lock.free()


def test_a_live_run_is_left_alone(tmp_path: Path):
    data = digits(32, 5)
    records = fit(TINY, tmp_path, data=data)
    next(records)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError, match="another process"):
        next(fit(TINY, tmp_path, data=data, resume=True))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before
    assert [record.epoch for record in records] == [2]
    assert list(fit(None, tmp_path, data=data, resume=True)) == []


def test_two_that_begin_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The second has seen a free folder, in which the first trained before the second took it."""
    experiment, data = with_training(epochs=1), digits(16, 5)
    list(fit(experiment, tmp_path, data=data))
    monkeypatch.setattr("stawm.training.fit._experiment", lambda *_: experiment)
    with pytest.raises(UsageError, match="already holds a run"):
        next(fit(experiment, tmp_path, data=data))


def test_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file/run"):
        RunLock(tmp_path / "file" / "run").take()
