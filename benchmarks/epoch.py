"""An epoch as `stawm train` runs it, and how much of it is not bare steps: pictures, evaluation, records, checkpoints.

    python benchmarks/epoch.py mnist-5k-classify mnist-classify-8-fast --pictures 6400

The bare step is the trainer's own (forward, loss, backward, clipping, optimiser, average), timed within the same epoch;
every other second is beside it. `wall` is elapsed time, `work` processor time, which a busy machine disturbs less.
With --pictures only so many training pictures are used (an even share of those held out, too), so that one epoch of a
large set need not be waited for; checkpoints then fall as often as in a whole epoch of that many steps.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from stawm.data import load_data
from stawm.data.image_set import Splits, part_of
from stawm.experiments.presets import preset
from stawm.training import feed, fit
from stawm.training.books import Books
from stawm.training.trainer import Trainer

MOST = 0.07
"""The largest share of the bare steps that all else may take."""
PLACES = (
    ("steps", Trainer, "step"),
    ("augmentation", feed, "augment"),
    ("batches", feed, "batch_of"),
    ("evaluation", fit, "evaluate"),
    ("checkpoints", Books, "save"),
    ("records", Books, "add"),
)
Spent = dict[str, list[float]]


@contextmanager
def watched(spent: Spent) -> Iterator[None]:
    """While it holds, elapsed and processor seconds of each place are added up."""

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            wall, work = time.perf_counter(), time.process_time()
            try:
                return function(*given, **named)
            finally:
                spent[name][0] += time.perf_counter() - wall
                spent[name][1] += time.process_time() - work

        return call

    kept = [(owner, name, getattr(owner, name)) for _, owner, name in PLACES]
    for (label, owner, name), (_, _, function) in zip(PLACES, kept, strict=True):
        setattr(owner, name, timed(label, function))
    try:
        yield
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def pictures_for(name: str, count: int | None) -> Splits:
    """The pictures of a data set, or `count` of them and as large a share of those held out."""
    whole = load_data(name)
    if count is None or count >= len(whole.train):
        return whole
    share = count / len(whole.train)
    held = round(share * len(whole.test))
    return Splits(part_of(whole.train, slice(count)), part_of(whole.test, slice(held)))


def epoch(name: str, count: int | None) -> Spent:
    """Seconds of each part of the second epoch of a preset, the first being for warming up."""
    experiment = preset(name)
    experiment = replace(experiment, training=replace(experiment.training, epochs=2))
    whole, pictures = len(load_data(experiment.data.name).train), pictures_for(experiment.data.name, count)
    kept = round(experiment.data.hold_out * len(pictures.train) / whole)
    experiment = replace(experiment, data=replace(experiment.data, hold_out=kept))
    spent: Spent = defaultdict(lambda: [0.0, 0.0])
    with tempfile.TemporaryDirectory() as folder:
        records = fit.fit(experiment, folder, data=pictures, accelerator="cpu")
        next(records)
        wall, work = time.perf_counter(), time.process_time()
        with watched(spent):
            next(records)
        spent["epoch"] = [time.perf_counter() - wall, time.process_time() - work]
        records.close()
    return spent


def table(name: str, spent: Spent) -> str:
    """The parts as text, each beside the bare steps."""
    lines = [f"{name}, {torch.get_num_threads()} threads, torch {torch.__version__}"]
    lines.append(f"{'part':14} {'wall':>9} {'work':>9}   beside the steps: wall, work")
    steps = spent["steps"]
    parts = {label: spent[label] for label, *_ in PLACES}
    beside = [whole - own for whole, own in zip(spent["epoch"], steps, strict=True)]
    for label, (wall, work) in [*parts.items(), ("all but steps", beside)]:
        shares = "" if label == "steps" else f" {wall / steps[0]:>8.1%} {work / steps[1]:>8.1%}"
        lines.append(f"{label:14} {wall:>8.2f}s {work:>8.2f}s{shares}")
    share = beside[1] / steps[1]
    lines.append(
        f"all but steps, of processor time: {share:.1%} (at most {MOST:.0%}: {'yes' if share <= MOST else 'NO'})"
    )
    return "\n".join(lines)


def main() -> None:
    """Print a table for each preset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="+")
    parser.add_argument("--pictures", type=int, help="training pictures (else all)")
    chosen = parser.parse_args()
    for name in chosen.presets:
        print(table(name, epoch(name, chosen.pictures)), flush=True)


if __name__ == "__main__":
    main()
