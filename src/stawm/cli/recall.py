"""Every setting of a recall task as a flag of `stawm compare recall`, and its shorter names for what varies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Annotated

from tyro.conf import Fixed, Suppress, arg

from stawm.cli.options import Settings, parsed
from stawm.cli.overrides import values_of
from stawm.compare.grid import axes_of
from stawm.compare.plan import Axis
from stawm.compare.recall.settings import RecallConfig
from stawm.compare.recall.task import GRIDS, RULE, Recall, recall_task
from stawm.errors import UsageError
from stawm.memory.protocol import other_rule

SHORT = {"--rules": RULE, "--pairs": "pairs", "--sizes": "memory.size"}
"""Shorter names of --vary."""


@dataclass(frozen=True)
class RecallSettings(Settings):
    """Every setting of a recall task; each is a flag."""

    base: Annotated[Recall, Fixed, Suppress]
    """The task that they are the settings of."""
    given: Annotated[tuple[str, ...], Fixed, Suppress]
    """The settings that the command line names."""
    seed: int
    """Seed of everything random."""
    recall: Annotated[RecallConfig, arg(name="")]

    @property
    def task(self) -> Recall:
        """The task with these settings."""
        return replace(self.base, config=self.recall, number=self.seed)

    def axes(self, wanted: Sequence[Axis]) -> tuple[Axis, ...]:
        """What shall vary: what is wanted, and of the grid's own axes those that nothing is said about."""
        said = {*self.given, *(setting for axis in wanted for value in axis.values for setting in value.settings)}
        own = {name: values for name, values in GRIDS[self.base.preset].vary().items() if name not in said}
        return tuple(sorted((*wanted, *axes_of(own)), key=_place))


def recall_settings(task: Recall, arguments: Sequence[str]) -> RecallSettings:
    """The settings of a task, with the memory rule that `arguments` speak of."""
    rule = next(iter(values_of(arguments, f"--{RULE}")), task.config.memory.rule)
    config = replace(task.config, memory=other_rule(task.config.memory, rule))
    flags = [word.partition("=")[0] for word in arguments if word.startswith("--")]
    return RecallSettings(task, tuple(flag[2:].replace("-", "_") for flag in flags), task.seed, config)


def named_grid(name: str) -> Recall:
    """The base of the grid of recall tasks of that name."""
    if name not in GRIDS:
        near = get_close_matches(name, GRIDS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no grid {name!r} of recall tasks; {hint}known are {', '.join(GRIDS)}")
    return recall_task(name)


def with_flags(task: Recall, arguments: Sequence[str]) -> Recall:
    """The task with the settings that `arguments` name replaced; tyro tells what is wrong with them, and leaves."""
    return parsed(recall_settings(task, arguments), arguments, f"stawm compare {task.name}").task


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """The arguments with the shorter names of --vary in full."""
    words: list[str] = []
    waiting = ""
    for word in arguments:
        name, equals, values = word.partition("=")
        if waiting and word.startswith("--"):
            break
        if waiting:
            words += ["--vary", f"{SHORT[waiting]}={word}"]
            waiting = ""
        elif name in SHORT and equals:
            words += ["--vary", f"{SHORT[name]}={values}"]
        elif name in SHORT:
            waiting = name
        else:
            words.append(word)
    if waiting:
        raise UsageError(f"{waiting} names no values; give them with commas, as in --pairs 4,8")
    return words


def _place(axis: Axis) -> int:
    """Rules first, then pairs and sizes, then what else varies: the first axis is what is compared."""
    known = list(SHORT.values())
    return next((known.index(name) for name in (axis.name, *axis.values[0].settings) if name in known), len(known))
