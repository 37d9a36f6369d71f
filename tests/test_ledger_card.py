"""A card is made of facts: it names a preset only if the weights were trained with it, and nothing contradicts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset
from stawm.experiments.recipe import changes
from stawm.ledger.card import Facts, card
from stawm.ledger.entries import LEDGER, Measurement, read_ledger
from stawm.ledger.ship import facts_of
from stawm.store.weights import package_home, read_manifest
from tiny_entry import entry

ROOT = Path(__file__).parent.parent
SHIPPED = [(home, name) for home in (package_home(), ROOT / "weights") for name in read_manifest(home)]


@pytest.fixture(scope="module", autouse=True)
def read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("stawm.ledger.ship.read_ledger", cache(read_ledger))
        yield


def facts(experiment: Experiment, epochs: int = 1) -> Facts:
    return Facts("mine", experiment, epochs, [("as trained", Measurement("test", 10, {"error": 0.1, "mse": 0.2}))])


def test_a_card_says_when_the_pictures_bind_the_weights():
    told = card(facts(preset("celeba-draw-32")))
    assert "non-commercial" in told
    assert "(MIT licence)" not in told
    assert "(MIT licence)" in card(facts(preset("mnist-draw-6")))


def test_scores_are_told_as_their_heads_tell_them():
    assert "| as trained | 10 test | 10.00 % | 0.2000 |" in card(facts(preset("mnist-sketchpad")))


@pytest.mark.parametrize(
    ("field", "value"), [("rotate", 17.0), ("turn", 17.0), ("warp", 17.0), ("shift", 17), ("strokes", 0.17)]
)
def test_what_is_done_to_pictures_is_told(field: str, value: float):
    base = preset("mnist-cluttered-100")
    plain = replace(base, data=replace(base.data, turn=0.0))
    assert "- pictures as they are" in card(facts(plain))
    told = card(facts(replace(plain, data=replace(plain.data, **{field: value}))))
    assert "as they are" not in told and "17" in next(
        line for line in told.splitlines() if line.startswith("- pictures")
    )


def test_the_preset_is_named_with_its_changes():
    base = preset("mnist-classify-8-fast")
    told = card(facts(base))
    assert "`mnist-classify-8-fast`" in told
    assert "(preset:" not in told
    changed = card(facts(replace(base, training=replace(base.training, schedule="decay", epochs=26))))
    assert "- training.schedule decay (preset: one-cycle)" in changed
    assert "- training.epochs 26 (preset: 12)" in changed
    assert "cosine" not in changed, "a reason that no longer holds"
    assert "preset" not in card(facts(replace(base, name="mine")))


def test_runs_that_came_one_after_the_other_are_listed_with_their_commands():
    first = entry("first", training={"epochs": 12})
    then = entry("then", training={"epochs": 6}, source="first")
    told = card(replace(facts(then.experiment, 6), runs=(first, then)))
    assert "Two runs of 12 + 6 epochs" in told
    assert f"{first.command}\n{then.command}\n" in told


@pytest.mark.parametrize(("home", "name"), SHIPPED, ids=[name for _, name in SHIPPED])
def test_a_shipped_card_agrees_with_the_settings_of_its_weights(home: Path, name: str):
    """Every setting that it names has one value, that of the weights, and its commands end in these settings."""
    known = facts_of(home, name, ROOT / LEDGER)
    told = card(known)
    assert told == (home / name / "CARD.md").read_text(encoding="utf-8"), "run `stawm ship --cards`"
    if "## Departures" in told:
        named = re.findall(
            r"((?:model|data|training)\.[\w.]+) ([^(,:\n]+?)(?= \(|,|:|\n)", told.split("## Departures")[1]
        )
        assert named
    else:  # An experiment of our own departs from nothing; it may change its preset, values with colons in them.
        named = re.findall(r"- ((?:model|data|training)\.[\w.]+) (.+?) \(preset", told)
    for setting, value in named:
        wanted = known.experiment.settings[setting]
        parts = (
            " ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in wanted)
            if isinstance(wanted, tuple)
            else f"{wanted:g}"
            if isinstance(wanted, float)
            else str(wanted)
        )
        assert value == (parts or "none"), setting
    # Training never asks what masks are at evaluation.
    assert set(changes(known.runs[-1].experiment, known.experiment)) <= {"model.heads.draw.mean"}
    assert known.runs[-1].epochs == known.epochs


def test_the_shipped_classifier_was_trained_in_one_run():
    told = card(facts_of(package_home(), "mnist-classify-8", ROOT / LEDGER))
    assert "One run of 30 epochs, with the settings of the preset `mnist-classify-8-long`:" in told
