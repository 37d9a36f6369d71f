"""From what shall vary to a plan: every cell with its settings, checked, and if wanted with as many parameters."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stawm.compare.matching import matched_to
from stawm.compare.plan import Axis, Cell, Plan, Value, check_axes, crossed, named, plain
from stawm.compare.task import Task
from stawm.errors import UsageError

Change = Callable[[Task, Mapping[str, Any]], Task]
"""How the settings of a cell are put into its task; a command line has words where Python has values."""


def plan_grid(
    base: Task,
    vary: Mapping[str, Sequence[Any] | Mapping[str, Mapping[str, Any]]] | Sequence[Axis],
    seeds: Sequence[int] = (0,),
    *,
    match: str = "",
    change: Change | None = None,
) -> Plan:
    """The plan of all cells: `base` with every combination of what varies, over all seeds.

    `vary` maps a setting to its values, or any name to labelled bundles of settings that vary together:
    `{"model.memory.size": [64, 128], "rule": {"hebb": {"model.memory.rule": "hebb-rosenblatt"}, "delta": {…}}}`. With
    `match`, that setting is chosen for each cell so that it has as many parameters as the first along the first axis.
    """
    axes = axes_of(vary) if isinstance(vary, Mapping) else tuple(vary)
    check_axes(axes, seeds)
    put = change or (lambda task, settings: task.changed(settings))
    cells: list[Cell] = []
    wanted: dict[tuple[str, ...], int] = {}
    for values in crossed(axes):
        task = _cell_task(base, axes, values, put)
        others = tuple(value.label for value in values[1:])
        if match:
            told = ", ".join(value.label for value in values) or base.name
            task = matched_to(task, match, wanted[others], told) if others in wanted else task
        task.check()
        count = task.parameters()
        wanted.setdefault(others, count)
        labels = {axis.name: value.label for axis, value in zip(axes, values, strict=True)}
        cells += [Cell(named(axes, values, seed), labels, task.changed({}, seed), count) for seed in seeds]
    return Plan(base, axes, tuple(seeds), match, tuple(cells))


def axes_of(vary: Mapping[str, Sequence[Any] | Mapping[str, Mapping[str, Any]]]) -> tuple[Axis, ...]:
    """The axes of what Python says shall vary."""
    axes = []
    for name, values in vary.items():
        if isinstance(values, Mapping):
            axes.append(Axis(name, tuple(Value(label, dict(bundle)) for label, bundle in values.items())))
        else:
            axes.append(Axis(name, tuple(Value(plain(value), {name: value}) for value in values)))
    return tuple(axes)


def _cell_task(base: Task, axes: Sequence[Axis], values: Sequence[Value], put: Change) -> Task:
    settings: dict[str, Any] = {}
    for axis, value in zip(axes, values, strict=True):
        if twice := settings.keys() & value.settings.keys():
            raise UsageError(f"{twice.pop()} is set by {axis.name} and by another axis; let it vary in one of them")
        settings |= value.settings
    return put(base, settings) if settings else base
