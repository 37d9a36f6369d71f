"""The ledger: what each recorded run was, what it took and what it reached, as one JSON file a run."""

import json
import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import Experiment, record_from_dict
from stawm.experiments.presets import PRESETS, preset
from stawm.files import write_text
from stawm.measure.controls import Control
from stawm.store.sessions import Machine

LEDGER = "results"
"""The folder of the ledger; results lie in it, trials in a folder of its own."""
TRIALS = "trials"
FAST = "-fast"
"""Ends the name of a preset that is a paper's experiment with a recipe of our own."""
WORDS: dict[str, Any] = {"about": "", "paper": "", "reach": "", "deviations": (), "after": ""}

Kind = Literal["result", "trial"]


@dataclass(frozen=True)
class Change:
    """A setting of a run that is not that of its preset."""

    preset: Any
    run: Any


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


@dataclass(frozen=True)
class Entry:
    """A recorded run: a *result*, read once off the test set, or a *trial*, which knows only its validation split."""

    name: str
    kind: Kind
    preset: str
    overrides: dict[str, Change]
    """What differed from the preset when the run was recorded."""
    seed: int
    commits: tuple[str, ...]
    """The code that trained it, one or several in turn; none where the run did not write it down."""
    epochs: int
    """Epochs done."""
    paper_epochs: int | None
    """Epochs in the paper; none for an experiment that is not in it."""
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
    """All settings, without the words."""
    validation: Measurement | None = None
    """For a result with a validation split: what its last epoch found there."""
    controls: tuple[Control, ...] = ()
    started_from: str = ""
    """SHA-256 of the weights that the run started from, where it did."""
    epochs_before: int = 0
    """Epochs that those weights had had, where the whole model went on from them."""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """This entry as plain JSON values."""
        return json.loads(json.dumps(asdict(self)))


@dataclass(frozen=True)
class Published:
    """What the paper tells of an experiment: its epochs and, where it gives one, the score, its spread over trials."""

    epochs: int
    score: Literal["error", "mse"] | None = None
    value: float = 0.0
    spread: float | None = None


PAPER = {
    "mnist-classify-8": Published(200, "error", 0.0041, 0.0003),
    "mnist-classify-28": Published(200, "error", 0.0035, 0.0002),
    "mnist-draw-4": Published(100),
    "mnist-draw-6": Published(100),
    "mnist-draw-8": Published(100),
    "mnist-self-supervised": Published(100, "error", 0.0077),
    "mnist-sketchpad": Published(20, "error", 0.010),
    "cifar10-classify-mobilenet": Published(300, "error", 0.0695),
    "cifar10-draw-16": Published(100, "mse", 0.0083, 0.0006),
    "cifar10-vae": Published(100, "mse", 0.0113, 0.0001),
    "cifar10-self-supervised": Published(50, "error", 0.5540, 0.0063),
    "cifar10-vae-self-supervised": Published(50, "error", 0.6344, 0.0031),
    "celeba-draw-32": Published(100),
}
PAPER |= {name: PAPER[name.removesuffix(FAST)] for name in PRESETS if name.endswith(FAST)}
"""The paper's numbers by preset; those of the small siblings are not in it."""


def read_ledger(folder: Path) -> list[Entry]:
    """All entries, results first, each in the order of the presets, then of seeds and names."""
    paths = [*sorted(folder.glob("*.json")), *sorted((folder / TRIALS).glob("*.json"))]
    known = list(PRESETS)
    entries = [read_entry(path) for path in paths]
    place = {entry.preset: known.index(entry.preset) if entry.preset in known else len(known) for entry in entries}
    return sorted(entries, key=lambda entry: (entry.kind, place[entry.preset], entry.preset, entry.seed, entry.name))


def read_entry(path: Path) -> Entry:
    """The entry in a file; one that is not whole, of another shape or in another's place is a `CheckpointError`."""
    if not path.is_file():
        raise CheckpointError(f"there is no entry {path} in the ledger; `stawm record RUN` makes one")
    try:
        values = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as failure:
        raise CheckpointError(f"{path} is not an entry of the ledger ({failure}); record its run again") from failure
    try:
        entry = record_from_dict(Entry, values)
    except CheckpointError as failure:
        raise CheckpointError(f"{path}: {failure}; record its run again") from failure
    if path != path_of(path.parent.parent if path.parent.name == TRIALS else path.parent, entry):
        raise CheckpointError(f"{path} holds the {entry.kind} {entry.name}; give it its own name and place")
    return entry


def write_entry(folder: Path, entry: Entry) -> Path:
    """The file of a new entry; one that is there already is never written over."""
    path = path_of(folder, entry)
    check_free(folder, entry.name, entry.kind)
    write_text(path, json.dumps(entry.to_dict(), indent=2, ensure_ascii=False) + "\n")
    return path


def check_free(folder: Path, name: str, kind: Kind) -> None:
    """Refuse a name that is taken: a test set is read once."""
    path = _path(folder, name, kind)
    if path.exists():
        raise UsageError(f"{path} is recorded already; give --name, or delete it to record the run anew")


def path_of(folder: Path, entry: Entry) -> Path:
    """Where an entry lies."""
    return _path(folder, entry.name, entry.kind)


def changes(experiment: Experiment, name: str = "") -> dict[str, Change]:
    """The settings of an experiment that are not those of its preset, or of the one named; words and seed apart."""
    against = replace(preset(name or experiment.name), name=experiment.name)
    before, after = (_flat(replace(which, seed=0, **WORDS).to_dict()) for which in (against, experiment))
    return {name: Change(before[name], value) for name, value in after.items() if value != before[name]}


def without_places(experiment: Experiment) -> Experiment:
    """The experiment without the folders of one machine: a run that it started from is named as if it lay in runs."""
    source = experiment.training.start_from
    if not Path(source).is_absolute():
        return experiment
    named = f"runs/{Path(source).name}"
    told = tuple(words.replace(source, named) for words in experiment.deviations)
    return replace(experiment, deviations=told, training=replace(experiment.training, start_from=named))


def command(experiment: Experiment) -> str:
    """The command that trains this experiment, with presets as they are now (its own, or the fast sibling)."""
    siblings = [name for name in (experiment.name + FAST,) if name in PRESETS]
    near = min([experiment.name, *siblings], key=lambda name: len(changes(experiment, name)))
    parts = ["stawm", "train", near, "--seed", str(experiment.seed)]
    for name, change in changes(experiment, near).items():
        value = change.run
        parts += [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, list | tuple) else [value])]
    return shlex.join(parts)


def _path(folder: Path, name: str, kind: Kind) -> Path:
    return (folder if kind == "result" else folder / TRIALS) / f"{name}.json"


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat
