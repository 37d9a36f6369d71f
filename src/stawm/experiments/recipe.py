"""An experiment beside its preset: what was set otherwise, where it departs from the paper, how to repeat it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stawm.experiments.experiment import Experiment
from stawm.experiments.facts import Goal, Published, held
from stawm.experiments.presets import PRESETS, preset


@dataclass(frozen=True)
class Change:
    """A setting that is not that of a preset; none where one of the two does not have it."""

    value: Any
    preset: Any


def changes(experiment: Experiment, base: Experiment) -> dict[str, Change]:
    """The settings of an experiment that are not those of `base`, by dotted name; the seed apart."""
    mine, other = experiment.settings, base.settings
    found = {name: Change(mine.get(name), other.get(name)) for name in (mine | other)}
    return {name: change for name, change in found.items() if change.value != change.preset}


def own_preset(experiment: Experiment) -> Experiment:
    """The preset of an experiment's name; itself, if it is not a preset's."""
    if experiment.name in PRESETS:
        return PRESETS[experiment.name]
    return experiment


def paper_experiment(experiment: Experiment) -> Experiment:
    """The paper's experiment of which this is a recipe or a small sibling; itself, if it is neither."""
    known = own_preset(experiment)
    return preset(known.of) if known.of else known


def nearest(experiment: Experiment) -> Experiment | None:
    """The preset with the fewest settings to change: its own, or one of the same experiment of the paper.

    A run that is called after a recipe was made with that one, however near another may be. None for an experiment that
    is not a preset's.
    """
    if experiment.name not in PRESETS:
        return None
    if PRESETS[experiment.name].of:
        return PRESETS[experiment.name]
    paper = paper_experiment(experiment)
    family = [known for known in PRESETS.values() if paper_experiment(known) == paper]
    same = [known for known in family if known.settings.keys() == experiment.settings.keys()]
    return min([PRESETS[experiment.name], *same], key=lambda known: len(changes(experiment, known)))


def aims(experiment: Experiment, base: Experiment) -> tuple[Published | None, Goal | None]:
    """What the paper reports and what we aim at, as `base` says; neither for other pictures than those of `base`."""
    return (base.published, base.goal) if base.data.name == experiment.data.name else (None, None)


def departures(experiment: Experiment) -> list[str]:
    """Where the preset of an experiment departs from the paper, a line each, as far as the experiment has left it so.

    A departure is dropped when one of its settings was changed (`told_changes` tells that); its other settings are
    then told with the paper's value instead of a reason.
    """
    base = nearest(experiment) or experiment
    changed, against = changes(experiment, base), changes(experiment, paper_experiment(base))
    kept = held(base.departures, changed)
    dropped = [name for one in base.departures if one not in kept for name in one.fields if name not in changed]

    def told(name: str) -> str:
        own = f"{name} {told_value(experiment.settings.get(name))}"
        return _beside(name, against[name], "paper") if name in against else own

    lines = [": ".join(filter(None, (", ".join(map(told, one.fields)), one.reason))) for one in kept]
    return lines + [told(name) for name in dropped if name in against]


def told_changes(changed: dict[str, Change]) -> list[str]:
    """A line for each setting that is not that of the preset."""
    return [_beside(name, change, "preset") for name, change in changed.items()]


def command(experiment: Experiment, run: str = "") -> str:
    """The command that trains this experiment, with the presets as they are now, into the folder `run`."""
    base = nearest(experiment) or preset(experiment.name)
    own = experiment.settings
    changed = flags({name: change.value for name, change in changes(experiment, base).items() if name in own})
    where = ["--run", run] if run else []
    return shlex.join(["stawm", "train", base.name, "--seed", str(experiment.seed), *where, *changed])


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Settings by dotted name as the words of a command line."""
    words: list[str] = []
    for name, value in settings.items():
        words += [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else [value])]
    return words


def _beside(name: str, change: Change, whose: str) -> str:
    return f"{name} {told_value(change.value)} ({whose}: {told_value(change.preset)})"


def told_value(value: Any) -> str:
    """The value of a setting as people write it."""
    if value is None or value == "" or value == ():
        return "none"
    if isinstance(value, tuple):
        return " ".join(map(told_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
