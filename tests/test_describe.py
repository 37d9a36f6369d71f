"""The page of presets says what the presets are, and the page in docs/ is that page."""

from pathlib import Path

import pytest

from stawm.experiments.describe import describe, parameters
from stawm.experiments.presets import PRESETS, preset

PAGE = Path(__file__).parent.parent / "docs" / "presets.md"
MAKE = "python -c \"from stawm.experiments.describe import describe; print(describe(), end='')\" > docs/presets.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == describe(), f"make it again: {MAKE}"


def test_every_preset_has_a_row_and_a_section() -> None:
    page = describe()
    for name, experiment in PRESETS.items():
        [row] = [line for line in page.splitlines() if line.startswith(f"| [`{name}`]")]
        assert experiment.reach in row and experiment.paper in row and f"{parameters(experiment).learning:,}" in row
        section = page.split(f"## {name}\n")[1].split("\n## ")[0]
        assert all(f"- {deviation}\n" in section for deviation in experiment.deviations)


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
        assert (experiment.training.learns == "head") == bool(experiment.after)
        if experiment.after:
            assert preset(experiment.after).model.classes == 0
