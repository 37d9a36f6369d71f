"""Where a run stands, and what it writes down for people: one record an epoch, in metrics.jsonl and TensorBoard."""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from stawm.errors import CheckpointError
from stawm.files import parsed, write_text
from stawm.measure.sums import Sums, add, means
from stawm.store.checkpoint import records_of

logger = logging.getLogger(__name__)

METRICS = "metrics.jsonl"


@dataclass
class Progress:
    """Where a run stands: what a checkpoint keeps besides tensors."""

    step: int = 0
    epoch: int = 0
    position: int = 0
    sums: Sums = field(default_factory=dict)
    seconds: float = 0.0

    def count(self, measured: dict[str, float]) -> None:
        """Add the measures of one more step."""
        add(self.sums, measured)
        self.step += 1
        self.position += 1

    def means(self, prefix: str) -> dict[str, float]:
        """The means over the epoch so far of the measures with this prefix, which is taken off."""
        return means(self.sums, prefix)


@dataclass(frozen=True)
class Step:
    """One training step as a progress bar shows it; `scores` and `loss` are means over the epoch so far."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    scores: dict[str, float]
    images_per_second: float
    seconds_left: float
    """Until the end of the whole run, evaluation not counted."""

    @property
    def error(self) -> float | None:
        """The share of wrong answers over the epoch so far, where the task has one."""
        return self.scores.get("error")


@dataclass(frozen=True)
class Record:
    """One epoch of a run. Only `timing` may differ between a resumed run and an unbroken one."""

    epoch: int
    """Epochs done, this one included."""
    step: int
    """Steps done since the start of the run."""
    learning_rate: float
    """That of the epoch's last step."""
    train: dict[str, float]
    """Means over the epoch: the loss, its terms, and the scores."""
    held_out: dict[str, Any]
    """What `evaluate` found, and on which split."""
    health: dict[str, float]
    warnings: list[str]
    timing: dict[str, float]
    """`seconds` of the training steps, `evaluation_seconds`, and `images_per_second` of the training steps."""

    @property
    def error(self) -> float | None:
        """The share of wrong answers on held-out images, where the task has one."""
        return self.held_out["scores"].get("error")

    def to_dict(self) -> dict[str, Any]:
        """This record as plain JSON values."""
        return asdict(self)


OnStep = Callable[[Step], None]
OnStored = Callable[[int, int], None]
"""Told of how many pictures, out of how many, what a frozen model makes of them is stored."""


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """The records of a run so far, oldest first; none if it has not finished an epoch.

    Records that are not those which the newest checkpoint knows of are a `CheckpointError`.
    """
    # Known first: a run that goes on meanwhile only adds to what is read after it.
    path, known = run / METRICS, records_of(run)
    try:
        records = [_record(parsed(line)) for line in path.read_bytes().splitlines()] if path.exists() else []
        if records[: len(known)] != known:
            raise ValueError(f"its first {len(known)} lines are not those of the checkpoint")
        return records
    except (OSError, ValueError) as failure:
        raise CheckpointError(
            f"{path} is not whole ({failure}); `stawm train` with --resume writes it anew from the checkpoint"
        ) from failure


def _record(values: Any) -> dict[str, Any]:
    """A line of the journal; one that is none is a `ValueError`."""
    if not isinstance(values, dict) or not values.keys() <= {one.name for one in fields(Record)}:
        raise ValueError("a line is no record of an epoch")
    held_out = values.get("held_out")
    scores = held_out.get("scores") if isinstance(held_out, dict) else None
    numbered = [scores, *(values.get(name, {}) for name in ("train", "timing"))]
    if not isinstance(values.get("epoch"), int) or not all(isinstance(one, dict) for one in numbered):
        raise ValueError("a line lacks the epoch or what was found on held-out pictures")
    if not all(isinstance(number, int | float) for one in numbered for number in one.values()):
        raise ValueError("a line has words in the place of numbers")
    return values


class Journal:
    """The open books of a run: metrics.jsonl, rewritten whole each epoch, and TensorBoard where it is installed."""

    def __init__(self, run: Path, *, epoch: int, step: int, known: list[dict[str, Any]] | None = None) -> None:
        """Books that go on after `epoch` epochs and `step` steps; later entries are struck out.

        The entries of these epochs are those that the checkpoint has `known`. If it is of an earlier version, which
        knew none, they must be in the file.
        """
        self.path = run / METRICS
        self.entries = self._kept(run, epoch, known)
        self._write()
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            self.board = None
            logger.warning("tensorboard is not installed, so curves are in %s only", self.path)
        else:
            self.board = SummaryWriter(str(run / "tensorboard"), purge_step=step + 1)

    def _kept(self, run: Path, epoch: int, known: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
        try:
            kept = [entry for entry in read_metrics(run) if entry["epoch"] <= epoch]
        except CheckpointError:
            if known is None:
                raise
            kept = []
        if known is not None:
            if kept != known:
                logger.warning("%s was damaged; it is written anew from the checkpoint", self.path)
            return known
        if [entry["epoch"] for entry in kept] != list(range(1, epoch + 1)):
            raise CheckpointError(
                f"{self.path} lacks some of the {epoch} epochs that the checkpoint has; put it back, or start a new run"
            )
        return kept

    def add(self, record: Record) -> None:
        """Enter `record`."""
        self.entries.append(record.to_dict())
        self._write()
        if self.board is not None:
            for name, value in _scalars(self.entries[-1]):
                self.board.add_scalar(name, value, record.step)
            self.board.flush()

    def _write(self) -> None:
        write_text(self.path, "".join(json.dumps(entry, allow_nan=False) + "\n" for entry in self.entries))

    def close(self) -> None:
        """Close the books."""
        if self.board is not None:
            self.board.close()


def _scalars(entry: Any, name: str = "") -> list[tuple[str, float]]:
    """The numbers of a nested entry, each with its path as a name."""
    if isinstance(entry, dict):
        pairs = [(f"{name}/{key}" if name else key, value) for key, value in entry.items()]
    elif isinstance(entry, list):
        pairs = [(f"{name}/{place}", value) for place, value in enumerate(entry, 1)]
    else:
        return [(name, float(entry))] if isinstance(entry, int | float) and name not in ("epoch", "step") else []
    return [scalar for key, value in pairs for scalar in _scalars(value, key)]
