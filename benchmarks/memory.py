"""Time and peak memory of both forms of the Hebb-Rosenblatt memory, forward and backward, in one run.

Time is the median of repetitions that alternate between the forms, so that a busy machine disturbs both alike.
Peak memory is what the operating system saw: each form runs in a fresh process of its own, and the growth of its
largest resident size over the size it had just before is taken. That counts everything really touched (states, what
autograd keeps, gradients, temporaries, the allocator's waste), which counting the tensors kept for backward would not.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import torch

from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.memory.state import Form, Read

FORMS = ("trace", "matrix")
SIZES = ((1024, 8), (256, 12), (256, 8), (256, 64), (64, 8))
LEAST = {(1024, 8): {"faster": 200.0, "smaller": 15.0}, (256, 12): {"faster": 40.0}}
MIB = 2**20


def task(form: Form, size: int, writes: int, batch: int, read: Read):
    """One training step's worth of memory: recalls after every write, and the gradients of codes and query."""
    torch.manual_seed(0)
    memory = HebbRosenblatt(size, form=form, read=read)
    codes = (torch.rand(batch, writes, size) * 4 / size).requires_grad_()
    query = (torch.rand(batch, size) * 4 / size).requires_grad_()
    weighting = torch.rand(batch, writes, size)

    def step() -> None:
        recalls = memory(codes, query).recalls
        torch.autograd.grad((recalls * weighting).sum(), [codes, query])

    return step


def resident() -> tuple[int, int]:
    """Bytes resident now, and the most there ever were (the latter alone outside Linux)."""
    status = Path("/proc/self/status")
    if not status.exists():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return peak, peak
    # Not ru_maxrss: on Linux it survives exec, so a child would inherit its parent's peak.
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    now, peak = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak


def peak_here(form: Form, size: int, writes: int, batch: int, read: Read) -> int:
    """Bytes by which one step raises this process's resident size, its inputs included."""
    task(form, 8, 2, 2, read)()
    before, _ = resident()
    task(form, size, writes, batch, read)()
    return resident()[1] - before


def peak(form: str, size: int, writes: int, batch: int, read: str) -> int:
    """The same, measured in a fresh process."""
    command = [sys.executable, __file__, "--only-peak", form, "--sizes", f"{size}x{writes}"]
    command += ["--batch", str(batch), "--read", read]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def seconds(size: int, writes: int, batch: int, read: Read, repeats: int) -> dict[str, float]:
    """The median time of a step in each form; the short one is repeated more often."""
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    steps = {form: task(form, size, writes, batch, read) for form in FORMS}
    for step in steps.values():
        step()
    for _ in range(repeats):
        for form, step in steps.items():
            for _ in range(5 if form == "trace" else 1):
                start = time.perf_counter()
                step()
                times[form].append(time.perf_counter() - start)
    return {form: statistics.median(spent) for form, spent in times.items()}


def measure(size: int, writes: int, batch: int, read: Read, repeats: int) -> dict[str, float | int | str]:
    """One line of the table."""
    peaks = {form: peak(form, size, writes, batch, read) for form in FORMS}
    times = seconds(size, writes, batch, read, repeats)
    return {
        "size": size,
        "writes": writes,
        "batch": batch,
        "read": read,
        **{f"{form}_seconds": times[form] for form in FORMS},
        **{f"{form}_peak_bytes": peaks[form] for form in FORMS},
        "faster": times["matrix"] / times["trace"],
        "smaller": peaks["matrix"] / peaks["trace"],
    }


def row(found: dict) -> str:
    """One line of the table as text."""
    wanted = LEAST.get((found["size"], found["writes"]), {}) if found["batch"] == 128 else {}
    verdict = "; ".join(
        f"{word} {found[word]:.0f} >= {least:.0f}: {'yes' if found[word] >= least else 'NO'}"
        for word, least in wanted.items()
    )
    return (
        f"{found['size']:>5} {found['writes']:>3}  {found['read']:<9} "
        f"{found['trace_seconds'] * 1e3:>9.2f} {found['matrix_seconds'] * 1e3:>10.1f} {found['faster']:>8.1f} "
        f"{found['trace_peak_bytes'] / MIB:>9.1f} {found['matrix_peak_bytes'] / MIB:>10.1f} {found['smaller']:>8.1f}"
        f"   {verdict}"
    ).rstrip()


def pair(text: str) -> tuple[int, int]:
    """Size and writes from SIZExWRITES."""
    size, _, writes = text.partition("x")
    return int(size), int(writes)


def main() -> None:
    """Measure, print the table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=pair, default=SIZES, metavar="MxN", help="memory size x writes")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--read", choices=get_args(Read), default="codes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON record a line instead of the table")
    parser.add_argument("--only-peak", choices=FORMS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.only_peak:
        size, writes = chosen.sizes[0]
        print(peak_here(chosen.only_peak, size, writes, chosen.batch, chosen.read))
        return
    if not chosen.json:
        print(f"batch {chosen.batch}, float32, {torch.get_num_threads()} threads, torch {torch.__version__}")
        print("    M   N  read      trace, ms matrix, ms   faster trace,MiB matrix,MiB  smaller")
    for size, writes in chosen.sizes:
        found = measure(size, writes, chosen.batch, chosen.read, chosen.repeats)
        print(json.dumps(found) if chosen.json else row(found), flush=True)


if __name__ == "__main__":
    main()
