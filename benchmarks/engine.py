"""Engines taking turns: the time of one look, of its parts, and by how much what a look tells differs from torch.

    python benchmarks/engine.py mnist-classify-8 mnist-sketchpad --pictures 256

One thread, without a server. `model` is the engine alone; `look` is all that is made of a prepared picture (poses,
pictures, beliefs, familiarity); `whole` also opens and prepares the file. Every round shows each engine the same
picture, or the same sixteen, in an order that turns, so that a busy machine disturbs all alike; medians are told, and
the ratio is the median of torch's time over the engine's in the same round. A graph that is not in the cache folder
yet is made first.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stawm.data import load_data
from stawm.data.prepare.given import open_given
from stawm.data.prepare.prepared import Prepared
from stawm.errors import StawmError
from stawm.look.answer import Look
from stawm.look.engine import Engine, open_engine
from stawm.look.looker import Looker, shipped
from stawm.look.picture import picture_of
from stawm.store.weights import Trained, load_trained

KINDS = ("torch", "onnx", "int8")
WARM_UP = 5


def files_of(trained: Trained, count: int, data_dir: Path | None) -> tuple[list[bytes], str]:
    """Test pictures of the model's own data set as PNG files, and where they are from."""
    shape, name = trained.experiment.model.image.shape, trained.experiment.data.name
    try:
        images = load_data(name, data_dir=data_dir, image=shape).test.images[:count]
    except StawmError:
        name, images = "noise", (255 * torch.rand(count, *shape)).to(torch.uint8)
    return [picture_of(one).png() for one in images], name


CLOCKS = {"wall": time.perf_counter, "processor": time.thread_time}


def in_turn(
    ways: dict[str, Callable[[int], object]], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """The milliseconds of each way in each round; the one that begins changes."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + WARM_UP):
        names = list(ways)
        first = number % len(names)
        for name in names[first:] + names[:first]:
            started = clock()
            ways[name](number)
            took = 1000 * (clock() - started)
            if number >= WARM_UP:
                times[name].append(took)
    return times


def timed(
    lookers: dict[str, Looker], files: list[bytes], batch: int, rounds: int, clock: Callable[[], float]
) -> dict[str, dict[str, float]]:
    """Medians of each engine, and how many times as fast as torch it is."""
    ready = [prepared(lookers["torch"], file) for file in files]
    images = torch.stack([one.pixels for one in ready]).float() / 255

    def some(number: int) -> list[int]:
        return [(number * batch + place) % len(files) for place in range(batch)]

    def run(engine: Engine) -> Callable[[int], object]:
        return torch.inference_mode()(lambda number: engine(images[some(number)]))

    def look(looker: Looker) -> Callable[[int], object]:
        return lambda number: looker.look([ready[place] for place in some(number)], [""] * batch)

    def whole(looker: Looker) -> Callable[[int], object]:
        return lambda number: looker.look([prepared(looker, files[place]) for place in some(number)], [""] * batch)

    found: dict[str, dict[str, float]] = {name: {} for name in lookers}
    for stage, make in (("model", lambda one: run(one.engine)), ("look", look), ("whole", whole)):
        times = in_turn({name: make(looker) for name, looker in lookers.items()}, rounds, clock)
        for name, values in times.items():
            found[name][stage] = statistics.median(values)
            ratios = [first / second for first, second in zip(times["torch"], values, strict=True)]
            found[name][f"{stage}_ratio"] = statistics.median(ratios)
    alone: dict[str, Callable[[int], object]] = {
        "": lambda number: [prepared(lookers["torch"], files[place]) for place in some(number)]
    }
    preparing = in_turn(alone, rounds, clock)
    for values in found.values():
        values["preparation"] = statistics.median(preparing[""])
    return found


def prepared(looker: Looker, file: bytes) -> Prepared:
    """The picture of a file, as the model takes it."""
    return looker.prepare(open_given(file, "picture"))


def differences(wanted: list[Look], got: list[Look]) -> dict[str, float]:
    """The largest difference of each kind of number that a look tells."""
    found = {"pixels": 0.0, "belief": 0.0, "familiar": 0.0, "glimpse": 0.0, "canvas": 0.0, "changed": 0, "crossed": 0}

    def note(name: str, first: Any, second: Any) -> None:
        if first is not None:
            apart = np.abs(np.asarray(first, np.float64) - np.asarray(second, np.float64))
            found[name] = max(found[name], float(apart.max()))

    for one, other in zip(wanted, got, strict=True):
        found["changed"] += one.prediction != other.prediction
        if one.familiar is not None and other.familiar is not None:
            note("familiar", one.familiar.score, other.familiar.score)
            found["crossed"] += one.familiar.recognised != other.familiar.recognised
        for glimpse, same in zip(one.glimpses, other.glimpses, strict=True):
            note("pixels", glimpse.outline, same.outline)
            note("belief", glimpse.belief, same.belief)
            note("glimpse", glimpse.glimpse.array, same.glimpse.array)
            if glimpse.canvas is not None and same.canvas is not None:
                note("canvas", glimpse.canvas.array, same.canvas.array)
    return found


def measure(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """All about one model."""
    trained = load_trained(name)
    files, source = files_of(trained, given.pictures, given.data_dir)
    lookers = {kind: Looker(trained, kind, open_engine(trained, kind, print)) for kind in KINDS}
    ready = [prepared(lookers["torch"], file) for file in files]
    looks = {kind: looker.look(ready, [""] * len(ready)) for kind, looker in lookers.items()}
    return {
        "model": name,
        "pictures": f"{len(files)} of {source}",
        "times": {batch: timed(lookers, files, batch, given.rounds, CLOCKS[given.clock]) for batch in given.batches},
        "differences": {kind: differences(looks["torch"], looks[kind]) for kind in KINDS[1:]},
    }


def tell(found: dict[str, Any]) -> None:
    """Print one model for people."""
    print(f"{found['model']}, {found['pictures']}, load {os.getloadavg()[0]:.1f}")
    for batch, engines in found["times"].items():
        for kind, took in engines.items():
            stages = ", ".join(
                f"{stage} {took[stage]:6.2f} ms ({took[f'{stage}_ratio']:.2f} ×)"
                for stage in ("model", "look", "whole")
            )
            print(f"  batch {batch:2} {kind:5}: {stages}; preparation {took['preparation']:.2f} ms", flush=True)
    for kind, values in found["differences"].items():
        print(f"  {kind} from torch: {', '.join(f'{name} {value:.2g}' for name, value in values.items())}", flush=True)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names or folders of weights (those that come with the package)")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--pictures", type=int, default=256)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor: what others take does not count")
    parser.add_argument("--json", action="store_true", help="one JSON record a line")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.models or shipped():
        found = measure(name, given)
        print(json.dumps(found), flush=True) if given.json else tell(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
