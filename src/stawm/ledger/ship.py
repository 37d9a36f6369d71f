"""Shipping the weights of a run under a name: halved, measured, described, and entered in a manifest."""

import copy
import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stawm.data import load_data
from stawm.data.image_set import ImageSet, hold_out
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.check import check_pictures
from stawm.experiments.experiment import Experiment
from stawm.files import write_text
from stawm.ledger.card import Measured, card, scores_of
from stawm.ledger.entries import read_ledger, without_places
from stawm.measure.evaluate import evaluate
from stawm.store.weights import (
    CONFIG,
    MANIFEST,
    MODEL,
    Trained,
    export,
    fingerprint,
    halved,
    load_trained,
    read_manifest,
    sha256_of,
)

CARD = "CARD.md"
MOST_BYTES = 15_000_000
ROUNDING = {"error": 2e-4, "mse": 1e-5}
"""How far a score may move by halving: two pictures in 10,000 change sides; the drawing's fifth digit."""


@dataclass(frozen=True)
class Shipped:
    """Where the weights went, how large they are, and what was measured with them as trained and as shipped."""

    folder: Path
    size: int
    measured: tuple[Measured, ...]


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
    score moves by more than `ROUNDING`, nothing is written. `replace` lets them take the place of others of that name.
    What `ledger` holds of the same weights on the test set goes onto the card; the test set itself is not touched.
    """
    _check_name(name, home, replace)
    trained = load_trained(run)
    trained = dataclasses.replace(trained, experiment=without_places(trained.experiment))
    state = trained.model.state_dict() if full else halved(trained.model)
    _check_size(name, sum(tensor.nbytes for tensor in state.values()))
    split, pictures = _held_out(trained.experiment, data_dir)
    found = evaluate(trained.model, pictures, config=trained.experiment.model)
    measured = [Measured("as trained (float32)", split, len(pictures), scores_of(found))]
    if not full:
        small = copy.deepcopy(trained.model)
        small.load_state_dict(state)
        found = evaluate(small, pictures)
        measured.append(Measured("as shipped (float16)", split, len(pictures), scores_of(found)))
        _check_rounding(name, measured[0], measured[1])
    measured += _recorded(fingerprint(trained.model), ledger) if ledger and split != "test" else []
    epochs = int(trained.metrics.get("epoch", trained.experiment.training.epochs))
    kept = {"epoch": epochs, "split": split} | {key: value for key, value in found.items() if key != "health"}
    folder = _write(trained, name, home, kept, full, card(name, trained.experiment, epochs, measured, note))
    return Shipped(folder, (folder / MODEL).stat().st_size, tuple(measured))


def _write(trained: Trained, name: str, home: Path, metrics: dict[str, Any], full: bool, told: str) -> Path:
    """The folder with its three files; the manifest is written last, so that a broken attempt is noticed."""
    folder = export(trained.model, trained.experiment, home / name, metrics, classes=trained.classes, half=not full)
    write_text(folder / CARD, told)
    files = {
        path.name: {"sha256": sha256_of(path), "size": path.stat().st_size}
        for path in (folder / MODEL, folder / CONFIG)
    }
    entry = {"about": trained.experiment.about, "files": files, "trained": {"sha256": fingerprint(trained.model)}}
    manifest = dict(sorted((read_manifest(home) | {name: entry}).items()))
    write_text(home / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return folder


def _check_name(name: str, home: Path, replace: bool) -> None:
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name[0] == ".":
        raise UsageError(f"{name!r} cannot be a name of weights; use letters, digits and dashes")
    if name in read_manifest(home) and not replace:
        raise UsageError(f"{home} has weights named {name} already; choose another name or give --replace")


def _check_size(name: str, size: int) -> None:
    if size > MOST_BYTES:
        raise UsageError(
            f"the weights of {name} take {size / 1e6:.1f} MB, more than the {MOST_BYTES / 1e6:g} MB that are shipped; "
            "publish them elsewhere, or train a smaller model"
        )


def _held_out(experiment: Experiment, data_dir: Path | None) -> tuple[str, ImageSet]:
    """The name and the pictures of the split that the run was measured on."""
    data = load_data(experiment.data.name, data_dir=data_dir, image=experiment.model.image.shape)
    _, held_out, split = hold_out(data, experiment.data.hold_out)
    check_pictures(held_out, experiment.model)
    return split, held_out


def _recorded(weights: str, ledger: Path) -> list[Measured]:
    """What the ledger's results say of these weights."""
    found = [entry for entry in read_ledger(ledger) if entry.kind == "result" and entry.weights == weights]
    return [
        Measured("as trained (float32)", entry.measured.split, entry.measured.count, entry.measured.scores)
        for entry in found
    ]


def _check_rounding(name: str, before: Measured, after: Measured) -> None:
    for score, most in ROUNDING.items():
        if score in before.scores and not abs(before.scores[score] - after.scores[score]) <= most + 1e-12:
            raise CheckpointError(
                f"as float16 the weights of {name} have {score} {after.scores[score]:.5f}, not "
                f"{before.scores[score]:.5f}, on {after.count:,} {after.split} pictures; ship them with --full"
            )
