"""Training as a generator: one record an epoch; printing, plotting and stopping belong to the caller."""

import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from stawm.data import load_data
from stawm.data.augment import augment
from stawm.data.image_set import FeatureSet, ImageSet, Splits, batch_of, part_of
from stawm.errors import CheckpointError, DataError, UsageError
from stawm.experiments.experiment import DataConfig, Experiment
from stawm.experiments.ranges import check_ranges
from stawm.measure.evaluate import check_fits, evaluate
from stawm.measure.health import warnings
from stawm.model.readout import Readout
from stawm.store import checkpoint as checkpoints
from stawm.store.checkpoint import Checkpoint
from stawm.store.sessions import note_session
from stawm.store.weights import WEIGHTS, export
from stawm.training.batch_norm import check_settle, settle
from stawm.training.engine import generator_of, start_engine
from stawm.training.learner import HEALTH, SCORE, TERM
from stawm.training.progress import Progress, levelled
from stawm.training.records import Journal, OnStep, Record, Step
from stawm.training.schedule import learning_rate
from stawm.training.start import Views, check_start, stored_features
from stawm.training.trainer import Trainer

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def fit(
    experiment: Experiment | None,
    run: Path | str,
    *,
    resume: bool = False,
    data_dir: Path | None = None,
    data: Splits | None = None,
    accelerator: str = "auto",
    on_step: OnStep | None = None,
) -> Generator[Record, None, None]:
    """Train `experiment` in the folder `run`, yielding one record an epoch; weights are exported after the last.

    With `resume`, a run goes on from its newest checkpoint and ends as if it had never stopped (`experiment` may then
    be none; if given, it must be the run's). `data` are images of the caller's own instead of those that the experiment
    names. `on_step` sees every step. Under `torchrun` every process calls this and the first one writes; `run` must be
    a folder that all of them see.
    """
    yield from _Fit(start_engine(accelerator), experiment, Path(run), resume, data_dir, data).epochs(on_step)


class _Fit:
    """One call of `fit`: checked, opened or resumed, then run epoch by epoch."""

    def __init__(
        self,
        engine: "Fabric",
        experiment: Experiment | None,
        run: Path,
        resume: bool,
        data_dir: Path | None,
        data: Splits | None,
    ) -> None:
        self.engine, self.run = engine, run
        self.experiment = _experiment(experiment, run, resume)
        model, training = self.experiment.model, self.experiment.training
        if data is None:
            size = (model.image.channels, model.image.height, model.image.width)
            data = load_data(self.experiment.data.name, data_dir=data_dir, image=size)
        train, held_out, self.split = splits_of(data, self.experiment.data)
        check_fits(train, model)
        check_fits(held_out, model)
        self.train = train
        self.views: Views | None = None
        self.held_out: ImageSet | FeatureSet = held_out
        self.share = min(training.batch_size, len(self.train)) // engine.world_size
        if self.share < 1 or training.epochs < 1:
            raise UsageError(
                "training needs at least one epoch, and one image for each process in a batch; given: "
                f"{training.epochs} epochs, batch_size {training.batch_size}, {engine.world_size} processes"
            )
        self.batch = self.share * engine.world_size
        self.steps = len(self.train) // self.batch
        self.trainer = Trainer(engine, self.experiment, self.steps)
        check_settle(self.experiment, self.trainer.model)
        self.progress = Progress()
        if not (resume and self._resume()):
            self.trainer.begin(self.experiment)
        engine.barrier()
        if engine.is_global_zero:
            checkpoints.sweep(run) if resume else checkpoints.begin(run, self.experiment)
            note_session(run, self.progress.step, engine.world_size)
        engine.barrier()

    def epochs(self, on_step: OnStep | None) -> Iterator[Record]:
        """The records of the epochs that are left."""
        last, step = self.experiment.training.epochs, self.progress.step
        journal = Journal(self.run, epoch=self.progress.epoch, step=step) if self.engine.is_global_zero else None
        try:
            if journal and self.progress.epoch == last:
                self._export(journal)
            elif self.progress.epoch < last:
                self._store()
            while self.progress.epoch < last:
                self._epoch(on_step)
                record = self._record()
                # Written down before the checkpoint: a run that dies in between writes the same line again.
                if journal:
                    journal.add(record)
                self.progress = Progress(step=self.progress.step, epoch=self.progress.epoch + 1)
                self._save()
                if journal and self.progress.epoch == last:
                    self._export(journal)
                yield record
        finally:
            if journal:
                journal.close()

    def _store(self) -> None:
        """Have a frozen model look at each picture once (or once for each view), unless every epoch varies it anew."""
        taught, data = self.trainer.taught, self.experiment.data
        if isinstance(taught, Readout) and self.experiment.training.settle and self.progress.step == 0:
            for model in dict.fromkeys((self.trainer.model, self.trainer.exported)):
                settle(model, self.train, self.experiment, self.engine)
        if isinstance(taught, Readout) and isinstance(self.held_out, ImageSet) and (data.views or not data.varies):
            self.views = Views(taught, self.train, data, self.experiment.seed)
            self.held_out = stored_features(taught, self.held_out, self.engine.device)

    def _epoch(self, on_step: OnStep | None) -> None:
        progress, training, seed = self.progress, self.experiment.training, self.experiment.seed
        order = torch.randperm(len(self.train), generator=generator_of(seed, progress.epoch))
        varied = self.experiment.data
        begun = time.perf_counter()
        pictures = self.views.of_epoch(progress.epoch, self.engine.device) if self.views else self.train
        before, started = progress.seconds, time.perf_counter()
        while progress.position < self.steps:
            first = progress.position * self.batch + self.engine.global_rank * self.share
            batch = batch_of(pictures, order[first : first + self.share], self.engine.device)
            chance = generator_of(seed, progress.epoch, progress.position, self.engine.global_rank)
            images = batch.images if self.views or not varied.varies else augment(batch.images, varied, chance)
            progress.count(self.trainer.step(images, batch.labels, progress.step))
            progress.seconds = before + time.perf_counter() - started
            if on_step:
                on_step(self._step())
            every = training.checkpoint_every
            if every > 0 and progress.step % every == 0 and progress.position < self.steps:
                self._save()
                progress.seconds = before + time.perf_counter() - started
        # Only now, so that the time left is told from the steps.
        progress.seconds += started - begun

    def _step(self) -> Step:
        progress, training = self.progress, self.experiment.training
        rate = progress.position / max(progress.seconds, 1e-9)
        return Step(
            epoch=progress.epoch + 1,
            epochs=training.epochs,
            step=progress.position,
            steps=self.steps,
            loss=sum(progress.means(TERM).values()),
            scores=progress.means(SCORE),
            images_per_second=rate * self.batch,
            seconds_left=(training.epochs * self.steps - progress.step) / rate,
        )

    def _record(self) -> Record:
        """The record of the epoch that has just been trained, with the scores on held-out images."""
        self.progress.sums = levelled(self.engine, self.progress.sums)
        progress, trainer = self.progress, self.trainer
        terms, health = progress.means(TERM), progress.means(HEALTH)
        started = time.perf_counter()
        last = progress.epoch + 1 == self.experiment.training.epochs
        if self.experiment.training.settle and last and not isinstance(trainer.taught, Readout):
            settle(trainer.exported, self.train, self.experiment, self.engine)
        found = evaluate(trainer.judged, self.held_out, trainer.objective, engine=self.engine)
        timing = {
            "seconds": progress.seconds,
            "evaluation_seconds": time.perf_counter() - started,
            "images_per_second": self.steps * self.batch / progress.seconds,
        }
        return Record(
            epoch=progress.epoch + 1,
            step=progress.step,
            learning_rate=learning_rate(self.experiment.training, progress.step - 1, self.steps),
            train={"loss": sum(terms.values())} | terms | progress.means(SCORE),
            held_out={"split": self.split} | found,
            health=health,
            warnings=warnings(health),
            timing=timing,
        )

    def _save(self) -> None:
        """Write a checkpoint; sums are levelled over the processes so that a resumed run adds up the same numbers."""
        self.progress.sums = levelled(self.engine, self.progress.sums)
        tensors = self.trainer.tensors()
        if self.engine.is_global_zero:
            state = Checkpoint(
                experiment=self.experiment,
                world=self.engine.world_size,
                checksum=self.train.checksum,
                tensors=tensors,
                **vars(self.progress),
            )
            checkpoints.save_checkpoint(self.run, state)

    def _resume(self) -> bool:
        """Put back the newest checkpoint; whether there was one."""
        checkpoint = checkpoints.newest_checkpoint(self.run)
        if checkpoint is None:
            return False
        checkpoints.check_same(self.experiment, checkpoint.experiment, self.run)
        if checkpoint.checksum != self.train.checksum:
            raise CheckpointError(
                f"the images of {self.train.name} are not those that {self.run} was begun with; start a new run"
            )
        self.trainer.restore(checkpoint)
        self.progress = Progress(
            checkpoint.step, checkpoint.epoch, checkpoint.position, checkpoint.sums, checkpoint.seconds
        )
        return True

    def _export(self, journal: Journal) -> None:
        """Write the weights, with what the last epoch's evaluation found."""
        entry = journal.entries[-1]
        found = {name: value for name, value in entry["held_out"].items() if name != "health"}
        metrics = {"epoch": entry["epoch"]} | found
        export(self.trainer.exported, self.experiment, self.run / WEIGHTS, metrics, classes=self.train.classes)


def _experiment(wanted: Experiment | None, run: Path, resume: bool) -> Experiment:
    """The experiment to train: the one given for a new run, the run's own for one that is resumed."""
    if resume:
        stored = checkpoints.experiment_of(run)
        checkpoints.check_same(wanted or stored, stored, run)
        return stored
    if checkpoints.holds_run(run):
        raise UsageError(f"{run} already holds a run; go on with it (--resume) or choose another folder")
    if wanted is None:
        raise UsageError("no experiment given to start a run with; name a preset")
    check_ranges(wanted)
    check_start(wanted)
    return wanted


def splits_of(data: Splits, config: DataConfig) -> tuple[ImageSet, ImageSet, str]:
    """The images to learn from, those to measure on, and the name of the latter split."""
    if config.hold_out == 0:
        return data.train, data.test, "test"
    kept = len(data.train) - config.hold_out
    if kept < 1 or config.hold_out < 0:
        raise DataError(
            f"data.hold_out={config.hold_out} leaves nothing of {len(data.train)} images to learn from; lower it"
        )
    return part_of(data.train, slice(kept)), part_of(data.train, slice(kept, None)), "validation"
