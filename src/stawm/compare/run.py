"""A grid as a generator: one cell after the other as they end; printing and stopping belong to the caller."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import stawm
from stawm.compare.outcome import Outcome, forget_outcome, log_of, outcome_of, outcomes_of, write_outcome
from stawm.compare.plan import Cell, Plan, read_plan, write_plan
from stawm.compare.task import Progress
from stawm.errors import CheckpointError, UsageError
from stawm.files import placed
from stawm.store.lock import RunLock

PATIENCE = 20.0
"""Seconds in which a process that is told to stop may do so by itself."""

OnProgress = Callable[[Cell, Progress], None]


@dataclass(frozen=True)
class Ended:
    """A cell that has just ended, and how."""

    cell: Cell
    outcome: Outcome


def compare(
    plan: Plan | None,
    out: Path | str,
    *,
    jobs: int = 1,
    device: str = "auto",
    data_dir: Path | None = None,
    on_progress: OnProgress | None = None,
) -> Generator[Ended, None, None]:
    """Run all cells of a grid that are not finished in the folder `out`, `jobs` at once, yielding each as it ends.

    Every cell has a process of its own with its share of the machine's cores. A cell that was begun goes on, and one
    that fails does not stop the others. `plan` may be none for a grid that was begun, and may be larger than it was.
    When the generator is closed, or anything else ends it, the processes are stopped; their cells can go on later.
    """
    if jobs < 1:
        raise UsageError(f"{jobs} cells at once cannot be run; give --jobs 1 or more")
    out = placed(out)
    plan = read_plan(out) if plan is None else plan
    lock = RunLock(out)
    lock.take()
    try:
        plan = write_plan(out, plan)
        outcomes = outcomes_of(out, plan)
        left = [cell for cell in plan.cells if outcomes[cell.name].state != "finished"]
        yield from _run(left, out, min(jobs, max(len(left), 1)), (device, data_dir), on_progress)
    finally:
        lock.free()


def threads_of(jobs: int) -> int:
    """The threads of each of so many processes: a share of the cores, and no more than OMP_NUM_THREADS says."""
    affine = getattr(os, "sched_getaffinity", None)
    cores = len(affine(0)) if affine else os.cpu_count() or 1
    told = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores // jobs, int(told) if told.isdigit() and int(told) else cores))


def _run(
    left: list[Cell], out: Path, jobs: int, where: tuple[str, Path | None], on_progress: OnProgress | None
) -> Generator[Ended, None, None]:
    heard: queue.Queue[tuple[str, Progress | None]] = queue.Queue()
    running: dict[str, tuple[Cell, subprocess.Popen[bytes]]] = {}
    waiting = list(left)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.pop(0)
                running[cell.name] = cell, _start(cell, out, threads_of(jobs), where)
                threading.Thread(target=_listen, args=(cell.name, running[cell.name][1], heard), daemon=True).start()
            name, progress = heard.get()
            cell, process = running[name]
            if progress is None:
                del running[name]
                yield Ended(cell, _ended(cell, out, process))
            elif on_progress:
                on_progress(cell, progress)
    finally:
        _stop([process for _, process in running.values()])


def _start(cell: Cell, out: Path, threads: int, where: tuple[str, Path | None]) -> "subprocess.Popen[bytes]":
    """The process of a cell; it hears nothing of a Ctrl-C in the terminal, so that this one decides what it means."""
    device, data_dir = where
    log = log_of(out, cell.name)
    log.parent.mkdir(parents=True, exist_ok=True)
    forget_outcome(out, cell.name)
    home = str(Path(stawm.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH", ""))))
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": path}
    arguments = [str(out), cell.name, device, str(data_dir) if data_dir else ""]
    # -P: a file in the user's folder that is called like a module is not taken for it.
    command = [sys.executable, "-P", "-m", "stawm.compare.work", *arguments]
    with log.open("ab") as errors:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env, start_new_session=True
        )


def _listen(name: str, process: "subprocess.Popen[bytes]", heard: "queue.Queue[tuple[str, Progress | None]]") -> None:
    """Pass on what a process says, and that it has ended."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            with suppress(ValueError, TypeError):  # Code of others may print, too.
                heard.put((name, Progress(**json.loads(line))))
    process.wait()
    heard.put((name, None))


def _ended(cell: Cell, out: Path, process: "subprocess.Popen[bytes]") -> Outcome:
    """How a cell ended: as its process wrote down, else that the process broke off."""
    _close(process)
    outcome = outcome_of(out, cell)
    if outcome.state in ("finished", "failed"):
        return outcome
    lines = log_of(out, cell.name).read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    why = f"its process ended with code {process.returncode} ({last}); see {log_of(out, cell.name)}"
    failed = Outcome("failed", why=why)
    write_outcome(out, cell.name, failed)
    return failed


def _stop(processes: "list[subprocess.Popen[bytes]]") -> None:
    """Stop what still runs; what does not end by itself is killed."""
    for process in processes:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    for process in processes:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _close(process)


def _close(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()


def check_finished(out: Path, plan: Plan) -> None:
    """Refuse a grid with cells that were not run to their end."""
    open_cells = [name for name, outcome in outcomes_of(out, plan).items() if outcome.state in ("begun", "left")]
    if open_cells:
        raise CheckpointError(
            f"{len(open_cells)} of {len(plan.cells)} cells in {out} are not finished, such as {open_cells[0]}; go on "
            f"with `stawm compare --out {out}` first"
        )
