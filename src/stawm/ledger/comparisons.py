"""Comparisons as people read them: a table of means over seeds in a terminal, and their page in Markdown."""

from collections.abc import Sequence
from pathlib import Path

from stawm.experiments.facts import score_of
from stawm.experiments.recipe import told_value
from stawm.ledger.comparison import Comparison, Row, path_of
from stawm.ledger.table import Cells, Mean, aligned, markdown

EMPTY = "Nothing is recorded yet."
SPREAD = "± is the standard deviation over seeds."
NOTHING = "–"


def text_table(comparison: Comparison) -> str:
    """The table for a terminal, with what failed below."""
    head, rows = _table(comparison)
    lines = aligned(head, rows)
    failed = [f"failed: {why}" for row in comparison.rows for why in row.failed]
    return "\n".join([*lines, *([""] if failed or _spread(comparison) else []), *_spread(comparison), *failed])


def comparisons(entries: Sequence[Comparison], ledger: Path) -> str:
    """All comparisons of the ledger in Markdown: a table for each, and its conditions.

    `ledger` is its folder as seen from the text that they go into.
    """
    if not entries:
        return EMPTY
    return "\n\n".join(_section(entry, ledger) for entry in entries)


def _section(entry: Comparison, ledger: Path) -> str:
    head, rows = _table(entry)
    lines = [f"## {entry.name}", "", f"`{entry.command}`", "", *markdown(head, rows)]
    if told := _spread(entry):
        lines += ["", *told]
    lines += ["", " ".join([*_conditions(entry), f"[All numbers]({path_of(ledger, entry.name).as_posix()})."])]
    failed = [f"- {why}" for row in entry.rows for why in row.failed]
    return "\n".join([*lines, *(["", "Failed:", "", *failed] if failed else [])])


def _conditions(entry: Comparison) -> list[str]:
    parts: list[str] = []
    for split, count in dict.fromkeys((cell.split, cell.count) for cell in entry.finished):
        parts.append(f"Measured on {count:,} {split} examples.")
    if entry.matched:
        parts.append(f"Parameters were matched by {entry.matched}.")
    for machine in dict.fromkeys(cell.machine for cell in entry.finished if cell.machine):
        threads = f", {machine.threads} thread{'s' * (machine.threads > 1)} a cell" if machine.threads else ""
        parts.append(f"On {machine.cpu}, {machine.cores} cores{threads}, torch {machine.torch}{machine.half}.")
    if entry.note:
        parts.append(entry.note if entry.note.endswith((".", "!", "?")) else f"{entry.note}.")
    return parts


def _table(comparison: Comparison) -> tuple[Cells, list[Cells]]:
    rows = comparison.rows
    scores = list(dict.fromkeys(name for row in rows for name in row.scores))
    head = (*(side.name for side in comparison.sides), *scores, "seeds", "parameters", *_chosen(comparison), "time")
    return head, [_cells(comparison, row, scores) for row in rows]


def _chosen(comparison: Comparison) -> tuple[str, ...]:
    return (comparison.matched,) if comparison.matched else ()


def _cells(comparison: Comparison, row: Row, scores: Sequence[str]) -> Cells:
    first = next(cell for cell in comparison.cells if cell.values == row.values)
    chosen = [told_value((comparison.settings | first.settings).get(name)) for name in _chosen(comparison)]
    return (
        *row.values.values(),
        *(_told(name, row.scores.get(name)) for name in scores),
        f"{len(row.seeds)}" if len(row.seeds) == row.asked else f"{len(row.seeds)} of {row.asked}",
        f"{row.parameters:,}",
        *chosen,
        NOTHING if row.seconds is None else f"{row.seconds:.0f} s",
    )


def _told(name: str, mean: Mean | None) -> str:
    return NOTHING if mean is None else score_of(name).told(mean.mean, mean.deviation)


def _spread(comparison: Comparison) -> list[str]:
    return [SPREAD] if any(len(row.seeds) > 1 for row in comparison.rows) else []
