"""The ledger as people read it, in Markdown (results, controls, trials, the best of each), and the pages with it."""

import os
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stawm.errors import UsageError
from stawm.experiments.describe import describe
from stawm.experiments.experiment import Experiment
from stawm.experiments.facts import Published, told_score
from stawm.experiments.presets import PRESETS
from stawm.experiments.recipe import aims, changes, nearest, paper_experiment, told_changes
from stawm.files import write_text
from stawm.ledger.comparison import read_comparisons
from stawm.ledger.comparisons import comparisons
from stawm.ledger.entries import Entry, chain, path_of, read_ledger, stretches
from stawm.ledger.table import Mean, grouped, markdown, means_of, told_means
from stawm.store.sessions import DIRTY, Machine

SUMMARY_HEAD = ("experiment", "in the paper", "paper", "ours", "seeds", "epochs, of the paper's")
RESULTS_HEAD = ("run", "paper", "ours", "pictures", "seeds", "epochs, of the paper's", "time")
TRIALS_HEAD = ("trial", "set otherwise than in the preset", "validation", "epochs", "time", "note")
CONTROLS_HEAD = ("run", "memory", "query", "error", "answers that name the memory's class", "after each glimpse, %")
QUESTIONS_HEAD = ("run", "error", "memory", "query", "wrong", "right about what was put", "wrong by chance")
EMPTY = "Nothing is recorded yet."
SEEDS = 3
"""Runs of one recipe that are enough to judge it by."""
SHORT = 7
"""Letters of a commit that people are told."""
SPREAD = "± is the standard deviation over seeds (the paper's: over its trials)."


@dataclass(frozen=True)
class Row:
    """Results that differ in nothing but the seed."""

    entries: tuple[Entry, ...]
    epochs: tuple[int, ...]
    """Of one run after the other, where each started from the one before."""

    @property
    def experiment(self) -> Experiment:
        """The paper's experiment that was run."""
        return paper_experiment(self.entries[0].experiment)

    @property
    def published(self) -> Published | None:
        """What the paper reports of it."""
        first = self.entries[0].experiment
        return aims(first, nearest(first) or first)[0]

    @property
    def scores(self) -> dict[str, Mean]:
        """The mean of each score over the seeds."""
        return means_of([entry.measured.scores for entry in self.entries])

    @property
    def score(self) -> str:
        """The name of the score that the paper gives, or of the first."""
        return self.published.score if self.published and self.published.score else next(iter(self.scores))

    @property
    def validation(self) -> dict[str, Mean]:
        """The same on the validation split, where there was one."""
        return means_of([entry.validation.scores for entry in self.entries if entry.validation])


def result_rows(entries: Sequence[Entry]) -> list[Row]:
    """Results as rows, in the order of their first entries; those that differ only in the seed share one."""
    ledger = {entry.name: entry for entry in entries}
    found = [entry for entry in entries if entry.kind == "result"]
    groups = grouped(found, lambda entry: tuple(map(_seedless, chain(entry, ledger))), lambda entry: entry.seed)
    return [Row(group, stretches(chain(group[0], ledger))) for group in groups]


def summary(entries: Sequence[Entry]) -> str:
    """A row for each experiment of the paper that was run: of its recipes the one that did best on validation.

    Those with several seeds come first (`_best`).
    """
    rows: dict[str, list[Row]] = {}
    for row in result_rows(entries):
        if row.published and not row.published.elsewhere:
            rows.setdefault(row.experiment.name, []).append(row)
    cells = [_summary(_best(rows[name])) for name in PRESETS if name in rows]
    return "\n".join([*markdown(SUMMARY_HEAD, cells), "", SPREAD]) if cells else EMPTY


def results(entries: Sequence[Entry], ledger: Path) -> str:
    """The table of all results, with a note for each row: the command that repeats it, and where and how it was run.

    `ledger` is its folder as seen from the text that the table goes into.
    """
    rows = result_rows(entries)
    if not rows:
        return EMPTY
    cells = [_result(row, number, ledger) for number, row in enumerate(rows, 1)]
    notes = [f"{number}. {_note(row)}" for number, row in enumerate(rows, 1)]
    return "\n".join([*markdown(RESULTS_HEAD, cells), "", SPREAD, "", *notes])


def controls(entries: Sequence[Entry]) -> str:
    """The tables of controls: answers of classifiers, and to questions, with memories and queries exchanged."""
    runs = [
        (f"`{entry.preset}` ({number}), seed {entry.seed}", entry)
        for number, row in enumerate(result_rows(entries), 1)
        for entry in row.entries
    ]
    classified = [
        (
            run,
            control.memory,
            control.query,
            _percent(control.error),
            _percent(control.follows_memory),
            ", ".join(f"{100 * error:.2f}" for error in control.error_after_glimpse),
        )
        for run, entry in runs
        for control in entry.controls
    ]
    asked = [
        (
            run,
            control.score,
            control.memory,
            control.query,
            _percent(control.error),
            "–" if control.follows is None else _percent(control.follows),
            _percent(control.chance),
        )
        for run, entry in runs
        for control in entry.question_controls
    ]
    tables = [(CONTROLS_HEAD, classified), (QUESTIONS_HEAD, asked)]
    return "\n\n".join("\n".join(markdown(head, cells)) for head, cells in tables if cells) or EMPTY


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def trials(entries: Sequence[Entry]) -> str:
    """The table of all trials, each measured on its own validation split."""
    cells = [_trial(entry) for entry in entries if entry.kind == "trial"]
    return "\n".join(markdown(TRIALS_HEAD, cells)) if cells else EMPTY


def pages(docs: Path, ledger: Path) -> dict[Path, str]:
    """What each page shall hold: those in `docs`, and the README beside that folder."""
    entries, seen = read_ledger(ledger), Path(os.path.relpath(ledger, docs))
    above = docs / ".." if docs.name in ("", "..") else docs.parent  # "." has no parent but itself.
    tables = {
        above / "README.md": {"results": summary(entries)},
        docs / "results.md": {"results": results(entries, seen), "controls": controls(entries)},
        docs / "trials.md": {"trials": trials(entries)},
        docs / "compare.md": {"compare": comparisons(read_comparisons(ledger), seen)},
    }
    filled = {path: _filled(path, found) for path, found in tables.items()}
    return {docs / "presets.md": describe(), **filled}


def write_pages(docs: Path, ledger: Path) -> list[Path]:
    """Write all pages anew, and return where they are."""
    made = pages(docs, ledger)
    for path, text in made.items():
        write_text(path, text)
    return list(made)


def _seedless(entry: Entry) -> tuple[object, ...]:
    """What two runs must share to be one recipe; the run that one started from is compared by itself."""
    settings = entry.experiment.settings | ({"training.start_from": ""} if entry.source else {})
    return entry.experiment.name, entry.epochs, entry.data.test, *settings.items()


def _best(rows: Sequence[Row]) -> Row:
    """The row with the lowest validation score of the kind that the paper gives; without validation the first.

    Rows of several seeds come before others: the validation digits of one seed are too few to choose by. Of equal ones
    the longer run is taken.
    """
    measured = [row for row in rows if row.validation] or rows[:1]
    sure = [row for row in measured if len(row.entries) >= SEEDS] or measured
    return min(sure, key=lambda row: (round((row.validation or row.scores)[row.score].mean, 9), -sum(row.epochs)))


def _summary(row: Row) -> tuple[str, ...]:
    assert row.published is not None, "only experiments of the paper are asked for"
    return (
        f"`{row.experiment.name}`",
        row.published.where,
        _paper(row.published),
        told_means({row.score: row.scores[row.score]}),
        str(len(row.entries)),
        _epochs(row),
    )


def _result(row: Row, number: int, ledger: Path) -> tuple[str, ...]:
    entry = row.entries[0]
    seeds = (f"[{other.seed}]({path_of(ledger, other.name, other.kind).as_posix()})" for other in row.entries)
    return (
        f"`{entry.preset}` ({number})",
        _paper(row.published),
        told_means(row.scores),
        f"{entry.measured.count:,} {entry.measured.split}, {entry.data.name}",
        ", ".join(seeds),
        _epochs(row),
        _time(statistics.fmean(other.seconds for other in row.entries)),
    )


def _paper(published: Published | None) -> str:
    if published is None or not published.score:
        return "–"
    return told_score(published.score, published.value, published.spread)


def _epochs(row: Row) -> str:
    of = f" of {row.published.epochs}" if row.published and row.published.epochs else ""
    return " + ".join(map(str, row.epochs)) + of


def _note(row: Row) -> str:
    entry = row.entries[0]
    parts = [f"`{entry.command}`"]
    if entry.epochs < entry.experiment.training.epochs:
        parts.append(f"Stopped after {entry.epochs} of {entry.experiment.training.epochs} epochs.")
    parts.append(f"Recipe chosen by: {entry.chosen_by}.")
    if entry.validation:
        parts.append(f"On {entry.validation.count:,} validation pictures: {told_means(row.validation)}.")
    commits = [commit for other in row.entries for commit in other.commits]
    dirty = sorted({commit.removesuffix(DIRTY)[:SHORT] for commit in commits if commit.endswith(DIRTY)})
    if dirty:
        parts.append(f"Its code was {' and '.join(dirty)} with changes that were not committed.")
    return " ".join([*parts, *_machines(row), *_sentences(other.note for other in row.entries)])


def _machines(row: Row) -> list[str]:
    """What each seed was computed on, in one sentence where it was one machine in one precision."""
    found: dict[str, list[str]] = {}
    for entry in row.entries:
        found.setdefault(_machine(entry.machine), []).append(str(entry.seed))
    if len(found) == 1:
        return [f"On {machine}." for machine in found]
    return [f"Seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)} on {machine}." for machine, seeds in found.items()]


def _machine(machine: Machine) -> str:
    threads = f", {machine.threads} thread{'s' if machine.threads > 1 else ''}" if machine.threads else ""
    processes = f", {machine.processes} processes" if machine.processes > 1 else ""
    return f"{machine.cpu}, {machine.cores} cores{threads}{processes}, torch {machine.torch}{machine.half}"


def _trial(entry: Entry) -> tuple[str, ...]:
    base = nearest(entry.experiment) or entry.experiment
    return (
        f"{entry.name}: `{base.name}`, seed {entry.seed}",
        ", ".join(told_changes(changes(entry.experiment, base))) or "nothing",
        told_means(means_of([entry.measured.scores])),
        f"{entry.epochs} of {entry.experiment.training.epochs}",
        _time(entry.seconds),
        entry.note,
    )


def _sentences(notes: Iterable[str]) -> list[str]:
    """Each note once, with its full stop."""
    return [note if note.endswith((".", "!", "?")) else f"{note}." for note in dict.fromkeys(notes) if note]


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _filled(path: Path, tables: dict[str, str]) -> str:
    """The text of a file with each table between its marks, `<!-- NAME -->` and `<!-- /NAME -->`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as failure:
        raise UsageError(f"{path} cannot be read ({failure}); name the docs folder of a clone") from failure
    for name, table in tables.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        found = re.fullmatch(rf"(.*{start})(.*)({end}.*)", text, re.DOTALL)
        if found is None or text.count(start) != 1 or text.count(end) != 1:
            raise UsageError(f"{path} must have one {start} and, after it, one {end}; the table goes between them")
        text = f"{found[1]}\n\n{table}\n\n{found[3]}"
    return text
