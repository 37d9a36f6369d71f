"""The learning rate, and number and size of glimpses, pure functions of the step: nothing hidden, nothing to save."""

import math
from itertools import pairwise

from stawm.experiments.experiment import ModelConfig, TrainingConfig

FLOOR = 1e-4
"""Where one-cycle ends, as a share of its peak."""


def learning_rate(config: TrainingConfig, step: int, steps_per_epoch: int) -> float:
    """The learning rate of step number `step` (from 0): the schedule's, times the linear warm-up.

    `decay` multiplies by `decay` after each epoch and divides by ten after each milestone; `one-cycle` falls along a
    cosine from the end of the warm-up to almost nothing at the last step.
    """
    steps = config.epochs * steps_per_epoch
    warmup = round(config.warmup * steps)
    rise = min(1.0, (step + 1) / warmup) if warmup else 1.0
    return config.learning_rate * rise * _scheduled(config, step, steps, steps_per_epoch, warmup)


def glimpses_in(training: TrainingConfig, model: ModelConfig, epoch: int) -> int:
    """Glimpses of each look in this epoch (from 0): those of its part of the run; in the last one always the last."""
    return _part(training.glimpses or (model.glimpses,), training, epoch)


def size_in(training: TrainingConfig, model: ModelConfig, epoch: int) -> tuple[int, int]:
    """Height and width of a glimpse in this epoch (from 0), in the same way."""
    return (side := _part(training.sides, training, epoch), side) if training.sides else model.glimpse_size


def epochs_left(training: TrainingConfig, model: ModelConfig, epoch: int, done: float) -> float:
    """What is left of the run, `done` of this epoch (from 0) being over, in epochs of as many pixels as this one."""
    counts = {len(parts) for parts in (training.glimpses, training.sides) if parts}
    ends = {part * training.epochs // count for count in counts for part in range(1, count)}
    edges = sorted({epoch + 1, training.epochs} | {end for end in ends if end > epoch})
    later = sum(_pixels(training, model, begin) * (end - begin) for begin, end in pairwise(edges))
    return 1 - done + later / _pixels(training, model, epoch)


def _part(parts: tuple[int, ...], training: TrainingConfig, epoch: int) -> int:
    return parts[-(-(epoch + 1) * len(parts) // training.epochs) - 1]


def _pixels(training: TrainingConfig, model: ModelConfig, epoch: int) -> int:
    """Of all glimpses of a look: what a step costs grows with them."""
    return glimpses_in(training, model, epoch) * math.prod(size_in(training, model, epoch))


def _scheduled(config: TrainingConfig, step: int, steps: int, steps_per_epoch: int, warmup: int) -> float:
    if config.schedule == "one-cycle":
        fallen = min(1.0, max(0, step - warmup + 1) / max(1, steps - warmup))
        return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * fallen))
    if config.schedule == "decay":
        epoch = step // steps_per_epoch
        return config.decay**epoch * 0.1 ** sum(milestone <= epoch for milestone in config.milestones)
    return 1.0
