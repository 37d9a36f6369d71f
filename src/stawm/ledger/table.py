"""What all tables share (means over seeds, Markdown), and the table of run folders, the paper's number beside ours."""

import json
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import Experiment
from stawm.experiments.facts import Goal, Published, told_score
from stawm.experiments.presets import PRESETS
from stawm.experiments.recipe import Change, aims, changes, own_preset, told_changes
from stawm.files import real
from stawm.model.heads.head import known_scores
from stawm.store.checkpoint import EXPERIMENT, experiment_of
from stawm.training.journal import read_metrics

Thing = TypeVar("Thing")
Cells = tuple[str, ...]
Format = Literal["text", "markdown", "json"]

HEAD = ("experiment", "in the paper", "to reach", "ours", "split", "runs", "epochs")


@dataclass(frozen=True)
class Mean:
    """The mean of a score over runs and its standard deviation, which takes two; shares, not per cent."""

    mean: float
    deviation: float | None


def grouped(
    things: Iterable[Thing], key: Callable[[Thing], Hashable], seed: Callable[[Thing], int]
) -> list[tuple[Thing, ...]]:
    """Things that differ in nothing but the seed, together; groups in the order of their first, each by seed."""
    groups: dict[Hashable, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return [tuple(sorted(group, key=seed)) for group in groups.values()]


def means_of(found: Sequence[Mapping[str, float]]) -> dict[str, Mean]:
    """The mean over all of `found` of each score that is in all of them."""
    names = sorted(found[0], key=[*known_scores(), *found[0]].index) if found else []
    shared = [name for name in names if all(name in scores for scores in found)]
    values = {name: [float(scores[name]) for scores in found] for name in shared}
    spread = statistics.stdev if len(found) > 1 else lambda _: None
    return {name: Mean(statistics.fmean(of_name), spread(of_name)) for name, of_name in values.items()}


def told_means(means: Mapping[str, Mean]) -> str:
    """Scores as people read them: error 0.44 % ± 0.01, mse 0.0121."""
    return ", ".join(told_score(name, score.mean, score.deviation) for name, score in means.items())


def markdown(head: Cells, rows: Sequence[Cells]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [head, ("---",) * len(head), *(tuple(part.replace("|", "\\|") for part in line) for line in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def aligned(head: Cells, rows: Sequence[Cells]) -> list[str]:
    """The lines of a table for a terminal."""
    widths = [max(len(line[place]) for line in (head, *rows)) for place in range(len(head))]
    lines = [head, tuple("-" * width for width in widths), *rows]
    return ["  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines]


@dataclass(frozen=True)
class Run:
    """A run: where it lies, its experiment, and its records so far."""

    place: str
    experiment: Experiment
    records: Sequence[Mapping[str, Any]]

    @property
    def epochs(self) -> int:
        """Epochs done."""
        return self.records[-1]["epoch"] if self.records else 0

    @property
    def finished(self) -> bool:
        """Whether all epochs that were asked for are done."""
        return self.epochs >= self.experiment.training.epochs


@dataclass(frozen=True)
class Row:
    """Runs that differ in nothing but the seed, or one run that is not finished."""

    experiment: str
    published: Published | None
    goal: Goal | None
    scores: dict[str, Mean]
    split: str
    """The pictures that were measured on."""
    seeds: tuple[int, ...]
    runs: tuple[str, ...]
    epochs: int
    epochs_asked: int
    finished: bool
    changes: dict[str, Change]
    """Settings that are not those of the preset."""


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in these folders; one that is named twice counts once."""
    different = list({real(folder): folder for folder in folders}.values())
    for folder in different:
        if not (folder / EXPERIMENT).exists():
            raise CheckpointError(f"there is no run in {folder} (no {EXPERIMENT}); give the folders of runs")
    return [Run(str(folder), experiment_of(folder), read_metrics(folder)) for folder in different]


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """The rows of the table: experiments in the order of the presets, others last; finished runs first."""
    groups = grouped(
        runs,
        lambda run: (run.experiment.name, *run.experiment.settings.items(), "" if run.finished else run.place),
        lambda run: run.experiment.seed,
    )
    known = {name: place for place, name in enumerate(PRESETS)}
    rows = [_row(group) for group in groups]
    return sorted(rows, key=lambda row: (known.get(row.experiment, len(known)), row.experiment, not row.finished))


def table(rows: Sequence[Row], form: Format = "text") -> str:
    """The table for people (text, Markdown) or for scripts (JSON)."""
    if form == "json":
        return json.dumps([asdict(row) for row in rows])
    notes = [row for row in rows if row.changes]
    cells = [_cells(row, notes.index(row) + 1 if row in notes else 0) for row in rows]
    lines = (markdown if form == "markdown" else aligned)(HEAD, cells)
    told = [f"[{number}] {'; '.join(told_changes(row.changes))}" for number, row in enumerate(notes, 1)]
    spread = any(score.deviation is not None for row in rows for score in row.scores.values())
    told += ["± is the standard deviation over seeds"] if spread else []
    return "\n".join([*lines, *([""] if told else []), *told])


def _row(runs: Sequence[Run]) -> Row:
    experiment, last = runs[0].experiment, [run.records[-1]["held_out"] for run in runs if run.records]
    base = own_preset(experiment)
    splits = {held_out.get("split", "held-out") for held_out in last}
    if len(splits) > 1:
        raise UsageError(
            f"the runs of {experiment.name} were measured on {' and '.join(sorted(splits))}; give those of one split"
        )
    published, goal = aims(experiment, base)
    return Row(
        experiment=experiment.name,
        published=published,
        goal=goal,
        scores=means_of([held_out["scores"] for held_out in last]),
        split=next(iter(splits), ""),
        seeds=tuple(run.experiment.seed for run in runs),
        runs=tuple(run.place for run in runs),
        epochs=runs[0].epochs,
        epochs_asked=experiment.training.epochs,
        finished=runs[0].finished,
        changes=changes(experiment, base),
    )


def _cells(row: Row, note: int) -> tuple[str, ...]:
    seeds = ", ".join(map(str, row.seeds))
    aim = row.goal or row.published
    return (
        f"{row.experiment} [{note}]" if note else row.experiment,
        row.published.where if row.published else "not in it",
        aim.told() if aim else "no number",
        told_means(row.scores) or "nothing yet",
        row.split or "none yet",
        f"{len(row.runs)} (seed{'s' * (len(row.seeds) > 1)} {seeds})",
        f"{row.epochs} of {row.epochs_asked}" + ("" if row.finished else ", unfinished"),
    )
