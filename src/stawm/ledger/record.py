"""A run as an entry of the ledger: what it was, what it took, and what it reached."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stawm.data import load_data
from stawm.data.image_set import ImageSet, Splits, hold_out
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import Model, judge_of_all
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS
from stawm.ledger.entries import Entry, Kind, Machine, Measurement, Pictures, run_of
from stawm.measure.controls import Control
from stawm.measure.evaluate import evaluate
from stawm.measure.question_controls import QuestionControl, all_controls
from stawm.store.checkpoint import experiment_of, newest_checkpoint
from stawm.store.lock import RunLock
from stawm.store.sessions import read_sessions, this_machine, worked
from stawm.store.weights import Trained, fingerprint, load_trained
from stawm.training.journal import METRICS, read_metrics


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
    source: str = ""
    """The entry of the run that it started from, where the weights of that are gone."""


def entry_of(
    run: Path,
    told: Told,
    ledger: Sequence[Entry] = (),
    *,
    data_dir: Path | None = None,
    device: str = "cpu",
    with_controls: bool = False,
) -> Entry:
    """The entry of a run: a result is measured here, on the full test set; a trial keeps what its last epoch found.

    A run that started from another finds the entry of that in `ledger`, by the weights. `with_controls` also measures
    a classifier, and heads that are asked questions, with memories and queries exchanged.
    """
    experiment, records = experiment_of(run), _records(run, told.kind)
    _check_preset(run, experiment)
    source, started_from = _started(run, experiment, told, ledger)
    chosen_by = told.chosen_by or _chosen_by(experiment, told.kind)
    held_out, seconds = _told_by(records, run)
    if told.kind == "trial":
        _check_trial(run, held_out, with_controls)
    data = _data(run, experiment, data_dir)
    trained = load_trained(run)
    _check_last(run, records, trained)
    measured, found = held_out, ((), ())
    if told.kind == "result":
        measured, found = _tested(trained.model.to(device), data.test, experiment, with_controls)
    assert measured is not None, "checked before"
    (commits, machine), start = _ran(run, told, records), run_of(source) if source else experiment.training.start_from
    return Entry(
        name=told.name,
        kind=told.kind,
        commits=commits,
        epochs=int(trained.metrics["epoch"]),
        seconds=seconds,
        machine=machine,
        data=Pictures(experiment.data.name, data.train.checksum, data.test.checksum),
        chosen_by=chosen_by,
        measured=measured,
        weights=fingerprint(trained.model.cpu()),
        experiment=replace(experiment.plain(), training=replace(experiment.training, start_from=start)),
        validation=held_out if told.kind == "result" else None,
        controls=found[0],
        question_controls=found[1],
        source=source,
        started_from=started_from,
        note=told.note,
    )


def _records(run: Path, kind: Kind) -> list[dict[str, Any]]:
    """What the run wrote down after each epoch; a result's has ended, for the test set is read once."""
    if kind == "result":
        RunLock(run).check()
    records = read_metrics(run)
    if not records:
        raise CheckpointError(f"there is no finished epoch in {run}; train it further (--resume)")
    return records


def _check_last(run: Path, records: Sequence[dict[str, Any]], trained: Trained) -> None:
    """Refuse weights of another epoch than that of the last record: a run died between the two, or lost a file."""
    if trained.metrics["epoch"] != records[-1]["epoch"]:
        raise CheckpointError(
            f"the weights of {run} are of epoch {trained.metrics['epoch']}, its last record is of epoch "
            f"{records[-1]['epoch']}; go on with it (--resume) and record it then"
        )


def _told_by(records: Sequence[dict[str, Any]], run: Path) -> tuple[Measurement | None, float]:
    """What the last epoch found on a validation split, if there is one, and the seconds that all of them took."""
    try:
        last = records[-1]["held_out"]
        held_out = _measurement("validation", last) if last["split"] == "validation" else None
        return held_out, round(sum(map(_seconds, records)), 1)
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        raise CheckpointError(f"{run / METRICS} lacks what an entry tells ({failure!r}); put it back") from failure


def _tested(
    model: Model, pictures: ImageSet, experiment: Experiment, with_controls: bool
) -> tuple[Measurement, tuple[tuple[Control, ...], tuple[QuestionControl, ...]]]:
    measured = _measurement("test", evaluate(model, pictures, judge_of_all(experiment), config=experiment.model))
    return measured, all_controls(model, pictures) if with_controls else ((), ())


def _check_preset(run: Path, experiment: Experiment) -> None:
    if experiment.name not in PRESETS:
        raise UsageError(
            f"{run} is a run of {experiment.data.name}, of no preset, and only runs of presets are recorded "
            "(`stawm presets` lists them)"
        )


def _check_trial(run: Path, held_out: Measurement | None, with_controls: bool) -> None:
    if held_out is None:
        raise UsageError(
            f"a trial may not touch the test set, and {run} was measured on it; train with --data.hold-out 5000"
        )
    if with_controls:
        raise UsageError("controls are measured on the test set, which a trial may not touch; record a result")


def _chosen_by(experiment: Experiment, kind: Kind) -> str:
    if experiment.data.hold_out:
        return f"the last {experiment.data.hold_out:,} training pictures"
    if kind == "trial":
        return ""
    raise UsageError(
        f"{experiment.name} kept no validation pictures of its own; say what chose its recipe, as in "
        '--chosen-by "trials on the last 5,000 training pictures" or --chosen-by "the paper"'
    )


def _measurement(split: Any, found: dict[str, Any]) -> Measurement:
    scores = {name: float(score) for name, score in found["scores"].items()}
    terms = {name: float(term) for name, term in found.get("terms", {}).items()}
    return Measurement(split, int(found["count"]), scores, tuple(found["error_after_glimpse"]), terms)


def _started(run: Path, experiment: Experiment, told: Told, ledger: Sequence[Entry]) -> tuple[str, str]:
    """The entry of the run that this one started from, and the fingerprint of those weights; both may be unknown.

    Weights that are found by their own name need no entry: the command that names them works as it is.
    """
    start = experiment.training.start_from
    if not start:
        return "", ""
    weights = next((one.start for one in read_sessions(run) if one.start), "") or _fingerprint(start)
    found = [entry.name for entry in ledger if told.source in ("", entry.name) and weights in ("", entry.weights)]
    if found and (weights or told.source):
        return found[0], weights
    if weights and not told.source and not Path(start).exists():
        return "", weights
    if not weights and not told.source:
        raise UsageError(
            f"{run} started from {start}, where no weights are found from here; record it in the folder that it was "
            "trained in, or give --source and the name of that run's entry"
        )
    raise UsageError(
        f"{run} started from {start}, and the ledger has no entry {told.source or 'with those weights'}; record that "
        "run first, or give --source and the name of its entry"
    )


def _fingerprint(start: str) -> str:
    try:
        return fingerprint(load_trained(start).model)
    except CheckpointError:
        return ""


def _data(run: Path, experiment: Experiment, data_dir: Path | None) -> Splits:
    data = load_data(experiment.data.name, data_dir=data_dir, image=experiment.model.image.shape)
    checkpoint = newest_checkpoint(run)
    learnt, _, _ = hold_out(data, experiment.data.hold_out)
    if checkpoint is not None and checkpoint.checksum != learnt.checksum:
        raise CheckpointError(f"the pictures of {data.train.name} are not those that {run} learnt from; find those")
    return data


def _ran(run: Path, told: Told, records: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], Machine]:
    """The commits and the machine of a run: what it wrote down, else what is told and where this runs."""
    sessions = worked(read_sessions(run), records[-1]["step"])
    commits = tuple(dict.fromkeys(session.commit for session in sessions if session.commit))
    machine = sessions[-1].machine if sessions else replace(this_machine(), threads=None)
    if told.threads is not None and machine.threads is None:
        machine = replace(machine, threads=told.threads)
    return commits or ((told.commit,) if told.commit else ()), machine


def _seconds(record: dict[str, Any]) -> float:
    return record["timing"]["seconds"] + record["timing"].get("evaluation_seconds", 0.0)
