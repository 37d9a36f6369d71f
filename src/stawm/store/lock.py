"""One owner at a time for the folder of a run: a lock that the system takes back when its process ends in any way."""

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from stawm.errors import CheckpointError, StorageError

LOCK = ".lock"


class RunLock:
    """The right to write into the folder of a run."""

    def __init__(self, run: Path) -> None:
        self._run, self._lock = run, FileLock(run / LOCK, timeout=0)

    def take(self) -> None:
        """Take the folder, which is made if it is not there; one that another process has is a `CheckpointError`."""
        try:
            self._run.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as failure:
            raise self._taken() from failure
        except OSError as failure:
            raise StorageError(
                f"could not write into {self._run}: {failure.strerror or failure}; choose another place"
            ) from failure

    def check(self) -> None:
        """Refuse a folder in which another process trains; nothing is written, so it may be one that is only read."""
        if (self._run / LOCK).is_file():
            try:
                self._lock.acquire()
                self._lock.release()
            except Timeout as failure:
                raise self._taken() from failure
            except OSError:
                return  # A folder that may only be read: nobody can train in it.

    def _taken(self) -> CheckpointError:
        return CheckpointError(
            f"another process trains in {self._run}; wait until it ends, stop it, or choose another folder"
        )

    def free(self) -> None:
        """Give the folder back, if it was taken; one in which nothing was written is removed."""
        if self._lock.is_locked:
            with suppress(OSError):
                if [entry.name for entry in self._run.iterdir()] == [LOCK]:
                    (self._run / LOCK).unlink()
                    self._run.rmdir()
            self._lock.release()
