"""The process of one cell: `python -m stawm.compare.work GRID CELL DEVICE DATA_DIR`, which only `compare` starts.

It tells its progress as lines of JSON on stdout, writes down how the cell ended, and ends when its stdin is closed, as
happens when the process that started it is gone in any way.
"""

import json
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

INTERRUPTED = 130
EVERY = 0.5
"""Seconds between two lines about progress, at least."""


def main() -> int:
    """The exit code: 0, that of a `StawmError`, or 130 when stopped."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background starts processes with deaf ears.
    threading.Thread(target=_watch, daemon=True).start()
    out, name, device, data_dir = sys.argv[1:5]
    try:
        return work(Path(out), name, device, Path(data_dir) if data_dir else None)
    except KeyboardInterrupt:
        return INTERRUPTED


def work(out: Path, name: str, device: str, data_dir: Path | None) -> int:
    """Run the cell of that name to its end, or to a mistake that is written down."""
    import torch

    from stawm.compare.outcome import Outcome, folder_of, write_outcome
    from stawm.compare.plan import read_plan
    from stawm.compare.task import Place, Progress
    from stawm.errors import StawmError

    logging.basicConfig(format="stawm: %(message)s")
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    cell = next(cell for cell in read_plan(out).cells if cell.name == name)
    spoke, scores = 0.0, {}

    def report(progress: Progress) -> None:
        nonlocal spoke, scores
        if progress.scores != scores or time.monotonic() - spoke >= EVERY:
            print(json.dumps(asdict(progress)), flush=True)
            spoke, scores = time.monotonic(), progress.scores

    try:
        found = cell.task.run(Place(folder_of(out, name), device, data_dir), report)
    except StawmError as failure:
        write_outcome(out, name, Outcome("failed", why=" ".join(str(failure).split())))
        return failure.exit_code
    write_outcome(out, name, Outcome("finished", found))
    return 0


def _watch() -> None:
    """Leave when the process that started this one is gone."""
    # Past Python's own buffer, whose lock a thread that waits would keep when the interpreter ends.
    os.read(sys.stdin.fileno(), 1)
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
