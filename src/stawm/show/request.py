"""What was asked of a figure, and all that it may draw from; each part is made when it is first used."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from stawm.baselines.rival import Looked
from stawm.data import ImageSet, batch_of
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.check import check_pictures
from stawm.files import real
from stawm.model.heads.head import Answer, Answered, Batch
from stawm.model.stawm import Episode
from stawm.store.trained import open_trained
from stawm.store.weights import Trained, load_trained
from stawm.training.journal import METRICS, read_metrics

Kind = TypeVar("Kind", bound=Answer)


@dataclass(frozen=True)
class Request:
    """A figure of `runs`; what their models cannot offer is a `UsageError` that says so."""

    figure: str
    """The name of the figure."""
    runs: tuple[str, ...]
    """Folders of runs or of weights, names of weights, or files of the ledger; the first is the one to look at."""
    pictures: int = 6
    """How many test pictures to show."""
    glimpse: int | None = None
    """Which glimpse to show, counted from 1; none: the figure's own choice."""
    data: str | None = None
    data_dir: Path | None = None
    x: str = ""
    """For a comparison: what stands across; none: the figure's own choice."""
    score: str = ""
    """For a comparison: what is drawn; likewise."""
    film: bool = False
    """Whether a frame for each glimpse is wanted."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The runs by the ends of their paths, as long as needed to tell them apart."""
        paths = [real(run.removesuffix(".json")).parts for run in self.runs]
        for length in range(1, max(map(len, paths))):
            names = tuple("/".join(parts[-length:]) for parts in paths)
            if len(set(names)) == len(names):
                return names
        return self.runs

    def open(self, run: str) -> tuple[Trained, ImageSet]:
        """The trained model of a run, on the CPU, and the test pictures, which fit it."""
        trained, pictures = open_trained(run, self.data, self.data_dir, "cpu")
        check_pictures(pictures, trained.experiment.model)
        return trained, pictures

    @cached_property
    def _first(self) -> tuple[Trained, ImageSet]:
        return self.open(self.runs[0])

    @property
    def trained(self) -> Trained:
        """The trained model of the first run."""
        return self._first[0]

    @property
    def test(self) -> ImageSet:
        """All test pictures."""
        return self._first[1]

    @cached_property
    def models(self) -> tuple[Trained, ...]:
        """The trained models of all runs; they take pictures of the same size."""
        models = (self.trained, *map(load_trained, self.runs[1:]))
        for run, trained in zip(self.runs, models, strict=True):
            if trained.experiment.model.image != self.trained.experiment.model.image:
                raise UsageError(f"the runs {self.runs[0]} and {run} take pictures of different sizes; give runs alike")
        return models

    @cached_property
    def batch(self) -> Batch:
        """Some test pictures, evenly spread over the set, since a set may be sorted by class."""
        count = min(self.pictures, len(self.test))
        return self.pick(torch.linspace(0, len(self.test) - 1, count).round().long())

    def pick(self, places: Sequence[int] | Tensor) -> Batch:
        """The test pictures at these places."""
        return batch_of(self.test, torch.as_tensor(places))

    def ask(self, batch: Batch, trained: Trained | None = None) -> Answered:
        """What a trained model, the first if not given, makes of these pictures."""
        with torch.no_grad():
            return (trained or self.trained).model(batch.images)

    @cached_property
    def answered(self) -> Answered:
        """What the first model makes of the chosen pictures."""
        return self.ask(self.batch)

    @property
    def episode(self) -> Episode:
        """Where the first model looked at the chosen pictures, and all that came of it."""
        if not isinstance(self.answered, Episode):
            name, figure = self.trained.experiment.name, self.figure
            if isinstance(self.answered, Looked):
                raise UsageError(f"{figure} needs a model that remembers, and {name} has no memory; give another run")
            raise UsageError(f"{figure} needs a model that takes glimpses, and {name} does not; give another run")
        return self.answered

    @property
    def looked(self) -> Episode | Looked:
        """The same of any model that takes glimpses, with a memory or without."""
        return self.answered if isinstance(self.answered, Looked) else self.episode

    def need(self, head: str, trained: Trained | None = None) -> None:
        """Refuse a model (the first, if not given) without this head."""
        experiment = (trained or self.trained).experiment
        if head not in experiment.model.heads:
            has = f"{experiment.name} has only {', '.join(experiment.model.heads)}"
            raise UsageError(f"{self.figure} needs a model with the head {head}, and {has}; give another run")

    def answer(self, head: str, kind: type[Kind] = Answer) -> Kind:
        """What this head of the first model answered over the episode, of the kind that the figure can draw."""
        self.need(head)
        found: Any = self.episode.answers[head]
        if not isinstance(found, kind):
            name = self.trained.experiment.name
            raise UsageError(f"{self.figure} cannot draw what the head {head} of {name} answers")
        return found

    def place_of(self, otherwise: int) -> int:
        """The glimpse that was asked for, counted from 0, or `otherwise`."""
        count = self.trained.experiment.model.glimpses
        if self.glimpse is not None and not 1 <= self.glimpse <= count:
            raise UsageError(f"--glimpse takes a number from 1 to {count} (the model's glimpses), not {self.glimpse}")
        return otherwise if self.glimpse is None else self.glimpse - 1

    def records(self, run: str) -> list[dict[str, Any]]:
        """What a run wrote down after each epoch."""
        found = read_metrics(Path(run))
        if not found:
            raise CheckpointError(f"there is no finished epoch in {run} (no {METRICS}); give the folder of a run")
        return found
