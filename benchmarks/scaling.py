"""How time and memory grow: a training step with its dials, two processes, and the memory layer beside its rivals.

    python benchmarks/scaling.py --out docs

Three parts, on one thread, in a few minutes:

- `step`: a training step of `mnist-classify-8` on random pictures, with one dial changed at a time: the size of the
  memory, the number of glimpses, the batch, the side of the picture. Peak memory is that of a fork of its own (Linux).
- `processes`: the step of one process, and of two under torchrun with a batch each: the share of ideal is the time of
  the one over that of the two.
- `layer`: the memory alone, forward and backward, every recall asked for: trace, matrix, and the rule as the paper
  writes it; and as plain PyTorch loops of the same kind linear attention, S ← S + k ⊗ v, and the delta rule,
  S ← S + k ⊗ (v − Sᵀk).

Everything of a part takes turns, and medians are told. `step` and `layer` are seconds of the processor, which others on
the machine disturb least; `processes` are seconds on the wall.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from memory import resident
from stawm.experiments.experiment import Experiment, ImageConfig
from stawm.experiments.presets import preset
from stawm.files import write_bytes
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.show.plot import hex_of, house_style, rendered
from stawm.show.sheet import LINES
from stawm.training.engine import start_engine
from stawm.training.trainer import Trainer
from train_step import Equations

PRESET = "mnist-classify-8"
BASE = {"memory": 256, "glimpses": 8, "batch": 16, "side": 28}
DIALS = {"memory": (64, 256, 512, 1024), "glimpses": (2, 4, 8, 16), "batch": (4, 16, 32, 64), "side": (20, 28, 40, 56)}
TITLES = {"memory": "size of the memory", "glimpses": "glimpses", "batch": "batch", "side": "side of the picture"}
SEQUENCES, SIZES, WIDTH, LENGTH, ROWS = (4, 8, 16, 32, 64, 128), (16, 32, 64, 128, 256), 64, 16, 16
MIB = 2**20


def experiment_of(dials: dict[str, int]) -> Experiment:
    """The preset with these dials, from fresh weights."""
    base = preset(PRESET)
    model = replace(
        base.model,
        glimpses=dials["glimpses"],
        image=ImageConfig(1, dials["side"], dials["side"]),
        memory=replace(base.model.memory, size=dials["memory"]),
    )
    return replace(base, model=model, training=replace(base.training, start_from=None, batch_size=dials["batch"]))


def stepper(dials: dict[str, int]) -> Callable[[], None]:
    """A training step, ready to be called again and again."""
    trainer = Trainer(start_engine("cpu"), experiment_of(dials), 10_000)
    images, labels = torch.rand(dials["batch"], 1, dials["side"], dials["side"]), torch.arange(dials["batch"]) % 10

    def step() -> None:
        trainer.step(images, labels, 0)

    return step


def in_turn(tasks: dict[Any, Callable[[], None]], rounds: int, clock: Callable[[], float]) -> dict[Any, float]:
    """The median seconds of each task; the first round does not count."""
    times: dict[Any, list[float]] = {name: [] for name in tasks}
    for number in range(rounds + 1):
        for name, task in tasks.items():
            started = clock()
            task()
            if number:
                times[name].append(clock() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def child(*arguments: str, processes: int = 0) -> Any:
    """What this script prints as JSON when it is called with these arguments, in processes of its own."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"]
    start = [*launch, "--nproc-per-node", str(processes)] if processes else []
    command = [sys.executable, *start, __file__, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads([line for line in done.stdout.splitlines() if line.startswith(("{", "["))][-1])


def steps(rounds: int) -> list[dict[str, Any]]:
    """Time and peak memory of a step for each setting of each dial."""
    points = {(dial, value): BASE | {dial: value} for dial, values in DIALS.items() for value in values}
    alike = {json.dumps(dials): dials for dials in points.values()}
    peaks = {key: peak_of(dials) for key, dials in alike.items()}  # First, while this process is small.
    took = in_turn({key: stepper(dials) for key, dials in alike.items()}, rounds, time.process_time)
    return [
        {"dial": dial, "value": value, "seconds": took[json.dumps(dials)], "peak": peaks[json.dumps(dials)]}
        for (dial, value), dials in points.items()
    ]


def peak_of(dials: dict[str, int]) -> int:
    """Bytes by which setting up and two steps raise the resident size of a process that is forked for it."""
    reader, writer = os.pipe()
    if (process := os.fork()) == 0:
        Path("/proc/self/clear_refs").write_text("5")  # The peak is counted from here on.
        before, _ = resident()
        step = stepper(dials)
        step()
        step()
        os.write(writer, str(resident()[1] - before).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(process, 0)
    with os.fdopen(reader) as found:
        return int(found.read())


def processes(rounds: int) -> dict[str, float]:
    """Seconds of a step of one process and of two, in turn, each process with a batch of its own."""
    found: dict[str, list[float]] = {"one": [], "two": []}
    for _ in range(2):
        for name, count in (("one", 1), ("two", 2)):
            found[name].append(child("--walk", str(rounds), processes=count)["seconds"])
    one, two = (statistics.median(values) for values in found.values())
    return {"one": one, "two": two, "share_of_ideal": one / two, "load": os.getloadavg()[0]}


def walk(rounds: int) -> None:
    """Print the median seconds of a step of this process, which torchrun started."""
    took = in_turn({"step": stepper(BASE)}, rounds, time.perf_counter)
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps({"seconds": took["step"]}), flush=True)


def linear_attention(codes: Tensor, query: Tensor) -> Tensor:
    """What the query reads back after each step; keys and values are the codes."""
    state, read = codes.new_zeros(codes.shape[0], codes.shape[2], codes.shape[2]), []
    for code in codes.unbind(1):
        state = state + code[:, :, None] * code[:, None, :]
        read.append(torch.bmm(query[:, None], state)[:, 0])
    return torch.stack(read, 1)


def delta_rule(codes: Tensor, query: Tensor) -> Tensor:
    """The same, writing only what the state does not say already."""
    state, read = codes.new_zeros(codes.shape[0], codes.shape[2], codes.shape[2]), []
    for code in codes.unbind(1):
        missing = code - torch.bmm(code[:, None], state)[:, 0]
        state = state + code[:, :, None] * missing[:, None, :]
        read.append(torch.bmm(query[:, None], state)[:, 0])
    return torch.stack(read, 1)


def layer(name: str, size: int, length: int) -> Callable[[], None]:
    """Forward and backward of one rule over random codes."""
    memory = (Equations if name == "equations" else HebbRosenblatt)(size, form="trace" if name == "trace" else "matrix")
    loops = {"linear attention, loop": linear_attention, "delta rule, loop": delta_rule}
    run = loops.get(name) or (lambda codes, query: memory(codes, query).recalls)
    codes = (torch.rand(ROWS, length, size) * 4 / size).requires_grad_()
    query = (torch.rand(ROWS, size) * 4 / size).requires_grad_()

    def task() -> None:
        torch.autograd.grad(run(codes, query).sum(), [codes, query])

    return task


RULES = ("trace", "matrix", "equations", "linear attention, loop", "delta rule, loop")


def layers(rounds: int) -> list[dict[str, Any]]:
    """Seconds of each rule over the length of the sequence and over its width."""
    found = []
    for over, values in (("length", SEQUENCES), ("size", SIZES)):
        for value in values:
            size, length = (WIDTH, value) if over == "length" else (value, LENGTH)
            took = in_turn({name: layer(name, size, length) for name in RULES}, rounds, time.process_time)
            found += [{"over": over, "value": value, "rule": name, "seconds": took[name]} for name in RULES]
    return found


def panel(axes: Any, across: str, lines: dict[str, tuple[list[float], list[float]]], title: str) -> None:
    """Lines over doubling numbers, both scales logarithmic."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    for (name, (at, values)), colour in zip(lines.items(), LINES, strict=False):
        axes.plot(at, values, color=hex_of(colour), marker="o", lw=1.6, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    at = next(iter(lines.values()))[0]
    axes.set_xticks(at, [f"{value:g}" for value in at])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xlabel(across)
    axes.set_title(title)


def draw(found: dict[str, Any], folder: Path) -> None:
    """Write a chart for each part that has one."""
    from io import BytesIO

    from matplotlib.figure import Figure

    charts: dict[str, Any] = {}
    with house_style():
        if "step" in found:
            charts["scaling-step"] = figure = Figure(figsize=(10, 4.6), dpi=100)
            for column, (dial, title) in enumerate(TITLES.items()):
                rows = [row for row in found["step"] if row["dial"] == dial]
                at = [row["value"] for row in rows]
                for line, (key, factor, told) in enumerate((("seconds", 1e3, "ms a step"), ("peak", 1 / MIB, "MiB"))):
                    axes = figure.add_subplot(2, 4, 4 * line + column + 1)
                    every = [factor * row[key] for row in found["step"]]
                    axes.set_ylim(0.8 * min(every), 1.25 * max(every))
                    panel(axes, title, {dial: (at, [factor * row[key] for row in rows])}, told)
        if "layer" in found:
            charts["scaling-layer"] = figure = Figure(figsize=(9, 4.2), dpi=100)
            titles = {"length": f"ms, M = {WIDTH}", "size": f"ms, {LENGTH} writes"}
            for column, (over, across) in enumerate((("length", "length of the sequence"), ("size", "M"))):
                rows = [row for row in found["layer"] if row["over"] == over]
                lines = {
                    name: (
                        [row["value"] for row in rows if row["rule"] == name],
                        [1e3 * row["seconds"] for row in rows if row["rule"] == name],
                    )
                    for name in RULES
                }
                panel(figure.add_subplot(1, 2, column + 1), across, lines, titles[over])
            figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
        for name, figure in charts.items():
            content = BytesIO()
            rendered(figure).quantize(64).save(content, "PNG", optimize=True)
            write_bytes(folder / f"{name}.png", content.getvalue())


def tell(found: dict[str, Any]) -> None:
    """Print the numbers for people."""
    for row in found.get("step", ()):
        print(f"{row['dial']:8} {row['value']:5}: {1e3 * row['seconds']:8.0f} ms, {row['peak'] / MIB:7.0f} MiB")
    if "processes" in found:
        one, two, share, load = found["processes"].values()
        print(f"one process {1e3 * one:.0f} ms, two {1e3 * two:.0f} ms: {share:.0%} of ideal (load {load:.1f})")
    for over in ("length", "size"):
        rows = [row for row in found.get("layer", ()) if row["over"] == over]
        for value in dict.fromkeys(row["value"] for row in rows):
            told = ", ".join(f"{row['rule']} {1e3 * row['seconds']:.1f}" for row in rows if row["value"] == value)
            print(f"{over} {value:4}: {told} ms")


def main() -> None:
    """Measure, print, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--parts", nargs="+", choices=("step", "processes", "layer"), default=["step", "processes", "layer"]
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="where to write the charts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers too")
    parser.add_argument("--read", type=Path, nargs="+", metavar="FILE", help="numbers of before, not measured again")
    parser.add_argument("--walk", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.walk:
        walk(given.walk)
        return
    measure = {"step": steps, "processes": processes, "layer": layers}
    found: dict[str, Any] = {}
    for file in given.read or ():
        found |= json.loads(file.read_text())
    found |= {part: measure[part](given.rounds) for part in given.parts} if not given.read else {}
    tell(found)
    if given.json:
        write_bytes(given.json, json.dumps(found).encode())
    if given.out:
        draw(found, given.out)


if __name__ == "__main__":
    main()
