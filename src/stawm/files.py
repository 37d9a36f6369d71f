"""Files that are either whole or not there: written under a temporary name, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stawm.errors import StorageError

PARTIAL = ".partial"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes `path` when the block ends well, and vanishes when it does not."""
    partial = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(path)
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
