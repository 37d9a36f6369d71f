"""Training steps of this tree and of an earlier revision, taking turns in one run: medians, ratios and peak memory.

    python benchmarks/against.py e7b9569 mnist-classify-8 cifar10-draw-16 --threads 2 --batch 128

The earlier revision is checked out into a git worktree of its own, and each tree steps in a process of its own that has
only its own `stawm`. One steps while the other waits, so that a busy machine disturbs both alike. A step is forward,
loss, backward, clipping and optimiser on random pictures, set up by the `Trainer` of each tree.

`ratio` is that of the medians, `least` that of the shortest steps, and `work` that of the processor time that a step
took (on a machine that others use, the steadiest of the three with --threads 1).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

STEPPER = """
import importlib.util, json, resource, sys, time
from dataclasses import replace
import torch
asked = json.loads(sys.argv[1])
torch.set_num_threads(asked["threads"])
from stawm.experiments.presets import preset
from stawm.training.engine import start_engine
from stawm.training.trainer import Trainer
experiment = preset(asked["preset"])
known = {field for field in experiment.training.__dataclass_fields__}
chosen = {"batch_size": asked["batch"]} | ({"precision": asked["precision"]} if "precision" in known else {})
experiment = replace(experiment, training=replace(experiment.training, start_from=None, **chosen))
try:
    engine = start_engine("cpu", experiment.training.precision)
except (TypeError, AttributeError):
    engine = start_engine("cpu")
trainer = Trainer(engine, experiment, 1000)
image = experiment.model.image
images = torch.rand(asked["batch"], image.channels, image.height, image.width)
classes = experiment.model.classes
labels = torch.randint(classes, (asked["batch"],)) if classes else None
print("ready", flush=True)
step = 0
for line in sys.stdin:
    started, worked = time.perf_counter(), time.process_time()
    trainer.step(images, labels, step)
    took, work = time.perf_counter() - started, time.process_time() - worked
    step += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": took, "work": work, "peak": peak}), flush=True)
"""


class Stepper:
    """A process that takes one training step of a tree whenever it is asked."""

    def __init__(self, tree: Path, preset: str, batch: int, threads: int, precision: str) -> None:
        asked = json.dumps({"preset": preset, "batch": batch, "threads": threads, "precision": precision})
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", STEPPER, asked],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tree,
        )
        self.times: list[float] = []
        self.work: list[float] = []
        self.peak = 0.0
        self._line()

    def step(self, counted: bool) -> None:
        """Take one step."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found = json.loads(self._line())
        self.peak = found["peak"]
        if counted:
            self.times.append(found["seconds"])
            self.work.append(found["work"])

    def close(self) -> None:
        """End the process."""
        self.process.communicate()

    def _line(self) -> str:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            if line.startswith(("ready", "{")):
                return line
        raise SystemExit(f"a process ended with code {self.process.wait()}; its message is above")


def compared(name: str, before: Path, options: argparse.Namespace) -> str:
    """One row: a preset, the median step of both trees, their ratio, and both peaks."""
    arguments = (name, options.batch, options.threads)
    old, new = Stepper(before, *arguments, "32"), Stepper(ROOT, *arguments, options.precision)
    for number in range(options.steps + options.warm_up):
        for one in (old, new) if number % 2 else (new, old):
            one.step(number >= options.warm_up)
    for one in (old, new):
        one.close()
    first, second = statistics.median(old.times), statistics.median(new.times)
    work = statistics.median(old.work) / statistics.median(new.work)
    least = min(old.times) / min(new.times)
    times = f"{first:7.3f} s {second:7.3f} s {first / second:6.2f} × {least:6.2f} × {work:6.2f} ×"
    return f"{name:26} {times} {old.peak:7.0f} {new.peak:7.0f} MiB"


def main() -> None:
    """Print a row for each preset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="what to compare with, as git names it")
    parser.add_argument("presets", nargs="+")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=9, help="steps that count, of each tree")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before those")
    parser.add_argument("--precision", default="32", help="of this tree; the other steps in 32")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, options.revision], cwd=ROOT, check=True)
        try:
            about = f"{options.threads} threads, batch {options.batch}, {options.steps} steps of each, this tree in"
            print(f"{options.revision} against this tree: {about} {options.precision}")
            print(
                f"{'preset':26} {'before':>9} {'now':>9} {'ratio':>8} {'least':>8} {'work':>8} {'peak before, now':>16}"
            )
            for name in options.presets:
                print(compared(name, tree, options), flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
