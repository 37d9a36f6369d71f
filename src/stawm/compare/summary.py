"""A grid's folder as a comparison: how each cell stands, what it found, where it was computed."""

from pathlib import Path
from typing import Any

from stawm.compare.outcome import Outcome, folder_of, outcomes_of
from stawm.compare.plan import Cell, Plan, read_plan
from stawm.files import real
from stawm.ledger.comparison import Comparison, Side, Tried
from stawm.store.sessions import read_sessions


def comparison_of(out: Path, plan: Plan | None = None, *, name: str = "", note: str = "") -> Comparison:
    """The comparison in a folder as far as it was run; with a `plan` that was not begun yet, all of it is left."""
    plan = plan or read_plan(out)
    outcomes = outcomes_of(out, plan)
    shared, name = _shared(plan), name or real(out).name
    return Comparison(
        name=name,
        task=plan.kind,
        preset=plan.base.name,
        command=plan.command(f"runs/compare/{name}"),
        sides=tuple(Side(axis.name, tuple(value.label for value in axis.values)) for axis in plan.axes),
        seeds=plan.seeds,
        matched=plan.matched,
        settings=shared,
        cells=tuple(_tried(out, cell, outcomes[cell.name], shared) for cell in plan.cells),
        note=note,
    )


def _shared(plan: Plan) -> dict[str, Any]:
    """The settings that are the same in all cells."""
    first, *others = [cell.task.settings for cell in plan.cells]
    missing = object()
    return {name: value for name, value in first.items() if all(one.get(name, missing) == value for one in others)}


def _tried(out: Path, cell: Cell, outcome: Outcome, shared: dict[str, Any]) -> Tried:
    folder = folder_of(out, cell.name)
    sessions, found = read_sessions(folder), outcome.found
    own = {name: value for name, value in cell.task.settings.items() if name not in shared}
    tried = Tried(cell.name, cell.values, cell.task.seed, cell.parameters, own, outcome.state, outcome.why)
    measured = {} if found is None else vars(found)
    commits = tuple(dict.fromkeys(session.commit for session in sessions if session.commit))
    machine = sessions[-1].machine if sessions else None
    return Tried(**{**vars(tried), **measured, "commits": commits, "machine": machine})
