"""Runs that differ only in their seed, as one line with its deviation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from stawm.experiments.experiment import Experiment
from stawm.model.heads.head import Score


@dataclass(frozen=True)
class Run:
    """What a chart knows of a run: its name, its experiment where that is known, and the pictures it is judged by."""

    name: str
    experiment: Experiment | None = None
    split: str = "test"


AnyRun = TypeVar("AnyRun", bound=Run)


@dataclass(frozen=True)
class Line:
    """Means over seeds at whole numbers (epochs, glimpses), and one standard deviation; 0 where there is one seed."""

    at: list[int]
    means: Float[np.ndarray, " points"]
    deviations: Float[np.ndarray, " points"]
    seeds: int

    def scaled(self, factor: float) -> "Line":
        """The same in other units."""
        return replace(self, means=factor * self.means, deviations=factor * self.deviations)

    def end(self, score: Score) -> str:
        """The last value as people read it."""
        return score.told(float(self.means[-1]), float(self.deviations[-1]) if self.seeds > 1 else None)


def over_seeds(runs: Sequence[Mapping[int, float]]) -> Line:
    """The line of runs that differ only in their seed (number → value), as far as all of them go."""
    at = sorted(set(runs[0]).intersection(*runs[1:]))
    values = np.array([[run[number] for number in at] for run in runs], dtype=float)
    deviations = values.std(0, ddof=1) if len(runs) > 1 else np.zeros(len(at))
    return Line(at, values.mean(0), deviations, len(runs))


def by_recipe(runs: Sequence[AnyRun]) -> dict[str, list[AnyRun]]:
    """The runs of each line by its name, which tells the seeds where there are several.

    Two runs of the same recipe and the same seed are there to be compared: they stand in two lines.
    """
    groups: dict[tuple[str, int], list[AnyRun]] = {}
    seen: list[tuple[str, int | None]] = []
    for run in runs:
        one = (run.name, None) if run.experiment is None else (_recipe(run.experiment, run.split), run.experiment.seed)
        groups.setdefault((one[0], seen.count(one)), []).append(run)
        seen.append(one)
    return {_told(group): group for group in groups.values()}


def _told(group: Sequence[Run]) -> str:
    """The name of a run; of several, the name that they share when their seeds are left away, and the seeds."""
    if len(group) == 1:
        return group[0].name
    seeds = {run.name: run.experiment.seed for run in group if run.experiment is not None}
    stems = {name.removesuffix(f"-seed{seed}") for name, seed in seeds.items()}
    shared = stems.pop() if len(stems) == 1 else " and ".join(seeds)
    return f"{shared}, seeds {', '.join(map(str, seeds.values()))}"


def _recipe(experiment: Experiment, split: str) -> str:
    """All settings but the seed, which also stands in the name of a run that this one started from."""
    values = experiment.to_dict()
    told = json.dumps([split, *(values[part] for part in ("name", "model", "data", "training"))], sort_keys=True)
    return told.replace(f"-seed{experiment.seed}", "-seed")
