"""Numbers that a setting cannot take are refused in one line, before a run begins."""

import math
from dataclasses import fields, is_dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS
from stawm.experiments.ranges import RANGES, Range, check_ranges
from stawm.training.fit import fit
from tiny_run import TINY, digits

CHECKED_ELSEWHERE = {
    "data.views": "check_start",
    "data.hold_out": "splits_of",
    "training.epochs": "fit",
    "training.batch_size": "fit",
}


def changed(record: Any, path: str, value: float) -> Any:
    """`record` with the setting at the dotted `path` set to `value`."""
    name, _, rest = path.partition(".")
    return replace(record, **{name: changed(getattr(record, name), rest, value) if rest else value})


def numbers(record: Any, above: str = "") -> set[str]:
    """The dotted paths of all settings of a record that are numbers."""
    found: set[str] = set()
    for part in fields(record):
        value, path = getattr(record, part.name), f"{above}{part.name}"
        if is_dataclass(value):
            found |= numbers(value, f"{path}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.add(path)
    return found


def test_every_number_of_data_training_and_objective_is_checked_somewhere() -> None:
    parts = ("data.", "training.", "objective.")
    asked = {path for path in numbers(TINY) if path.startswith(parts)}
    checked = {path for path in RANGES if path.startswith(parts)}
    assert asked == checked | CHECKED_ELSEWHERE.keys()
    assert not checked & CHECKED_ELSEWHERE.keys()


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_lie_within(name: str) -> None:
    check_ranges(PRESETS[name])


@pytest.mark.parametrize("path", list(RANGES))
def test_what_lies_outside_is_refused_and_leaves_nothing_behind(path: str, tmp_path: Path) -> None:
    whole = isinstance(attrgetter(path)(TINY), int)
    for number in (-1,) if whole else (-1.0, RANGES[path].high + 1, math.nan):
        experiment: Experiment = changed(TINY, path, number)
        with pytest.raises(UsageError, match=rf"^{path} is {number:g}; give a number (of|above|from) "):
            next(fit(experiment, tmp_path / "run", data=digits()))
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("wanted", "within", "outside", "said"),
    [
        (Range(), (0, 5), (-1e-9, math.inf), "of at least 0"),
        (Range(open_low=True), (1e-9, 5), (0,), "above 0"),
        (Range(high=1), (0, 1), (1.1,), "from 0 up to 1"),
        (Range(high=1, open_high=True), (0, 0.999), (1,), "from 0 up to, but not including, 1"),
        (Range(1, 2, open_low=True), (2,), (1, 2.1), "above 1 up to 2"),
    ],
)
def test_ends_are_open_or_closed(
    wanted: Range, within: tuple[float, ...], outside: tuple[float, ...], said: str
) -> None:
    assert all(number in wanted for number in within)
    assert not any(number in wanted for number in outside)
    assert str(wanted) == said
