"""Runs as rows of a table: the paper's number beside ours, over seeds."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment

Format = Literal["text", "markdown", "json"]

HEAD = ("experiment", "paper", "to reach", "ours", "split", "runs", "epochs")
SET = ": set on the command line"
SCORES = {"error": (100.0, "{:.2f} %", "{:.2f}"), "mse": (1.0, "{:.4f}", "{:.4f}")}
"""How a score is printed: its factor, a mean, a deviation."""


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
class Score:
    """The mean of a score over runs and its standard deviation, which takes two; shares, not per cent."""

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class Row:
    """Runs that differ in nothing but the seed, or one run that is not finished."""

    experiment: str
    paper: str
    """Where the paper has it."""
    reach: str
    """The paper's number, or that of a preset which is not in the paper."""
    scores: dict[str, Score]
    split: str
    """The pictures that were measured on."""
    seeds: tuple[int, ...]
    runs: tuple[str, ...]
    epochs: int
    epochs_asked: int
    finished: bool
    changes: tuple[str, ...]
    """Settings that were changed on the command line."""


def rows_of(runs: Sequence[Run], order: Sequence[str] = ()) -> list[Row]:
    """The rows of the table: experiments in the order of these names, others last; finished runs first."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        # Words may have changed between versions; settings may not.
        settings = replace(run.experiment, seed=0, about="", paper="", reach="", deviations=())
        key = settings.key, "" if run.finished else run.place
        groups.setdefault(key, []).append(run)
    known = {name: place for place, name in enumerate(order)}
    rows = [_row(sorted(group, key=lambda run: run.experiment.seed)) for group in groups.values()]
    return sorted(rows, key=lambda row: (known.get(row.experiment, len(known)), row.experiment, not row.finished))


def table(rows: Sequence[Row], form: Format = "text") -> str:
    """The table for people (text, Markdown) or for scripts (JSON)."""
    if form == "json":
        return json.dumps([asdict(row) for row in rows])
    notes = [row for row in rows if row.changes]
    cells = [_cells(row, notes.index(row) + 1 if row in notes else 0) for row in rows]
    lines = _markdown(cells) if form == "markdown" else _text(cells)
    told = [f"[{number}] {'; '.join(row.changes)}" for number, row in enumerate(notes, 1)]
    spread = any(score.deviation is not None for row in rows for score in row.scores.values())
    told += ["± is the standard deviation over seeds"] if spread else []
    return "\n".join([*lines, *([""] if told else []), *told])


def _row(runs: Sequence[Run]) -> Row:
    experiment, last = runs[0].experiment, [run.records[-1]["held_out"] for run in runs if run.records]
    names = [name for name in SCORES if last and all(name in held_out["scores"] for held_out in last)]
    found = {name: [float(held_out["scores"][name]) for held_out in last] for name in names}
    splits = {held_out.get("split", "held-out") for held_out in last}
    if len(splits) > 1:
        raise UsageError(
            f"the runs of {experiment.name} were measured on {' and '.join(sorted(splits))}; give those of one split"
        )
    return Row(
        experiment=experiment.name,
        paper=experiment.paper,
        reach=experiment.reach,
        scores={name: _score(values) for name, values in found.items()},
        split=next(iter(splits), ""),
        seeds=tuple(run.experiment.seed for run in runs),
        runs=tuple(run.place for run in runs),
        epochs=runs[0].epochs,
        epochs_asked=experiment.training.epochs,
        finished=runs[0].finished,
        changes=tuple(change.removesuffix(SET) for change in experiment.deviations if change.endswith(SET)),
    )


def _score(values: Sequence[float]) -> Score:
    return Score(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


def _cells(row: Row, note: int) -> tuple[str, ...]:
    seeds = ", ".join(map(str, row.seeds))
    counted = f"{len(row.runs)} (seed{'s' * (len(row.seeds) > 1)} {seeds})"
    return (
        f"{row.experiment} [{note}]" if note else row.experiment,
        row.paper.partition(";")[0] or "not in it",
        row.reach or "no number",
        ", ".join(told_score(name, score) for name, score in row.scores.items()) or "nothing yet",
        row.split or "none yet",
        counted,
        f"{row.epochs} of {row.epochs_asked}" + ("" if row.finished else ", unfinished"),
    )


def told_score(name: str, score: Score) -> str:
    """A score as people read it: an error in per cent, with its deviation if it has one."""
    factor, mean, deviation = SCORES[name]
    spread = "" if score.deviation is None else f" ± {deviation.format(factor * score.deviation)}"
    return f"{mean.format(factor * score.mean)}{spread} {name}"


def _text(cells: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(line[place]) for line in (HEAD, *cells)) for place in range(len(HEAD))]
    lines = [HEAD, tuple("-" * width for width in widths), *cells]
    return ["  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _markdown(cells: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [HEAD, ("---",) * len(HEAD), *(tuple(part.replace("|", "\\|") for part in line) for line in cells)]
    return [f"| {' | '.join(line)} |" for line in lines]
