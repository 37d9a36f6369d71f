"""What a cell of a grid is: something with settings and a seed that can be run in a folder, stopped and resumed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from stawm.errors import UsageError


@dataclass(frozen=True)
class Progress:
    """How far a cell is, as its process tells it."""

    at: str
    """In words: epoch 2/3."""
    share: float
    """From 0 to 1."""
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What a finished cell found on held-out examples after its last epoch or step."""

    split: str
    count: int
    """Examples."""
    scores: dict[str, float]
    lists: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Scores for each place: after each glimpse, by the age of an item."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Place:
    """Where and on what a cell is computed: it makes no other cell."""

    folder: Path
    device: str = "auto"
    data_dir: Path | None = None


Report = Callable[[Progress], None]


class Task(ABC):
    """One cell: all of its settings, and how it is run. A value; `changed` makes another."""

    kind: ClassVar[str]
    """What grids of such cells are called in their plan."""
    matched_by: ClassVar[str]
    """The setting that brings a cell to a wanted number of parameters, unless another is named."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The preset."""

    @property
    @abstractmethod
    def seed(self) -> int:
        """Of everything random."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Every setting by its dotted name, the seed apart."""

    @abstractmethod
    def changed(self, settings: Mapping[str, Any], seed: int | None = None) -> "Task":
        """The task with some settings replaced, by dotted name; those that do not fit are a `UsageError`."""

    @abstractmethod
    def check(self) -> None:
        """Refuse settings that cannot be run."""

    @abstractmethod
    def parameters(self) -> int:
        """How many numbers of its model learn."""

    @abstractmethod
    def arguments(self) -> list[str]:
        """The preset and what is set otherwise than in it, as a command line says it."""

    @abstractmethod
    def run(self, place: Place, report: Report) -> Found:
        """Run to the end, from where it was left if it was begun."""

    @abstractmethod
    def begun(self, folder: Path) -> bool:
        """Whether there is something to go on from."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""

    @classmethod
    @abstractmethod
    def from_dict(cls, values: dict[str, Any]) -> "Task":
        """The task that `to_dict` wrote."""


def check_known(task: Task, names: Mapping[str, Any]) -> None:
    """Refuse the first name that is no setting of the task."""
    for name in names:
        if name not in task.settings:
            near = get_close_matches(name, task.settings, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(list(task.settings)[:4])} and others"
            raise UsageError(f"{task.name} has no setting {name!r} here; {hint}")


def nested(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values with some replaced, each by its dotted name."""
    result = dict(values)
    for name, value in changes.items():
        first, _, rest = name.partition(".")
        result[first] = nested(result[first], {rest: value}) if rest else value
    return result
