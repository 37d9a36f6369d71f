"""Shipping the weights of a run under a name: halved, measured, described, and entered in a manifest."""

import copy
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stawm.data import load_data
from stawm.data.image_set import ImageSet, hold_out
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import judge_of_all
from stawm.experiments.check import check_pictures
from stawm.experiments.experiment import Experiment
from stawm.experiments.facts import score_of
from stawm.experiments.recipe import changes, own_preset
from stawm.files import write_json, write_text
from stawm.ledger.card import Facts, about_of, card
from stawm.ledger.entries import Entry, Measurement, chain, check_name, read_ledger, run_of
from stawm.measure.evaluate import evaluate
from stawm.store.trust import FILE as TRUST
from stawm.store.weights import (
    CONFIG,
    MANIFEST,
    MODEL,
    Trained,
    check_files,
    export,
    fingerprint,
    halved,
    listed,
    load_trained,
    read_config,
    read_manifest,
)

CARD = "CARD.md"
MOST_BYTES = 15_000_000
TRAINED, SHIPPED = "as trained (float32)", "as shipped (float16)"


@dataclass(frozen=True)
class Shipped:
    """Where the weights went, how large they are, and what was measured with them as trained and as shipped."""

    folder: Path
    size: int
    measured: tuple[tuple[str, Measurement], ...]


def ship(
    run: Path | str,
    name: str,
    home: Path,
    *,
    data_dir: Path | None = None,
    full: bool = False,
    replace: bool = False,
    note: str = "",
    ledger: Path | None = None,
) -> Shipped:
    """Export the weights of `run` into `home` under `name`, with a card, and enter them in the manifest of `home`.

    Matrices are written as float16, unless `full`; both forms are measured on the run's held-out pictures, and if a
    score moves by more than it may (`Score.halved`), nothing is written. `replace` lets them take the place of others
    of that name. What `ledger` holds of the same weights on the test set goes onto the card; the test set itself is
    not touched.
    """
    check_name(name, "weights")
    if name in read_manifest(home) and not replace:
        raise UsageError(f"{home} has weights named {name} already; choose another name or give --replace")
    trained = load_trained(run)
    trained = dataclasses.replace(trained, experiment=_without_places(_as_told_now(trained.experiment)))
    state = trained.model.state_dict() if full else halved(trained.model)
    _check_size(name, sum(tensor.nbytes for tensor in state.values()))
    split, pictures = _held_out(trained.experiment, data_dir)
    judge = judge_of_all(trained.experiment)
    before = found = evaluate(trained.model, pictures, judge, config=trained.experiment.model)
    if not full:
        small = copy.deepcopy(trained.model)
        small.load_state_dict(state)
        try:
            found = evaluate(small, pictures, judge)
        except CheckpointError as failure:
            raise CheckpointError(
                f"as float16 the weights of {name} overflow ({failure}); ship them with --full"
            ) from failure
        _check_rounding(name, split, before, found)
    epochs = int(trained.metrics.get("epoch", trained.experiment.training.epochs))
    kept = {"epoch": epochs, "split": split} | {key: value for key, value in found.items() if key != "health"}
    origin = {"sha256": fingerprint(trained.model), "scores": before["scores"]}
    folder = _write(trained, name, home, kept, origin, note, full)
    facts = facts_of(home, name, ledger)
    write_text(folder / CARD, card(facts))
    return Shipped(folder, (folder / MODEL).stat().st_size, tuple(facts.measured))


def write_card(home: Path, name: str, ledger: Path | None = None) -> Path:
    """Write the card of shipped weights anew, from what lies beside them, the manifest and the ledger."""
    write_text(home / name / CARD, card(facts_of(home, name, ledger)))
    return home / name / CARD


def facts_of(home: Path, name: str, ledger: Path | None = None) -> Facts:
    """What is known of the weights of that name in `home`."""
    known, manifest = read_config(home / name), read_manifest(home)
    if name not in manifest:
        raise UsageError(f"{home} has no weights named {name}; it has {', '.join(manifest) or 'none'}")
    check_files(home / name)
    try:
        origin, split, count = manifest[name]["trained"], known.metrics["split"], int(known.metrics["count"])
        measured = [(TRAINED, Measurement(split, count, origin["scores"]))]
        if fingerprint(load_trained(home / name).model) != origin["sha256"]:
            measured.append((SHIPPED, Measurement(split, count, known.metrics["scores"])))
    except (KeyError, TypeError, ValueError) as failure:
        raise CheckpointError(
            f"{home / MANIFEST} or {name}/{CONFIG} lacks what a card tells ({failure!r}); ship the weights again"
        ) from failure
    entries = {entry.name: entry for entry in read_ledger(ledger)} if ledger else {}
    same = [entry for entry in entries.values() if entry.weights == origin["sha256"]]
    tested = [entry.measured for entry in same if entry.kind == "result" and split != "test"]
    measured += [(TRAINED, found) for found in tested]
    runs: tuple[Entry, ...] = chain(same[0], entries) if same else ()
    told = manifest[name].get("note", ""), TRUST in manifest[name]["files"]
    return Facts(name, known.experiment, int(known.metrics["epoch"]), measured, runs, *told)


def _write(
    trained: Trained, name: str, home: Path, metrics: dict[str, Any], origin: dict[str, Any], note: str, full: bool
) -> Path:
    """The folder with weights and settings; the manifest is written last, so that a broken attempt is noticed."""
    options = {"classes": trained.classes, "half": not full, "trust": trained.trust}
    folder = export(trained.model, trained.experiment, home / name, metrics, **options)
    entry = {"about": about_of(trained.experiment), "files": listed(folder), "trained": origin, "note": note}
    manifest = dict(sorted((read_manifest(home) | {name: entry}).items()))
    write_json(home / MANIFEST, manifest)
    return folder


def _as_told_now(experiment: Experiment) -> Experiment:
    """The experiment in the words of its preset as they are now, where it has no other settings than that."""
    known = own_preset(experiment)
    return experiment if changes(experiment, known) else dataclasses.replace(known, seed=experiment.seed)


def _without_places(experiment: Experiment) -> Experiment:
    """The experiment without the folders of one machine: a run that it started from is named as if it lay in runs."""
    source = experiment.training.start_from
    if not Path(source).is_absolute():
        return experiment
    return dataclasses.replace(
        experiment, training=dataclasses.replace(experiment.training, start_from=run_of(Path(source).name))
    )


def _check_size(name: str, size: int) -> None:
    if size > MOST_BYTES:
        raise UsageError(
            f"the weights of {name} take {size / 1e6:.1f} MB, more than the {MOST_BYTES / 1e6:g} MB that are shipped; "
            "publish them elsewhere, or train a smaller model"
        )


def _held_out(experiment: Experiment, data_dir: Path | None) -> tuple[str, ImageSet]:
    data = load_data(experiment.data.name, data_dir=data_dir, image=experiment.model.image.shape)
    _, held_out, split = hold_out(data, experiment.data.hold_out)
    check_pictures(held_out, experiment.model)
    return split, held_out


def _check_rounding(name: str, split: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    for score, value in before["scores"].items():
        small = after["scores"][score]
        most = score_of(score).halved
        if not abs(value - small) <= most + 1e-12:
            raise CheckpointError(
                f"as float16 the weights of {name} have {score} {small:.5f}, not {value:.5f}, on "
                f"{after['count']:,} {split} pictures, a move of {abs(value - small):.1g} where {most:g} is allowed; "
                "ship them with --full"
            )
