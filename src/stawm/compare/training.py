"""A cell that is an ordinary run: `fit` in a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stawm.compare.task import Found, Place, Progress, Report, Task, check_known, nested
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.check import check
from stawm.experiments.describe import parameters
from stawm.experiments.experiment import Experiment
from stawm.experiments.facts import held
from stawm.experiments.recipe import changes, flags, own_preset
from stawm.memory.protocol import other_rule
from stawm.store.checkpoint import holds_run
from stawm.training.fit import fit
from stawm.training.journal import Step, read_metrics

RULE = "model.memory.rule"


@dataclass(frozen=True)
class Training(Task):
    """The training of an experiment."""

    experiment: Experiment

    kind = "train"
    matched_by = "model.hidden"

    @property
    def name(self) -> str:
        """The preset."""
        return self.experiment.name

    @property
    def seed(self) -> int:
        """Of everything random."""
        return self.experiment.seed

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every setting by its dotted name."""
        return self.experiment.settings

    def changed(self, settings: Mapping[str, Any], seed: int | None = None) -> "Training":
        """The training with some settings replaced; another memory rule brings its own settings (the size stays)."""
        base = self.experiment if seed is None else replace(self.experiment, seed=seed)
        if RULE in settings:
            base = replace(base, model=replace(base.model, memory=other_rule(base.model.memory, settings[RULE])))
        check_known(Training(base), settings)
        try:
            made = Experiment.from_dict(nested(base.to_dict(), settings))
        except CheckpointError as failure:
            raise UsageError(str(failure)) from failure
        return Training(replace(made, departures=held(made.departures, changes(made, self.experiment))))

    def check(self) -> None:
        """Refuse settings that cannot be trained."""
        check(self.experiment)

    def parameters(self) -> int:
        """How many numbers of the model learn."""
        return parameters(self.experiment).learning

    def arguments(self) -> list[str]:
        """The preset, and what is set otherwise than in it."""
        changed = changes(self.experiment, own_preset(self.experiment))
        return [self.name, *flags({name: one.value for name, one in changed.items() if one.value is not None})]

    def begun(self, folder: Path) -> bool:
        """Whether a run was begun there."""
        return holds_run(folder)

    def run(self, place: Place, report: Report) -> Found:
        """Train to the last epoch."""
        training, scores = self.experiment.training, {}

        def on_step(step: Step) -> None:
            share = (step.epoch - 1 + step.step / step.steps) / step.epochs
            report(Progress(f"epoch {step.epoch}/{step.epochs}, step {step.step}/{step.steps}", share, scores))

        where = {"data_dir": place.data_dir, "accelerator": place.device}
        resume = self.begun(place.folder)
        for record in fit(self.experiment, place.folder, resume=resume, on_step=on_step, **where):
            scores = dict(record.held_out["scores"])
            report(Progress(f"epoch {record.epoch}/{training.epochs}", record.epoch / training.epochs, scores))
        return found_in(read_metrics(place.folder))

    def to_dict(self) -> dict[str, Any]:
        """The experiment as plain JSON values."""
        return self.experiment.to_dict()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Training":
        """The training that `to_dict` wrote."""
        return cls(Experiment.from_dict(values))


def found_in(records: list[dict[str, Any]]) -> Found:
    """What the last of a run's records found, and the seconds that all of them took."""
    held_out = records[-1]["held_out"]
    lists = {name: tuple(map(float, value)) for name, value in held_out.items() if isinstance(value, list) and value}
    timed = ("seconds", "evaluation_seconds")
    seconds = sum(record.get("timing", {}).get(part, 0.0) for record in records for part in timed)
    scores = {name: float(value) for name, value in held_out["scores"].items()}
    return Found(held_out.get("split", "held-out"), int(held_out["count"]), scores, lists, round(float(seconds), 1))
