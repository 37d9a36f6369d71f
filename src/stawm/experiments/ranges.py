"""Which numbers a setting may take, as data: what lies outside is refused before a run begins."""

import math
from dataclasses import dataclass
from operator import attrgetter

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`; an open end is not one of them."""

    low: float = 0.0
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, number: float) -> bool:
        above = self.low < number if self.open_low else self.low <= number
        below = number < self.high if self.open_high else number <= self.high
        return math.isfinite(number) and above and below

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"above {self.low:g}" if self.open_low else f"of at least {self.low:g}"
        first = "above" if self.open_low else "from"
        last = "up to, but not including," if self.open_high else "up to"
        return f"{first} {self.low:g} {last} {self.high:g}"


POSITIVE = Range(open_low=True)
SHARE = Range(high=1.0)
RANGES = {
    "model.draw.temperature": POSITIVE,
    "data.rotate": Range(),
    "data.warp": Range(),
    "data.shift": Range(),
    "data.jitter": SHARE,
    "training.learning_rate": Range(),
    "training.weight_decay": Range(),
    "training.decay": POSITIVE,
    "training.warmup": SHARE,
    "training.pose_share": Range(),
    "training.paste_share": Range(),
    "training.clip_norm": Range(),
    "training.label_smoothing": SHARE,
    "training.average": Range(high=1.0, open_high=True),
    "training.settle": Range(),
    "training.checkpoint_every": Range(),
    "objective.classify": Range(),
    "objective.anytime": Range(),
    "objective.draw": Range(),
    "objective.beta": Range(),
    "objective.beta_scale": POSITIVE,
}
"""Settings that any number fits but not any number makes sense for; those that decide shapes are checked by `build`."""


def check_ranges(experiment: Experiment) -> None:
    """Refuse the first setting that lies outside its range."""
    for path, wanted in RANGES.items():
        number = attrgetter(path)(experiment)
        if number not in wanted:
            raise UsageError(f"{path} is {number:g}; give a number {wanted}")
