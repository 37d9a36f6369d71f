"""How each cell of a grid stands: what its process wrote down when it ended, or that it was begun, or is left."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from stawm.compare.plan import CELLS, LOGS, Cell, Plan
from stawm.compare.task import Found
from stawm.errors import CheckpointError
from stawm.experiments.experiment import record_from_dict
from stawm.files import placed, read_json, write_json

OUTCOME = "outcome.json"

State = Literal["finished", "failed", "begun", "left"]


@dataclass(frozen=True)
class Outcome:
    """How a cell ended."""

    state: State
    found: Found | None = None
    why: str = ""
    """Of one that failed."""


def folder_of(out: Path, name: str) -> Path:
    """The folder of the cell of that name."""
    return out / CELLS / name


def log_of(out: Path, name: str) -> Path:
    """What the process of a cell printed: warnings, and what went wrong in it."""
    return out / LOGS / f"{name}.txt"


def write_outcome(out: Path, name: str, outcome: Outcome) -> None:
    """Write down how a cell ended."""
    write_json(folder_of(out, name) / OUTCOME, asdict(outcome))


def forget_outcome(out: Path, name: str) -> None:
    """Strike out how a cell ended, since it is run again."""
    (folder_of(out, name) / OUTCOME).unlink(missing_ok=True)


def outcome_of(out: Path, cell: Cell) -> Outcome:
    """How a cell stands; what was written down and cannot be read is a `CheckpointError`."""
    folder = placed(folder_of(out, cell.name))
    path = folder / OUTCOME
    if not path.exists():
        return Outcome("begun" if cell.task.begun(folder) else "left")
    try:
        return record_from_dict(Outcome, read_json(path))
    except (OSError, ValueError, CheckpointError) as failure:
        raise CheckpointError(f"{path} is not whole ({failure}); delete it, and its cell goes on") from failure


def outcomes_of(out: Path, plan: Plan) -> dict[str, Outcome]:
    """How all cells stand, by name."""
    return {cell.name: outcome_of(out, cell) for cell in plan.cells}


def counted(outcomes: Sequence[Outcome]) -> dict[State, int]:
    """How many are finished, failed, begun and left."""
    states = [outcome.state for outcome in outcomes]
    known: tuple[State, ...] = ("finished", "failed", "begun", "left")
    return {state: states.count(state) for state in known}
