"""The ledger as people read it: the README's tables of results, and those of trials, in Markdown."""

import os
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment
from stawm.files import write_text
from stawm.ledger.entries import PAPER, WORDS, Entry, Kind, changes, command, path_of
from stawm.ledger.table import SCORES, Score, told_score

RESULTS_HEAD = ("run", "paper", "ours", "pictures", "seeds", "epochs, of the paper's", "time")
TRIALS_HEAD = ("trial", "set otherwise than the preset now", "validation", "epochs", "time", "note")
CONTROLS_HEAD = ("run", "memory", "query", "error", "answers that name the memory's class", "after each glimpse, %")
EMPTY = "Nothing is recorded yet."


@dataclass(frozen=True)
class Row:
    """Results that differ in nothing but the seed."""

    entries: tuple[Entry, ...]

    @property
    def first(self) -> Entry:
        """The entry with the lowest seed."""
        return self.entries[0]

    def score(self, name: str) -> Score:
        """The mean of a score over the seeds, and its deviation."""
        values = [entry.measured.scores[name] for entry in self.entries]
        return Score(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


def results(entries: Sequence[Entry], ledger: Path) -> str:
    """The tables of all results, with a note for each row: the command that repeats it, and where and how it was run.

    `ledger` is its folder as seen from the text that the tables go into.
    """
    rows = result_rows([entry for entry in entries if entry.kind == "result"])
    if not rows:
        return EMPTY
    cells = [_result(row, number, ledger) for number, row in enumerate(rows, 1)]
    notes = [f"{number}. {_note(row)}" for number, row in enumerate(rows, 1)]
    spread = ["", "± is the standard deviation over seeds (the paper's: over its trials)."]
    return "\n".join([*_markdown(RESULTS_HEAD, cells), *spread, "", *notes, *_controls(rows)])


def trials(entries: Sequence[Entry]) -> str:
    """The table of all trials, each measured on its own validation split."""
    cells = [_trial(entry) for entry in entries if entry.kind == "trial"]
    return "\n".join(_markdown(TRIALS_HEAD, cells)) if cells else EMPTY


def result_rows(entries: Sequence[Entry]) -> list[Row]:
    """Results as rows, in the order of their first entries; those that differ only in the seed share one."""
    groups: dict[tuple[str, int, int, str], list[Entry]] = {}
    for entry in entries:
        key = _seedless(entry.experiment).key, entry.epochs_before, entry.epochs, entry.data.test
        groups.setdefault(key, []).append(entry)
    return [Row(tuple(sorted(group, key=lambda entry: entry.seed))) for group in groups.values()]


def _seedless(experiment: Experiment) -> Experiment:
    """The experiment for any seed; one that goes on from a run of its own seed goes on from any seed's."""
    source = experiment.training.start_from.removesuffix(f"-seed{experiment.seed}")
    training = replace(experiment.training, start_from=source)
    return replace(experiment, seed=0, training=training, **WORDS)


def put_into(path: Path, kind: Kind, entries: Sequence[Entry], ledger: Path) -> None:
    """Put the tables of a kind between the marks of a file, `<!-- results -->` and `<!-- /results -->` (or trials)."""
    text = _read(path)
    before, _, after = _parts(text, kind, path)
    write_text(path, f"{before}{block(kind, entries, ledger, path.parent)}{after}")


def standing(path: Path, kind: Kind) -> str:
    """What stands between the marks of this kind in a file."""
    return _parts(_read(path), kind, path)[1]


def block(kind: Kind, entries: Sequence[Entry], ledger: Path, folder: Path) -> str:
    """What belongs between the marks of a file in `folder`."""
    seen = Path(os.path.relpath(ledger, folder))
    return f"\n\n{results(entries, seen) if kind == 'result' else trials(entries)}\n\n"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as failure:
        raise UsageError(f"{path} cannot be read ({failure}); name a text with marks for the table") from failure


def _parts(text: str, kind: Kind, path: Path) -> tuple[str, str, str]:
    start, end = f"<!-- {kind}s -->", f"<!-- /{kind}s -->"
    found = re.fullmatch(rf"(.*{start})(.*)({end}.*)", text, re.DOTALL)
    if found is None or text.count(start) != 1 or text.count(end) != 1:
        raise UsageError(f"{path} must have one {start} and, after it, one {end}; the tables go between them")
    return found[1], found[2], found[3]


def _result(row: Row, number: int, ledger: Path) -> tuple[str, ...]:
    entry, published = row.first, PAPER.get(row.first.preset)
    paper = "–"
    if published and published.score:
        paper = told_score(published.score, Score(published.value, published.spread))
    names = [name for name in SCORES if all(name in other.measured.scores for other in row.entries)]
    of = f" of {entry.paper_epochs}" if entry.paper_epochs else ""
    seeds = (f"[{other.seed}]({path_of(ledger, other).as_posix()})" for other in row.entries)
    return (
        f"`{entry.preset}` ({number})",
        paper,
        ", ".join(told_score(name, row.score(name)) for name in names),
        f"{entry.measured.count:,} {entry.measured.split}, {entry.data.name}",
        ", ".join(seeds),
        f"{f'{entry.epochs_before} + ' if entry.epochs_before else ''}{entry.epochs}{of}",
        _time(statistics.fmean(other.seconds for other in row.entries)),
    )


def _note(row: Row) -> str:
    entry = row.first
    machine = entry.machine
    threads = f", {machine.threads} thread{'s' if machine.threads > 1 else ''}" if machine.threads else ""
    processes = f", {machine.processes} processes" if machine.processes > 1 else ""
    parts = [f"`{command(entry.experiment)}`"]
    if entry.epochs < entry.experiment.training.epochs:
        parts.append(f"Stopped after {entry.epochs} of the {entry.experiment.training.epochs} epochs asked for.")
    parts.append(f"Recipe chosen by: {entry.chosen_by}.")
    if entry.validation:
        kept = [told_score(name, _validation(row, name)) for name in SCORES if name in entry.validation.scores]
        parts.append(f"On {entry.validation.count:,} validation pictures: {', '.join(kept)}.")
    parts.append(f"On {machine.cpu}, {machine.cores} cores{threads}{processes}, torch {machine.torch}.")
    parts += list(dict.fromkeys(_sentence(other.note) for other in row.entries if other.note))
    return " ".join(parts)


def _validation(row: Row, name: str) -> Score:
    values = [entry.validation.scores[name] for entry in row.entries if entry.validation]
    return Score(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


def _controls(rows: Sequence[Row]) -> list[str]:
    """The table of controls, where there are any."""
    cells = [
        (
            f"`{entry.preset}` ({number}), seed {entry.seed}",
            control.memory,
            control.query,
            _percent(control.error),
            _percent(control.follows_memory),
            ", ".join(f"{100 * error:.2f}" for error in control.error_after_glimpse),
        )
        for number, row in enumerate(rows, 1)
        for entry in row.entries
        for control in entry.controls
    ]
    title = "With the memory of another picture, and with one query (the mean over the set) for all pictures:"
    return ["", title, "", *_markdown(CONTROLS_HEAD, cells)] if cells else []


def _trial(entry: Entry) -> tuple[str, ...]:
    names = [name for name in SCORES if name in entry.measured.scores]
    unlike = ", ".join(
        f"{name} {change.run} (not {change.preset})" for name, change in changes(entry.experiment).items()
    )
    return (
        f"{entry.name}: `{entry.preset}`, seed {entry.seed}",
        unlike or "nothing",
        ", ".join(told_score(name, Score(entry.measured.scores[name], None)) for name in names),
        f"{entry.epochs} of {entry.experiment.training.epochs}",
        _time(entry.seconds),
        entry.note,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _sentence(note: str) -> str:
    return note if note.endswith((".", "!", "?")) else f"{note}."


def _time(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )


def _markdown(head: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *(tuple(part.replace("|", "\\|") for part in line) for line in cells)]
    return [f"| {' | '.join(line)} |" for line in lines]
