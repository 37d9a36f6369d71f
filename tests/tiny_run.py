"""A run small enough for tests, and the same run for a process that is killed."""

import os
import signal
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
from tiny_seed import SHIFT

STEPS = 8
"""In each of the two epochs."""

TINY = Experiment(
    name="tiny",
    seed=SHIFT,
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


PLAIN = with_data(
    with_model(with_training(schedule="constant", warmup=0.0, average=0.0, clip_norm=0.5), dropout=0.0), rotate=0.0
)
"""Plain steps: no dropout, nothing turned, one rate, no average."""


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


def train(run: Path, *, resume: bool = False, die_after: int = 0, die_writing: str = "") -> None:
    """Train in a process that dies after this step of the run, or in the middle of the file with this in its name."""
    from stawm.training.fit import fit

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    if die_writing:
        die_while_writing(die_writing)

    def on_step(step: Step) -> None:
        if (step.epoch - 1) * step.steps + step.step == die_after:
            os.kill(os.getpid(), signal.SIGKILL)

    list(fit(TINY, run, resume=resume, data=digits(), on_step=on_step))
