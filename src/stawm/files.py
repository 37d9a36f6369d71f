"""Files that are either whole or not there, and that tell whether they were changed since they were written."""

import errno
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from stawm.errors import StorageError, UsageError

PARTIAL = ".partial"
_OWNER = re.compile(rf"\..*\.(?P<process>\d+)(@(?P<machine>.*))?{re.escape(PARTIAL)}", re.DOTALL)
_OF_NAME = 40
"""Letters of a name that are kept in that of its partial file, which may not be too long either."""
_LONG_AGO = 86_400.0
"""Seconds without a change after which what a process of another machine writes is taken for left behind."""
SEAL = "sha256 of the rest"
"""The key in a JSON object under which the checksum of everything else in it stands."""
_DEEPEST = 50
"""Levels of JSON that are read: ours have about ten."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes `path` when the block ends well, and vanishes when it does not.

    A symbolic link is followed. A device or a pipe cannot be replaced: what was written is copied into it.
    """
    target = real(placed(path))
    partial = target.with_name(f".{target.name[:_OF_NAME]}.{os.getpid()}@{platform.node()}{PARTIAL}")
    try:
        streams = _streams(path)
        if streams:
            partial = Path(tempfile.gettempdir()) / partial.name
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            _sweep_once(target.parent)
        partial.touch()  # What cannot be written is known before the work, and not after it.
        yield partial
        if streams:
            with partial.open("rb") as made, path.open("wb") as stream:
                shutil.copyfileobj(made, stream)
        else:
            _sync(partial)
            partial.replace(target)
            with suppress(OSError):  # Not every system can open a folder.
                _sync(target.parent)
    except OSError as failure:
        raise StorageError(
            f"could not write {path}: {failure.strerror or failure}; free some space or choose another place"
        ) from failure
    finally:
        with suppress(OSError):
            partial.unlink()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`, wholly or not at all."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, wholly or not at all."""
    with whole_file(path) as partial:
        partial.write_bytes(content)


def sweep(folder: Path) -> None:
    """Remove what dead processes left of their writing in a folder; what a living one writes stays."""
    for leftover in folder.glob(f".*{PARTIAL}"):
        if _left_behind(leftover):
            leftover.unlink(missing_ok=True)


def placed(path: Path | str) -> Path:
    """The path; one that no file can have (a NUL in it, a name that is too long) is a `UsageError`."""
    try:
        os.lstat(path)
    except ValueError as failure:
        raise UsageError(f"{str(path)!r} cannot be the name of a file ({failure}); give another") from failure
    except OSError as failure:
        if failure.errno == errno.ENAMETOOLONG:
            start = str(path)[:_OF_NAME]
            raise UsageError(f"the name {start}… of {len(str(path)):,} letters is too long; give another") from failure
    return Path(path)


def real(path: Path | str) -> Path:
    """The path with its links followed, as far as they lead anywhere (`Path.resolve` fails at one to itself)."""
    return Path(os.path.realpath(path))


def check_apart(out: Path, given: Iterable[Path]) -> None:
    """Refuse to write over one of the files that were given."""
    if real(out) in map(real, given):
        raise UsageError(f"{out} is a picture that was given, and would be written over; choose another place")


def parsed(text: str | bytes) -> Any:
    """What a JSON text says; everything that can be wrong with it is a `ValueError`."""
    try:
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError as failure:
        raise ValueError("it is nested too deeply") from failure
    level = [value]
    for _ in range(_DEEPEST):
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [one for several in inside for one in several]
        if not level:
            return value
    raise ValueError("it is nested too deeply")


def sealed(values: dict[str, Any]) -> dict[str, Any]:
    """The values with their checksum, which takes the place of one that they have."""
    rest = {name: value for name, value in values.items() if name != SEAL}
    return rest | {SEAL: _checksum(rest)}


def unsealed(values: Any, *, must: bool = False) -> dict[str, Any]:
    """The values that `sealed` was given; others, or those that were changed since, are a `ValueError`.

    Those without a checksum, as earlier versions wrote them, are taken as they are, unless there `must` be one.
    """
    if not isinstance(values, dict):
        raise ValueError("it holds no JSON object")
    rest = {name: value for name, value in values.items() if name != SEAL}
    if must and SEAL not in values:
        raise ValueError("it was changed or damaged since it was written: it has no checksum")
    if SEAL in values and values[SEAL] != _checksum(rest):
        raise ValueError("it was changed or damaged since it was written: its checksum differs")
    return rest


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file, unsealed; a file that is not whole is a `ValueError`, or an `OSError`."""
    return unsealed(parsed(path.read_bytes()))


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write an object, sealed."""
    text = json.dumps(sealed(values), indent=2, ensure_ascii=False) + "\n"
    # Names of files need not be text: what stands for other bytes in them is written as JSON escapes it.
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def _checksum(values: dict[str, Any]) -> str:
    # By way of JSON, so that what was read counts the same as what was written (tuples are lists there).
    plain = json.loads(json.dumps(values))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _streams(path: Path) -> bool:
    """Whether what is at `path` is written into (a device, a pipe), and not replaced as a file is."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return False
    if not (stat.S_ISREG(kind) or stat.S_ISCHR(kind) or stat.S_ISFIFO(kind)):
        raise StorageError(f"could not write {path}: it is no regular file; choose another place")
    return not stat.S_ISREG(kind)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


_sweep_once = cache(sweep)


def _left_behind(partial: Path) -> bool:
    """Whether the process that wrote a partial file is gone; one of another machine is when it wrote nothing lately."""
    owner = _OWNER.fullmatch(partial.name)
    if owner is None:
        return False
    if owner["machine"] not in (None, platform.node()) or os.name != "posix":
        with suppress(OSError):
            return time.time() - partial.stat().st_mtime > _LONG_AGO
        return False
    try:
        os.kill(int(owner["process"]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False
