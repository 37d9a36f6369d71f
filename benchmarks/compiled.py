"""Does `torch.compile` pay? A training step as it is and compiled, taking turns, and what ten epochs would gain.

    python benchmarks/compiled.py --preset mnist-5k-classify mnist-cluttered-60

The model's forward and backward are compiled for one size of batch; what a run pays before its first step is told
(forward and backward are compiled at the first one), how often the graph breaks, and the ratio of the median steps.
Then ten epochs of the preset's own batches and number of pictures, with the time to compile taken off: a gain of more
than a tenth was asked before compiling would be a setting of training.
"""

import argparse
import time

import torch
from torch._dynamo.utils import counters

from stawm.data.data_set import find_data
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset
from train_step import medians, training_step

EPOCHS, ASKED = 10, 0.10


def measure(experiment: Experiment, repeats: int) -> str:
    """One line: seconds to compile, breaks, the ratio of a step, and the gain over ten epochs."""
    batch, data = experiment.training.batch_size, experiment.data
    torch._dynamo.reset()
    counters.clear()
    tasks = {"plain": training_step(experiment, batch), "compiled": training_step(experiment, batch, compiled=True)}
    began = time.perf_counter()
    tasks["compiled"]()
    first = time.perf_counter() - began
    graphs, breaks = counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())
    median = medians(tasks, repeats)
    to_compile, ratio = first - median["compiled"], median["compiled"] / median["plain"]
    pictures = len(find_data(data.name).load(None).train) - data.hold_out
    whole = EPOCHS * (pictures // batch) * median["plain"]
    gain = 1 - (ratio + to_compile / whole)
    cells = f"{median['plain'] * 1e3:>10.0f}{median['compiled'] * 1e3:>10.0f}{ratio:>10.2f}{to_compile:>10.0f}"
    told = f"{graphs:>10}{breaks:>10}{gain:>10.0%}  {'yes' if gain > ASKED else 'no'}"
    return f"{experiment.name:24} {batch:>6}{cells}{told}"


def main() -> None:
    """Print a line for each preset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", nargs="+", default=["mnist-5k-classify", "mnist-cluttered-60", "mnist-draw-6"])
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; milliseconds a step, seconds to compile")
    heads = ("plain", "compiled", "ratio", "compile", "graphs", "breaks", "gain")
    print(f"{'preset':24} {'batch':>6}" + "".join(f"{head:>10}" for head in heads) + f"  more than {ASKED:.0%}?")
    for name in given.preset:
        print(measure(preset(name), given.repeats), flush=True)


if __name__ == "__main__":
    main()
