"""The page of presets and the lines in a terminal say what the presets are."""

import json

import pytest

from stawm.errors import UsageError
from stawm.experiments.describe import Parameters, describe, parameters, presets_text
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS, preset
from stawm.experiments.recipe import departures


def test_every_preset_has_a_row_and_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: dict[str, Parameters] = {}

    def count(experiment: Experiment) -> Parameters:
        return counted.setdefault(experiment.name, parameters(experiment))

    monkeypatch.setattr("stawm.experiments.describe.parameters", count)
    page = describe()
    for name, experiment in PRESETS.items():
        [row] = [line for line in page.splitlines() if line.startswith(f"| [`{name}`]")]
        facts = [fact.told() for fact in (experiment.published, experiment.goal) if fact]
        assert all(told in row for told in (*facts, f"{counted[name].learning:,}"))
        section = page.split(f"## {name}\n")[1].split("\n## ")[0]
        assert all(f"- {departure}\n" in section for departure in departures(experiment))


def test_presets_are_listed_and_shown_in_full() -> None:
    told = presets_text()
    for known in PRESETS.values():
        facts = [fact.told() for fact in (known.published, known.goal) if fact]
        assert all(part in told for part in (known.name, known.about, *facts))
    full = presets_text("mnist-classify-8")
    assert "50 100 150 190 195" in full
    assert all(line in full for line in departures(preset("mnist-classify-8")))
    with pytest.raises(UsageError, match="nothing"):
        presets_text("nothing")


def test_scripts_get_the_presets_as_json() -> None:
    assert Experiment.from_dict(json.loads(presets_text("mnist-5k-draw", as_json=True))) == preset("mnist-5k-draw")
    assert [known["name"] for known in json.loads(presets_text(as_json=True))] == list(PRESETS)


@pytest.mark.parametrize(
    ("name", "learning"),
    [
        # Query layer and classifier of the appendix, from the context's features, and three rates.
        ("mnist-self-supervised", (1024 + 1) * 256 + (256 + 1) * 10 + 3),
        ("cifar10-self-supervised", (32 * 4 * 4 + 1) * 256 + (256 + 1) * 10 + 3),
        ("cifar10-vae-self-supervised", (32 + 1) * 10),
    ],
)
def test_what_learns_is_counted_apart_from_what_is_frozen(name: str, learning: int) -> None:
    counted = parameters(preset(name))
    assert counted.learning == learning
    assert counted.frozen == parameters(preset(preset(name).after)).learning
    assert str(counted) == f"{learning:,} (and {counted.frozen:,} frozen)"


def test_nothing_is_frozen_elsewhere() -> None:
    assert all(parameters(one).frozen == 0 for one in PRESETS.values() if one.training.learns == "all")


def test_what_a_preset_starts_from_is_a_preset_that_does_not_learn_from_labels() -> None:
    for experiment in PRESETS.values():
        assert (experiment.training.learns == "classify") == bool(experiment.after)
        if experiment.after:
            assert preset(experiment.after).model.classes == 0
