"""A run small enough for tests, and a process of its own to kill: python tests/tiny_run.py RUN [options]."""

import argparse
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from stawm.data import ImageSet, Splits, load_data
from stawm.experiments.experiment import (
    CnnConfig,
    DataConfig,
    Experiment,
    ModelConfig,
    TrainingConfig,
)
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.training.journal import Step

STEPS = 8
"""In each of the two epochs."""

TINY = Experiment(
    name="tiny",
    model=ModelConfig(
        glimpses=2,
        context=CnnConfig(filters=(4, 8), strides=(2, 2)),
        glimpse=CnnConfig(filters=(4, 8), strides=(1, 2)),
        memory=HebbRosenblattConfig(size=16, learn_rates=True),
        dropout=0.2,
    ),
    data=DataConfig(name="mnist-5k", rotate=10.0),
    training=TrainingConfig(
        epochs=2,
        batch_size=16,
        learning_rate=3e-3,
        schedule="one-cycle",
        warmup=0.2,
        average=0.9,
        checkpoint_every=3,
    ),
)


def some(images: ImageSet, count: int) -> ImageSet:
    labels = None if images.labels is None else images.labels[:count]
    return replace(images, images=images.images[:count], labels=labels)


def digits(train: int = 16 * STEPS + 5, test: int = 30) -> Splits:
    """A few of the embedded digits; five more than fit into whole batches."""
    splits = load_data("mnist-5k")
    return Splits(some(splits.train, train), some(splits.test, test))


def with_training(experiment: Experiment = TINY, **changes: Any) -> Experiment:
    return replace(experiment, training=replace(experiment.training, **changes))


def with_model(experiment: Experiment = TINY, **changes: Any) -> Experiment:
    return replace(experiment, model=replace(experiment.model, **changes))


def with_data(experiment: Experiment = TINY, **changes: Any) -> Experiment:
    return replace(experiment, data=replace(experiment.data, **changes))


def die_while_writing(ending: str) -> None:
    """From now on, writing the file whose name has this ending stops half-way, with the whole process."""
    write = Path.write_bytes

    def half(self: Path, data: Any) -> int:
        if ending not in self.name:
            return write(self, data)
        write(self, data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")

    Path.write_bytes = half


def main() -> None:
    from stawm.training.fit import fit

    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--wait-after", type=int, help="say so after this step of the run, then wait to be killed")
    parser.add_argument("--die-writing", help="part of the name of the file to die on")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.die_writing:
        die_while_writing(given.die_writing)

    def on_step(step: Step) -> None:
        if (step.epoch - 1) * step.steps + step.step == given.wait_after:
            print("waiting", flush=True)
            sys.stdin.read()

    for _ in fit(TINY, given.run, resume=given.resume, data=digits(), on_step=on_step):
        pass


if __name__ == "__main__":
    main()
