"""A run as an entry of the ledger: what it was, what it took, and what it reached."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stawm.data import load_data
from stawm.data.image_set import Splits
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset
from stawm.ledger.entries import PAPER, WORDS, Entry, Kind, Machine, Measurement, Pictures, changes, without_places
from stawm.measure.controls import controls
from stawm.measure.evaluate import evaluate
from stawm.store.checkpoint import experiment_of, newest_checkpoint
from stawm.store.sessions import read_sessions, this_machine
from stawm.store.weights import fingerprint, load_trained
from stawm.training.journal import read_metrics


@dataclass(frozen=True)
class Told:
    """What a run does not know itself and the person who records it says."""

    name: str
    kind: Kind = "result"
    chosen_by: str = ""
    note: str = ""
    commit: str = ""
    """The code that trained a run which did not write it down itself."""
    threads: int | None = None
    """Likewise its threads."""


def entry_of(
    run: Path, told: Told, *, data_dir: Path | None = None, device: str = "cpu", with_controls: bool = False
) -> Entry:
    """The entry of a run: a result is measured here, on the full test set; a trial keeps what its last epoch found.

    `with_controls` also measures a classifier with memories exchanged and with one query for all.
    """
    experiment, records = experiment_of(run), read_metrics(run)
    if not records:
        raise CheckpointError(f"there is no finished epoch in {run}; train it further (--resume)")
    preset(experiment.name)
    chosen_by = told.chosen_by or _chosen_by(experiment, told.kind)
    held_out = _held_out(records[-1]["held_out"])
    if told.kind == "trial" and (held_out is None or with_controls):
        raise UsageError(
            f"a trial may not touch the test set, and {run} was measured on it; train with --data.hold-out 5000"
            if held_out is None
            else "controls are measured on the test set, which a trial may not touch; record a result"
        )
    image = experiment.model.image
    data = load_data(experiment.data.name, data_dir=data_dir, image=(image.channels, image.height, image.width))
    _check_data(run, data)
    trained = load_trained(run)
    measured, found = held_out, ()
    if told.kind == "result":
        model = trained.model.to(device)
        measured = _measurement("test", evaluate(model, data.test, config=experiment.model))
        found = controls(model, data.test) if with_controls else ()
    assert measured is not None
    published, shown = PAPER.get(experiment.name), without_places(experiment)
    commits, machine = _ran(run, told)
    return Entry(
        name=told.name,
        kind=told.kind,
        preset=experiment.name,
        overrides=changes(shown),
        seed=experiment.seed,
        commits=commits,
        epochs=int(trained.metrics["epoch"]),
        paper_epochs=published.epochs if published else None,
        seconds=round(sum(_seconds(record["timing"]) for record in records), 1),
        machine=machine,
        data=Pictures(experiment.data.name, data.train.checksum, data.test.checksum),
        chosen_by=chosen_by,
        measured=measured,
        weights=fingerprint(trained.model.cpu()),
        experiment=replace(shown, **WORDS),
        validation=held_out if told.kind == "result" else None,
        controls=found,
        started_from=_started_from(experiment),
        epochs_before=_epochs_before(experiment),
        note=told.note,
    )


def _chosen_by(experiment: Experiment, kind: Kind) -> str:
    """The split that chose the recipe, where the run itself kept one."""
    if experiment.data.hold_out:
        return f"the last {experiment.data.hold_out:,} training pictures"
    if kind == "trial":
        return ""
    raise UsageError(
        f"{experiment.name} kept no validation pictures of its own; say what chose its recipe, as in "
        '--chosen-by "trials on the last 5,000 training pictures" or --chosen-by "the paper"'
    )


def _held_out(found: dict[str, Any]) -> Measurement | None:
    """What an epoch found on its validation split; none if it was measured on the test set."""
    return _measurement("validation", found) if found["split"] == "validation" else None


def _measurement(split: Any, found: dict[str, Any]) -> Measurement:
    scores = {name: float(score) for name, score in found["scores"].items()}
    return Measurement(split, int(found["count"]), scores, tuple(found["error_after_glimpse"]))


def _started_from(experiment: Experiment) -> str:
    """The fingerprint of the weights that the run started from; none if it started anew, or if they are gone."""
    try:
        source = experiment.training.start_from
        return fingerprint(load_trained(source).model) if source else ""
    except CheckpointError:
        return ""


def _epochs_before(experiment: Experiment) -> int:
    """The epochs of the runs that a whole model went on from, one after the other, as far as they are still there."""
    source = experiment.training.start_from
    if not source or experiment.training.learns != "all":
        return 0
    try:
        trained = load_trained(source)
    except CheckpointError:
        return 0
    return int(trained.metrics["epoch"]) + _epochs_before(trained.experiment)


def _check_data(run: Path, data: Splits) -> None:
    """Refuse to measure on other pictures than those of the run."""
    checkpoint = newest_checkpoint(run)
    if checkpoint is not None and checkpoint.checksum != data.train.checksum:
        raise CheckpointError(f"the pictures of {data.train.name} are not those that {run} learnt from; find those")


def _ran(run: Path, told: Told) -> tuple[tuple[str, ...], Machine]:
    """The commits and the machine of a run: what it wrote down, else what is told and where this runs."""
    sessions = read_sessions(run)
    commits = tuple(dict.fromkeys(session.commit for session in sessions if session.commit))
    machine = sessions[-1].machine if sessions else replace(this_machine(), threads=None)
    if told.threads is not None and machine.threads is None:
        machine = replace(machine, threads=told.threads)
    return commits or ((told.commit,) if told.commit else ()), machine


def _seconds(timing: dict[str, float]) -> float:
    return timing["seconds"] + timing.get("evaluation_seconds", 0.0)
