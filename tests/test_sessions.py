"""A run writes down where, and with which code, each of its stretches was trained."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch

import stawm
from stawm.errors import CheckpointError
from stawm.files import SEAL
from stawm.store import sessions
from stawm.store.sessions import SESSIONS, commit, note_session, read_sessions, this_code, this_machine, worked
from stawm.training.fit import fit
from tiny_run import STEPS, TINY, digits


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    package = tmp_path / "clone" / "src" / "stawm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    git(tmp_path / "clone", "init", "--quiet")
    return package


def test_each_start_of_a_run_is_written_down_with_its_step(tmp_path: Path):
    records = fit(TINY, tmp_path, data=digits())
    next(records)
    records.close()
    assert [record.epoch for record in fit(None, tmp_path, resume=True, data=digits())] == [2]
    first, second = read_sessions(tmp_path)
    assert (first.step, second.step) == (0, STEPS)
    assert first.machine == second.machine == this_machine()
    assert first.machine.threads == torch.get_num_threads()
    assert first.stawm == stawm.__version__


def test_the_commit_is_that_of_the_code(package: Path):
    assert commit(package) is None, "not tracked yet"
    git(package, "add", ".")
    git(package, "commit", "--quiet", "-m", "first")
    head = git(package, "rev-parse", "HEAD")
    assert commit(package) == head
    (package.parent.parent / "notes.txt").write_text("not part of the package")
    assert commit(package) == head
    (package / "notes.txt").write_text("no code")
    assert commit(package) == head
    (package / "__init__.py").write_text("changed = True")
    assert commit(package) == f"{head}-dirty"


def test_code_that_git_does_not_track_is_a_change(package: Path):
    git(package, "add", ".")
    git(package, "commit", "--quiet", "-m", "first")
    (package / "rules").mkdir()
    (package / "rules" / "new.py").write_text("")
    assert commit(package) == git(package, "rev-parse", "HEAD") + "-dirty"


def test_the_code_is_that_which_the_process_began_with(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions, "commit", iter(["first", "second"]).__next__)
    this_code.cache_clear()
    assert [this_code(), this_code()] == ["first", "first"]
    this_code.cache_clear()


def test_sessions_without_a_step_of_the_run_did_not_work(tmp_path: Path):
    for step in (0, 0, 40, 60, 40, 90):
        note_session(tmp_path, step, processes=1)
    told = read_sessions(tmp_path)
    assert worked(told, 90) == [told[1], told[2], told[4]], "the first died at once, the fourth's checkpoint was lost"
    assert worked(told, 91) == [told[1], told[2], told[4], told[5]]
    assert worked([], 90) == []


def test_asking_git_writes_nothing_into_the_clone(package: Path):
    """A plain `git status` rewrites the index under a lock, which a run that dies there would leave behind."""
    git(package, "add", ".")
    git(package, "commit", "--quiet", "-m", "first")
    index = package.parent.parent / ".git" / "index"
    os.utime(package / "__init__.py", (1, 1))
    before = index.read_bytes()
    assert commit(package) == git(package, "rev-parse", "HEAD")
    assert index.read_bytes() == before
    git(package, "status")
    assert index.read_bytes() != before, "else nothing is shown"


def test_a_package_inside_a_repository_of_another_has_no_commit(package: Path, tmp_path: Path):
    git(package, "add", ".")
    git(package, "commit", "--quiet", "-m", "first")
    installed = tmp_path / "clone" / ".venv" / "stawm"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert commit(installed) is None
    assert commit(tmp_path / "nowhere") is None


def test_without_git_there_is_no_commit(package: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    assert commit(package) is None


def test_processes_are_counted(tmp_path: Path):
    assert read_sessions(tmp_path) == []
    note_session(tmp_path, 5, processes=3)
    [session] = read_sessions(tmp_path)
    assert (session.step, session.machine.processes) == (5, 3)


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "3", "\xff", "[" * 3000, '{"step": 1}'])
def test_a_broken_file_is_told_in_one_line(tmp_path: Path, text: str):
    (tmp_path / SESSIONS).write_text(text, encoding="latin-1")
    with pytest.raises(CheckpointError, match=r"sessions\.jsonl") as told:
        read_sessions(tmp_path)
    assert "\n" not in str(told.value)


def test_a_changed_or_lost_line_is_noticed(tmp_path: Path):
    for step in (0, 5):
        note_session(tmp_path, step, processes=1)
    path = tmp_path / SESSIONS
    whole = path.read_text()
    for text in (whole.splitlines()[0] + "\n", whole.replace('"step": 5', '"step": 6'), whole.replace("of the", "of")):
        path.write_text(text)
        with pytest.raises(CheckpointError):
            read_sessions(tmp_path)
    path.write_text(whole)
    assert [session.step for session in read_sessions(tmp_path)] == [0, 5]
    first = {name: value for name, value in json.loads(whole.splitlines()[0]).items() if name != SEAL}
    path.write_text(json.dumps(first) + "\n")
    assert [session.step for session in read_sessions(tmp_path)] == [0], "of an earlier version"
