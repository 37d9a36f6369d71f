"""The ledger: what each recorded run was, what it took and what it reached, as one JSON file a run."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import ALL, Experiment, record_from_dict
from stawm.experiments.presets import PRESETS
from stawm.experiments.recipe import command, nearest, paper_experiment
from stawm.files import read_json, write_json
from stawm.measure.controls import Control
from stawm.measure.question_controls import QuestionControl
from stawm.store.sessions import Machine

LEDGER = "results"
"""The folder of the ledger; results lie in it, trials in a folder of its own."""
TRIALS = "trials"

Kind = Literal["result", "trial"]


@dataclass(frozen=True)
class Pictures:
    """The pictures of a run: the name of the set and the checksums of its splits."""

    name: str
    train: str
    test: str


@dataclass(frozen=True)
class Measurement:
    """What was found on one split."""

    split: Literal["test", "validation"]
    count: int
    scores: dict[str, float]
    error_after_glimpse: tuple[float, ...] = ()
    terms: dict[str, float] = field(default_factory=dict)
    """The terms of the loss, such as the cross entropy; earlier entries do not have them."""


@dataclass(frozen=True)
class Entry:
    """A recorded run: a *result*, read once off the test set, or a *trial*, which knows only its validation split."""

    name: str
    kind: Kind
    commits: tuple[str, ...]
    """The code that trained it, one or several in turn; none where the run did not write it down."""
    epochs: int
    """Epochs done."""
    seconds: float
    """Spent on training steps and on evaluation between them."""
    machine: Machine
    data: Pictures
    chosen_by: str
    """The pictures, or whatever else, by which the recipe was chosen."""
    measured: Measurement
    weights: str
    """SHA-256 of the weights in full precision."""
    experiment: Experiment
    """All settings, without words."""
    validation: Measurement | None = None
    """For a result with a validation split: what its last epoch found there."""
    controls: tuple[Control, ...] = ()
    question_controls: tuple[QuestionControl, ...] = ()
    source: str = ""
    """The entry of the run whose weights it started from; `training.start_from` is then that run, in `runs`."""
    started_from: str = ""
    """SHA-256 of the weights that the run started from, where it did."""
    note: str = ""

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.experiment.seed

    @property
    def preset(self) -> str:
        """The preset that the run is nearest to: that of its command."""
        base = nearest(self.experiment)
        return base.name if base else self.experiment.name

    @property
    def command(self) -> str:
        """The command that repeats the run."""
        return command(self.experiment, run_of(self.name))

    def to_dict(self) -> dict[str, Any]:
        """This entry as plain JSON values."""
        values = asdict(self) | {"experiment": self.experiment.to_dict(words=False)}
        return json.loads(json.dumps(values))


def run_of(name: str) -> str:
    """The run folder of the entry of that name, in the commands that repeat it."""
    return f"runs/{name}"


def chain(entry: Entry, ledger: Mapping[str, Entry]) -> tuple[Entry, ...]:
    """The entries of the runs that led to this one, each started from the one before it; the last is this one."""
    found = [entry]
    while name := found[0].source:
        if name not in ledger or name in [one.name for one in found]:
            raise CheckpointError(f"{found[0].name} says that it started from {name}, which is no entry before it")
        found.insert(0, ledger[name])
    return tuple(found)


def stretches(entries: tuple[Entry, ...]) -> tuple[int, ...]:
    """The epochs of each run of a chain, as far back as the whole model learnt: a frozen one counts its own only."""
    frozen = [place for place, one in enumerate(entries) if one.experiment.training.learns != ALL]
    return tuple(one.epochs for one in entries[max(frozen, default=0) :])


def read_ledger(folder: Path) -> list[Entry]:
    """All entries, results first, each in the order of the paper's experiments; those that are not in it last."""
    paths = [*sorted(folder.glob("*.json")), *sorted((folder / TRIALS).glob("*.json"))]
    places = {name: place for place, name in enumerate(PRESETS)}

    def place(entry: Entry) -> tuple[Any, ...]:
        base = nearest(entry.experiment) or entry.experiment
        family = [places.get(name, len(places)) for name in (paper_experiment(base).name, base.name)]
        return entry.kind, base.published is None, *family, base.name, entry.seed, entry.name

    return sorted(map(read_entry, paths), key=place)


def read_entry(path: Path) -> Entry:
    """The entry in a file; one that is not whole, of another shape or in another's place is a `CheckpointError`."""
    if not path.is_file():
        raise CheckpointError(f"there is no entry {path} in the ledger; `stawm record RUN` makes one")
    try:
        entry = record_from_dict(Entry, read_json(path))
    except (OSError, ValueError, CheckpointError) as failure:
        raise CheckpointError(f"{path} is not an entry of the ledger ({failure}); record its run again") from failure
    folder = path.parent.parent if path.parent.name == TRIALS else path.parent
    if path != path_of(folder, entry.name, entry.kind):
        raise CheckpointError(f"{path} holds the {entry.kind} {entry.name}; give it its own name and place")
    return entry


def write_entry(folder: Path, entry: Entry) -> Path:
    """The file of a new entry; one that is there already is never written over."""
    check_free(folder, entry.name)
    path = path_of(folder, entry.name, entry.kind)
    write_json(path, entry.to_dict())
    return path


def check_name(name: str, what: str) -> None:
    """Refuse what cannot be a name of `what`, since a file is called so."""
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of {what}; use letters, digits and dashes")


def check_free(folder: Path, name: str) -> None:
    """Refuse a name that is none, or is taken: a test set is read once, and a name means one run."""
    check_name(name, "an entry")
    for path in (path_of(folder, name, "result"), path_of(folder, name, "trial")):
        if path.exists():
            raise UsageError(f"{path} is recorded already; give --name, or delete it to record the run anew")


def path_of(folder: Path, name: str, kind: Kind) -> Path:
    """Where the entry of that name lies."""
    return (folder if kind == "result" else folder / TRIALS) / f"{name}.json"
