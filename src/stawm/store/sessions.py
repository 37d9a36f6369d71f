"""Where and with which code a run was trained: one line for each stretch of it, written when it begins or goes on."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch

import stawm
from stawm.errors import CheckpointError
from stawm.experiments.experiment import record_from_dict
from stawm.files import SEAL, parsed, sealed, unsealed, write_text

SESSIONS = "sessions.jsonl"
DIRTY = "-dirty"
"""What the name of a commit ends with if the code was changed since."""
PATIENCE = 10.0
"""Seconds that git gets to answer."""


@dataclass(frozen=True)
class Machine:
    """What a run was computed on."""

    cpu: str
    cores: int
    threads: int | None
    """Of each process; none where the run did not write it down."""
    processes: int
    torch: str
    python: str
    precision: str = "32"
    """That of its products: what `training.precision` meant on this machine."""

    @property
    def half(self) -> str:
        """What a sentence says of a precision that is not single."""
        return "" if self.precision == "32" else f", {self.precision}"


@dataclass(frozen=True)
class Session:
    """One stretch of a run: the step it began at, the code, and the machine."""

    step: int
    stawm: str
    commit: str | None
    """Of the clone that the code is from, with `-dirty` if it was changed since; none if it is not from a clone."""
    machine: Machine
    start: str = ""
    """The fingerprint of the weights that the run took up here, where it did."""


def note_session(run: Path, step: int, processes: int, precision: str = "32", start: str = "") -> None:
    """Write down that the run in this folder goes on from `step`, in this process, or begins from weights."""
    session = Session(step, stawm.__version__, this_code(), this_machine(processes, precision), start)
    lines = [asdict(known) for known in (*read_sessions(run), session)]
    lines[0] |= {SEAL: sealed({SESSIONS: lines})[SEAL]}
    write_text(run / SESSIONS, "".join(json.dumps(line) + "\n" for line in lines))


def read_sessions(run: Path) -> list[Session]:
    """The sessions of a run, oldest first; none for a run of an earlier version.

    The first line holds the checksum of all.
    """
    path = run / SESSIONS
    if not path.exists():
        return []
    try:
        lines = [parsed(line) for line in path.read_bytes().splitlines()]
        if not lines or not all(isinstance(line, dict) for line in lines):
            raise ValueError("it is empty, or a line is no session")
        seal = {SEAL: lines[0].pop(SEAL)} if SEAL in lines[0] else {}
        unsealed({SESSIONS: lines} | seal)
        return [record_from_dict(Session, line) for line in lines]
    except (OSError, ValueError, CheckpointError) as failure:
        raise CheckpointError(
            f"{path} is not whole ({failure}); put it back or delete it: it only says where the run was trained"
        ) from failure


def this_machine(processes: int = 1, precision: str = "32") -> Machine:
    """What this process computes on."""
    return Machine(
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        processes=processes,
        torch=str(torch.__version__),
        python=platform.python_version(),
        precision=precision,
    )


def worked(sessions: Sequence[Session], done: int) -> list[Session]:
    """The sessions whose steps are in a run of `done` steps: not those that died, or were thrown away, before any."""
    ends = [*(session.step for session in sessions[1:]), done]
    return [session for session, end in zip(sessions, ends, strict=False) if end > session.step]


@cache
def this_code() -> str | None:
    """The commit of the code that this process runs, as it was when it first asked: a run asks as it begins."""
    return commit()


def commit(package: Path = Path(stawm.__file__).parent) -> str | None:
    """The commit of the clone that `package` lies in, with `-dirty` if it was changed; none if it is in no clone."""
    # A package that git does not track may still lie inside a repository of its user's, which is not asked about.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head = _git(package, "rev-parse", "HEAD")
    # Code that git does not track yet is code too.
    changed = _git(package, "status", "--porcelain", "--untracked-files=all", "--", ":(glob)**/*.py")
    return f"{head}{DIRTY}" if head and changed else head


def _git(folder: Path, *arguments: str) -> str | None:
    # Without optional locks: the index of the clone is not written, so a run never stands in the way of its user.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
