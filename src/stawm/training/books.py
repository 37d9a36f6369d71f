"""The folder of a run: settings, journal, checkpoints, weights. All processes call; only the first one writes."""

from pathlib import Path
from typing import Any

from stawm.errors import CheckpointError
from stawm.experiments.experiment import Experiment
from stawm.measure.sums import averaged
from stawm.store import checkpoint as checkpoints
from stawm.store.checkpoint import Checkpoint
from stawm.store.lock import RunLock
from stawm.store.sessions import note_session
from stawm.store.weights import WEIGHTS, export
from stawm.training.feed import Feed
from stawm.training.journal import Journal, Progress, Record
from stawm.training.trainer import Trainer


class Books:
    """What a run writes down, and goes on from."""

    def __init__(self, run: Path, experiment: Experiment, feed: Feed, trainer: Trainer, precision: str = "32") -> None:
        """The books of the run in the folder `run`; nothing is written before they are opened."""
        self.run, self.experiment, self.feed, self.trainer = run, experiment, feed, trainer
        self.precision = precision
        self.engine, self.journal = trainer.engine, None
        self.lock = RunLock(run)

    def open(self, resume: bool) -> Progress:
        """Where the run stands: at its beginning, or at its newest checkpoint, which is put back.

        From now on until the books are closed, the folder is this run's own.
        """
        if self.engine.is_global_zero:
            self.lock.take()
            if not resume:
                checkpoints.check_free(self.run)
        self.engine.barrier()
        progress, known = self._resumed() if resume else (None, [])
        start = ""
        if progress is None:
            start = self.trainer.begin()
            progress = Progress()
        self.engine.barrier()
        if self.engine.is_global_zero:
            if resume:
                checkpoints.sweep(self.run, progress.step)
            else:
                checkpoints.begin(self.run, self.experiment)
            note_session(self.run, progress.step, self.engine.world_size, self.precision, start)
        self.engine.barrier()
        if self.engine.is_global_zero:
            self.journal = Journal(self.run, epoch=progress.epoch, step=progress.step, known=known)
            if progress.epoch == self.experiment.training.epochs:
                self._export(self.journal)
        return progress

    def due(self, progress: Progress) -> bool:
        """Whether a checkpoint is due between the steps of an epoch."""
        every = self.experiment.training.checkpoint_every
        return every > 0 and progress.step % every == 0 and progress.position < self.feed.steps

    def add(self, record: Record) -> None:
        """Enter the record of an epoch."""
        if self.journal:
            self.journal.add(record)

    def save(self, progress: Progress) -> None:
        """Write a checkpoint, and after the last epoch the weights.

        Sums are averaged over the processes so that a resumed run adds up the same numbers.
        """
        progress.sums = averaged(self.engine, progress.sums)
        tensors = self.trainer.tensors()
        if self.journal is None:
            return
        state = Checkpoint(
            experiment=self.experiment,
            world=self.engine.world_size,
            checksum=self.feed.train.checksum,
            tensors=tensors,
            precision=self.precision,
            records=self.journal.entries,
            classes=list(self.feed.train.classes),
            **vars(progress),
        )
        checkpoints.save_checkpoint(self.run, state)
        if progress.epoch == self.experiment.training.epochs:
            self._export(self.journal)

    def _resumed(self) -> tuple[Progress | None, list[dict[str, Any]] | None]:
        """Where the newest checkpoint stands, after it was put back, and the records it knows of."""
        checkpoint = checkpoints.newest_checkpoint(self.run)
        if checkpoint is None:
            return None, []
        checkpoints.check_same(self.experiment, checkpoint.experiment, self.run)
        if checkpoint.checksum != self.feed.train.checksum:
            raise CheckpointError(
                f"the images of {self.feed.train.name} are not those that {self.run} was begun with; start a new run"
            )
        self.trainer.restore(checkpoint)
        stands = (checkpoint.step, checkpoint.epoch, checkpoint.position, checkpoint.sums, checkpoint.seconds)
        return Progress(*stands), checkpoint.records

    def _export(self, journal: Journal) -> None:
        """Write the weights, with what the last epoch's evaluation found."""
        entry = journal.entries[-1]
        found = {name: value for name, value in entry["held_out"].items() if name != "health"}
        metrics = {"epoch": entry["epoch"]} | found
        export(self.trainer.exported, self.experiment, self.run / WEIGHTS, metrics, classes=self.feed.train.classes)

    def __enter__(self) -> "Books":
        return self

    def __exit__(self, *trouble: object) -> None:
        if self.journal:
            self.journal.close()
        self.lock.free()
