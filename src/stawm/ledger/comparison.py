"""A comparison: a grid of settings and seeds with what each cell found, as one entry of the ledger."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import record_from_dict
from stawm.files import read_json, write_json
from stawm.ledger.entries import check_name
from stawm.ledger.table import Mean, means_of
from stawm.store.sessions import Machine

COMPARE = "compare"
"""The folder of comparisons in the ledger."""


@dataclass(frozen=True)
class Side:
    """What varied along one side of the grid: its name, and the labels of its values."""

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Tried:
    """One cell of a grid."""

    name: str
    values: dict[str, str]
    """Its label along each side."""
    seed: int
    parameters: int
    settings: dict[str, Any]
    """Those in which the cells differ, by dotted name."""
    state: Literal["finished", "failed", "begun", "left"]
    why: str = ""
    """Of one that failed."""
    split: str = ""
    count: int = 0
    """Examples that it was measured on."""
    scores: dict[str, float] = field(default_factory=dict)
    lists: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Scores for each place: after each glimpse, by the age of an item."""
    seconds: float = 0.0
    commits: tuple[str, ...] = ()
    machine: Machine | None = None


@dataclass(frozen=True)
class Row:
    """Cells that differ in nothing but the seed: means over those that are finished."""

    values: dict[str, str]
    parameters: int
    seeds: tuple[int, ...]
    """Those that are finished."""
    asked: int
    """All."""
    scores: dict[str, Mean]
    lists: dict[str, tuple[Mean, ...]]
    seconds: float | None
    """A mean."""
    failed: tuple[str, ...] = ()
    """Why, for each seed that failed."""


@dataclass(frozen=True)
class Comparison:
    """A whole grid, as far as it was run."""

    name: str
    task: str
    """What its cells are: train or recall."""
    preset: str
    command: str
    sides: tuple[Side, ...]
    seeds: tuple[int, ...]
    matched: str
    """The setting by which the parameters of cells were made equal; none if they were not."""
    settings: dict[str, Any]
    """Those that all cells share, by dotted name."""
    cells: tuple[Tried, ...]
    note: str = ""

    @property
    def rows(self) -> list[Row]:
        """One for each combination of values, in the order of the cells."""
        groups: dict[tuple[str, ...], list[Tried]] = {}
        for cell in self.cells:
            groups.setdefault(tuple(cell.values.values()), []).append(cell)
        return [_row(group) for group in groups.values()]

    @property
    def finished(self) -> list[Tried]:
        """The cells that are."""
        return [cell for cell in self.cells if cell.state == "finished"]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain JSON values."""
        return json.loads(json.dumps(asdict(self)))


def path_of(ledger: Path, name: str) -> Path:
    """Where the comparison of that name lies."""
    return ledger / COMPARE / f"{name}.json"


def check_free(ledger: Path, name: str) -> None:
    """Refuse a name that is none, or is taken."""
    check_name(name, "a comparison")
    if (path := path_of(ledger, name)).exists():
        raise UsageError(f"{path} is recorded already; give --name, or delete it to record the grid anew")


def write_comparison(ledger: Path, comparison: Comparison) -> Path:
    """The file of a new comparison; one that is there already is never written over."""
    check_free(ledger, comparison.name)
    path = path_of(ledger, comparison.name)
    write_json(path, comparison.to_dict())
    return path


def read_comparison(path: Path) -> Comparison:
    """The comparison in a file; one that is not whole or of another shape is a `CheckpointError`."""
    try:
        return record_from_dict(Comparison, read_json(path))
    except (OSError, ValueError, CheckpointError) as failure:
        raise CheckpointError(
            f"{path} is not a comparison of the ledger ({failure}); `stawm compare --record` makes one"
        ) from failure


def read_comparisons(ledger: Path) -> list[Comparison]:
    """All comparisons of the ledger, by name."""
    found = {path: read_comparison(path) for path in sorted((ledger / COMPARE).glob("*.json"))}
    for path, comparison in found.items():
        if path.stem != comparison.name:
            raise CheckpointError(f"{path} holds the comparison {comparison.name}; give it its own name")
    return list(found.values())


def _row(cells: Sequence[Tried]) -> Row:
    done = [cell for cell in cells if cell.state == "finished"]
    return Row(
        values=cells[0].values,
        parameters=cells[0].parameters,
        seeds=tuple(cell.seed for cell in done),
        asked=len(cells),
        scores=means_of([cell.scores for cell in done]),
        lists=_lists(done),
        seconds=sum(cell.seconds for cell in done) / len(done) if done else None,
        failed=tuple(f"{cell.name}: {cell.why}" for cell in cells if cell.state == "failed"),
    )


def _lists(done: Sequence[Tried]) -> dict[str, tuple[Mean, ...]]:
    """The means over seeds of each list that all have, as far as all of them go."""
    shared = [name for name in done[0].lists if all(name in cell.lists for cell in done)] if done else []
    lists: dict[str, tuple[Mean, ...]] = {}
    for name in shared:
        places = zip(*(cell.lists[name] for cell in done), strict=False)
        lists[name] = tuple(means_of([{name: value} for value in place])[name] for place in places)
    return lists
