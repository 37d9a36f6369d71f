"""An experiment beside its preset: what differs, which preset is nearest, what still holds, how to repeat it."""

from dataclasses import replace

import pytest

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset
from stawm.experiments.recipe import Change, aims, changes, command, departures, nearest, paper_experiment, told_changes
from stawm.memory.attention import AttentionConfig

FAST = preset("mnist-classify-8-fast")


def with_training(experiment: Experiment, **settings: object) -> Experiment:
    return replace(experiment, training=replace(experiment.training, **settings))  # pyright: ignore[reportArgumentType]


def test_changes_are_settings_and_neither_seed_nor_words() -> None:
    base = preset("mnist-classify-8")
    changed = with_training(replace(base, seed=1, about="other words", departures=()), epochs=20)
    assert changes(changed, base) == {"training.epochs": Change(20, 200)}
    assert told_changes(changes(changed, base)) == ["training.epochs 20 (preset: 200)"]
    assert changes(base, base) == {}


def test_a_setting_that_only_one_has_is_a_change() -> None:
    classify, draw = preset("mnist-classify-8"), preset("mnist-draw-8")
    found = changes(draw, classify)
    assert found["model.heads.draw.latent"] == Change(4, None)
    assert found["model.heads.classify.classes"] == Change(None, 10)


def test_the_nearest_preset_is_one_of_the_same_experiment() -> None:
    renamed = replace(preset("mnist-sketchpad-fast"), name="mnist-sketchpad")
    assert nearest(renamed) == preset("mnist-sketchpad-fast")
    assert nearest(preset("mnist-sketchpad")) == preset("mnist-sketchpad")
    assert nearest(preset("mnist-5k-sketchpad")) == preset("mnist-5k-sketchpad")
    assert nearest(replace(renamed, name="mine")) is None
    assert paper_experiment(preset("mnist-5k-sketchpad")).name == "mnist-sketchpad"
    assert paper_experiment(replace(renamed, name="mine", of="")).name == "mine"


def test_numbers_are_those_of_the_presets_own_pictures() -> None:
    assert aims(replace(FAST, seed=1), FAST) == (FAST.published, FAST.goal)
    assert aims(replace(FAST, data=replace(FAST.data, name="folder:mine")), FAST) == (None, None)


def test_a_departure_is_told_with_both_values() -> None:
    told = departures(FAST)
    assert any(line.startswith("data.hold_out 5000 (paper: 0): ") for line in told)
    assert any(line.startswith("training.epochs 12 (paper: 200), ") and "cosine" in line for line in told)
    assert any(line.startswith("data.rotate 0: ") for line in departures(preset("mnist-self-supervised")))


def test_what_no_longer_holds_is_restated_without_its_reason() -> None:
    told = departures(with_training(FAST, schedule="decay", epochs=26))
    assert not any("cosine" in line or "training.epochs" in line for line in told)
    assert "training.warmup 0.1 (paper: 0)" in told
    assert any(line.startswith("data.hold_out") for line in told)


def test_departures_of_an_experiment_of_ones_own_are_told() -> None:
    mine = replace(FAST, name="mine", of="")
    assert any(line.startswith("data.hold_out 5000: ") for line in departures(mine))


def test_a_command_names_the_run_and_what_was_changed() -> None:
    changed = replace(with_training(FAST, milestones=(3, 4), start_from="runs/a b"), seed=3)
    assert command(changed, "runs/mine") == (
        "stawm train mnist-classify-8-fast --seed 3 --run runs/mine --training.milestones 3 4 "
        "--training.start-from 'runs/a b'"
    )
    assert command(preset("mnist-draw-6")) == "stawm train mnist-draw-6 --seed 0"


def test_a_command_names_no_setting_that_the_run_lacks() -> None:
    """A run of another memory than its preset's has no rates to give."""
    other = replace(FAST, model=replace(FAST.model, memory=AttentionConfig()))
    assert changes(other, FAST)["model.memory.theta"].value is None
    words = command(other).split()
    assert words[words.index("--model.memory.rule") + 1] == "attention"
    assert not any("theta" in word for word in words)


def test_a_command_is_of_a_preset() -> None:
    with pytest.raises(UsageError, match="gone"):
        command(replace(FAST, name="gone"))
