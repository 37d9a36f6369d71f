"""Training as a generator: one record an epoch; printing, plotting and stopping belong to the caller."""

import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stawm.data import load_data
from stawm.data.image_set import Splits
from stawm.errors import CheckpointError, TrainingError, UsageError
from stawm.experiments.check import check
from stawm.experiments.experiment import Experiment
from stawm.files import placed
from stawm.measure.evaluate import evaluate
from stawm.measure.health import died, warnings
from stawm.measure.sums import HEALTH, SCORE, TERM, averaged
from stawm.precision import Chosen, resolved
from stawm.store import checkpoint as checkpoints
from stawm.store.sessions import this_code
from stawm.training.batch_norm import settle
from stawm.training.books import Books
from stawm.training.engine import start_engine
from stawm.training.feed import Feed
from stawm.training.journal import OnStep, OnStored, Progress, Record, Step, read_metrics
from stawm.training.schedule import epochs_left, learning_rate
from stawm.training.trainer import Trainer


def fit(
    experiment: Experiment | None,
    run: Path | str,
    *,
    resume: bool = False,
    data_dir: Path | None = None,
    data: Splits | None = None,
    accelerator: str = "auto",
    on_step: OnStep | None = None,
    on_stored: OnStored | None = None,
) -> Generator[Record, None, None]:
    """Train `experiment` in the folder `run`, yielding one record an epoch; weights are exported after the last.

    With `resume`, a run goes on from its newest checkpoint and ends as if it had never stopped (`experiment` may then
    be none; if given, it must be the run's). `data` are images of the caller's own instead of those that the experiment
    names. `on_step` sees every step, and `on_stored` how many pictures, of how many, a frozen model has looked at.
    Under `torchrun` every process calls this and the first one writes; `run` must be a folder that all of them see.
    """
    run = placed(run)
    this_code()
    experiment = _experiment(experiment, run, resume)
    precision = precision_for(experiment, run, resume=resume, accelerator=accelerator).name
    engine = start_engine(accelerator, precision)
    if data is not None and not isinstance(data, Splits):
        raise UsageError(f"given a {type(data).__name__} as data; give Splits(train, test) of two ImageSets")
    pictures = data or load_data(experiment.data.name, data_dir=data_dir, image=experiment.model.image.shape)
    feed = Feed(experiment, pictures, engine, on_stored)
    trainer = Trainer(engine, experiment, feed.steps)
    with Books(run, experiment, feed, trainer, precision) as books:
        progress = books.open(resume)
        epochs = [entry for entry in read_metrics(run) if entry["epoch"] <= progress.epoch]
        _check_alive(epochs, experiment, feed.chance)
        if progress.epoch < experiment.training.epochs:
            feed.store(trainer.taught, trainer.models, fresh=progress.step == 0)
        while progress.epoch < experiment.training.epochs:
            _learn(feed, trainer, books, progress, on_step)
            record = _measured(feed, trainer, progress, precision)
            # Written down before the checkpoint: a run that dies in between writes the same line again.
            books.add(record)
            progress = Progress(step=progress.step, epoch=progress.epoch + 1)
            books.save(progress)
            yield record
            epochs.append(record.to_dict())
            _check_alive(epochs, experiment, feed.chance)


def precision_for(
    experiment: Experiment, run: Path | str, *, resume: bool = False, accelerator: str = "auto"
) -> Chosen:
    """What a run computes in: as it was begun, whatever machine that was, or what its setting means on this one."""
    begun = checkpoints.precision_of(placed(run)) if resume else None
    chosen = resolved(begun or experiment.training.precision, accelerator)
    return replace(chosen, why="as this run was begun") if begun else chosen


def _check_alive(epochs: Sequence[dict[str, Any]], experiment: Experiment, chance: float) -> None:
    """Stop a run that has died, before its first step if it had died when it was resumed."""
    training = experiment.training
    if not died(epochs, training.give_up, chance):
        return
    last = epochs[-1]
    illness = next(iter(last["warnings"]), f"its gradients have a norm of {last['health']['gradient_norm']:.1g}")
    raise TrainingError(
        f"this run has died: for {training.give_up} epochs, up to epoch {last['epoch']}, it has learnt nothing; "
        f"{illness}; start a new run, with a training.learning_rate below {training.learning_rate:g} (or set "
        "training.give_up to 0 to go on whatever happens)"
    )


def _learn(feed: Feed, trainer: Trainer, books: Books, progress: Progress, on_step: OnStep | None) -> None:
    """Take the steps that are left of the epoch under way."""
    begun = time.perf_counter()
    trainer.look_as_in(progress.epoch, begins=progress.position == 0)
    pictures = feed.of_epoch(progress.epoch)
    before, started = progress.seconds, time.perf_counter()
    for images, labels in feed.batches(pictures, progress.epoch, progress.position):
        progress.count(trainer.step(images, labels, progress.step))
        progress.seconds = before + time.perf_counter() - started
        if on_step:
            on_step(_step(feed, trainer, progress))
        if books.due(progress):
            books.save(progress)
            progress.seconds = before + time.perf_counter() - started
    # Only now, so that the time left is told from the steps.
    progress.seconds += started - begun


def _step(feed: Feed, trainer: Trainer, progress: Progress) -> Step:
    """The step that was just taken, as a progress bar shows it."""
    epochs, rate = trainer.config.epochs, progress.position / max(progress.seconds, 1e-9)
    left = epochs_left(trainer.config, trainer.experiment.model, progress.epoch, progress.position / feed.steps)
    return Step(
        epoch=progress.epoch + 1,
        epochs=epochs,
        step=progress.position,
        steps=feed.steps,
        loss=sum(progress.means(TERM).values()),
        scores=progress.means(SCORE),
        images_per_second=rate * feed.batch,
        seconds_left=left * feed.steps / rate,
    )


def _measured(feed: Feed, trainer: Trainer, progress: Progress, precision: str) -> Record:
    """The record of the epoch that has just been trained, with the scores on held-out images."""
    progress.sums = averaged(trainer.engine, progress.sums)
    terms, health = progress.means(TERM), progress.means(HEALTH)
    started = time.perf_counter()
    if trainer.config.settle and progress.epoch + 1 == trainer.config.epochs and trainer.taught is trainer.model:
        settle(trainer.exported, feed.train, trainer.experiment, trainer.engine)
    try:
        found = evaluate(trainer.judged, feed.held_out, trainer.judge, engine=trainer.engine, precision=precision)
    except CheckpointError as failure:
        raise TrainingError(
            f"epoch {progress.epoch + 1}: {failure}; the last checkpoint is kept; try a lower training.learning_rate "
            "or a smaller training.clip_norm"
        ) from failure
    timing = {
        "seconds": progress.seconds,
        "evaluation_seconds": time.perf_counter() - started,
        "images_per_second": feed.steps * feed.batch / progress.seconds,
    }
    return Record(
        epoch=progress.epoch + 1,
        step=progress.step,
        learning_rate=learning_rate(trainer.config, progress.step - 1, feed.steps),
        train={"loss": sum(terms.values())} | terms | progress.means(SCORE),
        held_out={"split": feed.split} | found,
        health=health,
        warnings=warnings(health),
        timing=timing,
    )


def _experiment(wanted: Experiment | None, run: Path, resume: bool) -> Experiment:
    """The experiment to train: the one given for a new run, the run's own for one that is resumed."""
    if resume:
        stored = checkpoints.experiment_of(run, resume=True)
        checkpoints.check_same(wanted or stored, stored, run)
        check(stored, begun=True)
        return stored
    checkpoints.check_free(run)
    if wanted is None:
        raise UsageError("no experiment given to start a run with; name a preset")
    check(wanted)
    return wanted
