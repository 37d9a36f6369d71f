"""Numbers that a setting cannot take are refused in one line, before a run begins."""

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stawm.baselines.rival import RIVALS
from stawm.errors import UsageError
from stawm.experiments.check import check
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS
from stawm.memory.protocol import MEMORIES
from stawm.ranges import ANY, Range, leaves
from stawm.training.fit import fit
from tiny_model import heads
from tiny_run import digits, with_model

WHOLE = with_model(hidden=32, heads=heads(10, latent=2))
SETTINGS = [*leaves({part: getattr(WHOLE, part) for part in ("model", "data", "training")})]
RANGES = {name: wanted for name, _, wanted in SETTINGS if wanted is not None and wanted != ANY}


def changed(record: Any, path: str, value: Any) -> Any:
    """`record` with the setting at the dotted `path` set to `value`."""
    name, _, rest = path.partition(".")
    part = record[name] if isinstance(record, dict) else getattr(record, name)
    inside = changed(part, rest, value) if rest else value
    return record | {name: inside} if isinstance(record, dict) else replace(record, **{name: inside})


def test_every_number_has_a_range() -> None:
    """So a new setting, of a rule, of a head or of a rival too, cannot be forgotten."""
    of_rules = [leaf for rule in (*MEMORIES.values(), *RIVALS.values()) for leaf in leaves(rule.Config())]
    for name, value, wanted in (*SETTINGS, *of_rules):
        number = isinstance(value, int | float | tuple) and not isinstance(value, bool)
        assert number == (wanted is not None), name


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_lie_within(name: str) -> None:
    preset = PRESETS[name]
    source = "runs/some" if preset.after else ""
    check(replace(preset, training=replace(preset.training, start_from=source)))


@pytest.mark.parametrize("path", list(RANGES))
def test_what_lies_outside_is_refused_and_leaves_nothing_behind(path: str, tmp_path: Path) -> None:
    [value] = [value for name, value, _ in SETTINGS if name == path]
    beyond = RANGES[path].high + 1
    for number in (-1, int(beyond)) if isinstance(value, int | tuple) else (-1.0, beyond, math.nan):
        wrong = (*value[:-1], number) if isinstance(value, tuple) and value else (number,)
        experiment: Experiment = changed(WHOLE, path, wrong if isinstance(value, tuple) else number)
        with pytest.raises(UsageError, match=rf"^{path} is {number if isinstance(number, int) else f'{number:g}'};"):
            next(fit(experiment, tmp_path / "run", data=digits()))
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model.heads": {}}, "heads"),
        ({"model.kind": "vae", "model.heads": heads(10)}, "draws"),
        ({"training.learns": "nobody"}, "classify"),
        ({"training.learns": "draw"}, "draw"),
        ({"training.learns": "classify"}, "start-from"),
        ({"data.views": 3}, "data.views=3"),
        ({"model.heads": {"draw": heads(10)["classify"]}}, "DrawConfig"),
        ({"model.heads": {"dance": heads(10)["classify"]}}, "dance"),
        ({"model.context.filters": (1,) * 1000}, "filters"),
        ({"data.shift": 28}, "data.shift"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(change: dict[str, Any], told: str) -> None:
    experiment = WHOLE
    for path, value in change.items():
        experiment = changed(experiment, path, value)
    with pytest.raises(UsageError, match=told) as error:
        check(experiment)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.glimpses", "8"),
        ("model.glimpses", True),
        ("model.memory.size", 8.5),
        ("model.where", "nowhere"),
        ("model.context.strides", (2.5, 2)),
        ("training.epochs", None),
    ],
)
def test_settings_of_another_type_are_refused(path: str, value: Any) -> None:
    experiment = part = copy.deepcopy(WHOLE)
    *places, name = path.split(".")
    for place in places:
        part = getattr(part, place)
    object.__setattr__(part, name, value)  # The suite, unlike a user's script, has its types checked.
    with pytest.raises(UsageError, match=name) as error:
        check(experiment)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("wanted", "within", "outside", "said"),
    [
        (Range(), (0, 5), (-1e-9, math.inf, math.nan, 10**400, "5", True, None), "of at least 0"),
        (Range(open_low=True), (1e-9, 5), (0,), "above 0"),
        (Range(high=1), (0, 1), (1.1,), "from 0 up to 1"),
        (Range(high=1, open_high=True), (0, 0.999), (1,), "from 0 up to, but not including, 1"),
        (Range(1, 2, open_low=True), (2,), (1, 2.1), "above 1 up to 2"),
    ],
)
def test_ends_are_open_or_closed(wanted: Range, within: tuple[float, ...], outside: tuple[Any, ...], said: str) -> None:
    assert all(number in wanted for number in within)
    assert not any(number in wanted for number in outside)
    assert str(wanted) == said
