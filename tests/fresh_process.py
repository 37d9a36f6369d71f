"""Real processes that start at once: forked from one that has imported what a run needs, and done nothing with it."""

import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

# Importing torch and Fabric takes five seconds of each process that is started the usual way.
SLOW_TO_IMPORT = ["torch._dynamo", "torch.utils.tensorboard.writer", "lightning_fabric", "stawm.training.fit"]
LONGEST = 240.0
"""Seconds that a process may take to end."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(SLOW_TO_IMPORT)


@dataclass(frozen=True)
class Started:
    """A process that runs, or has ended, with what it prints in files."""

    process: ForkServerProcess
    out: Path
    err: Path

    def end(self) -> int | None:
        """Its exit code, or minus the signal that ended it."""
        self.process.join(LONGEST)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        return self.process.exitcode

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid


def start(
    does: Callable[..., object],
    *given: object,
    home: Path,
    env: Mapping[str, str] | None = None,
) -> Started:
    """A new process in the folder `home` that does this and exits with the code it returns; it hears Ctrl-C."""
    home.mkdir(parents=True, exist_ok=True)
    out, err = home / "out.txt", home / "err.txt"
    process = FORKS.Process(target=_become, args=(does, given, home, dict(env or {}), out, err))
    process.start()
    return Started(process, out, err)


def script(path: Path) -> None:
    """Run a script of a user's as `python path` does."""
    sys.argv = [str(path)]
    sys.path.insert(0, str(path.parent))
    runpy.run_path(str(path), run_name="__main__")


def anew(code: str) -> None:
    """Run code in an interpreter that knows torch but nothing of stawm yet."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "stawm"]:
        del sys.modules[name]
    exec(code, {"__name__": "__main__"})


def _become(
    does: Callable[..., object], given: tuple[object, ...], home: Path, env: dict[str, str], out: Path, err: Path
) -> None:
    # A suite that runs in a shell's background inherits deaf ears; a person's terminal does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(home)
    os.environ |= env
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    sys.stdout.reconfigure(line_buffering=True)  # pyright: ignore[reportAttributeAccessIssue]
    sys.exit(does(*given))  # pyright: ignore[reportArgumentType]
