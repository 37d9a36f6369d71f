"""The plan of a grid: what varies, over which seeds, and every cell with its settings; one JSON in the folder."""

import itertools
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stawm.compare.recall.task import Recall
from stawm.compare.task import Task
from stawm.compare.training import Training
from stawm.errors import CheckpointError, StawmError, UsageError
from stawm.files import placed, read_json, write_json
from stawm.store.checkpoint import first_difference

PLAN, CELLS, LOGS = "compare.json", "cells", "logs"
FORMAT = 1
MOST_CELLS = 10_000
KINDS: dict[str, type[Task]] = {kind.kind: kind for kind in (Training, Recall)}


@dataclass(frozen=True)
class Value:
    """One value of an axis: settings that vary together, and what they are called."""

    label: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Axis:
    """What varies along one side of a grid."""

    name: str
    values: tuple[Value, ...]

    def told(self) -> str:
        """The axis as `--vary` takes it."""
        alone = all(list(value.settings) == [self.name] for value in self.values)
        if alone and all(value.label == plain(value.settings[self.name]) for value in self.values):
            return f"{self.name}={','.join(value.label for value in self.values)}"
        bundles = [" ".join(f"{k}={plain(v)}" for k, v in value.settings.items()) for value in self.values]
        labelled = [f"{value.label}: {bundle}" for value, bundle in zip(self.values, bundles, strict=True)]
        return f"{self.name}: {' | '.join(labelled)}"


@dataclass(frozen=True)
class Cell:
    """One cell: where it lies in the grid, what is run, and how large its model is."""

    name: str
    values: dict[str, str]
    """The label along each axis."""
    task: Task
    parameters: int


@dataclass(frozen=True)
class Plan:
    """A whole grid. `base` is what all cells are made from."""

    base: Task
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    matched: str
    """The setting by which the parameters of cells were made equal; none if they were not."""
    cells: tuple[Cell, ...]

    @property
    def kind(self) -> str:
        """What its cells are."""
        return self.base.kind

    def command(self, out: str = "") -> str:
        """The command that makes this grid, with the presets as they are now."""
        parts = ["stawm", "compare", *self.base.arguments()]
        for axis in self.axes:
            parts += ["--vary", axis.told()]
        parts += ["--seeds", ",".join(map(str, self.seeds))]
        if self.matched:
            parts += [
                "--match-parameters",
                *(["--match", self.matched] if self.matched != self.base.matched_by else []),
            ]
        return shlex.join([*parts, *(["--out", out] if out else [])])

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "base": self.base.to_dict(),
            "axes": [asdict(axis) for axis in self.axes],
            "seeds": list(self.seeds),
            "matched": self.matched,
            "cells": [{**vars(cell), "task": cell.task.to_dict()} for cell in self.cells],
        }


def crossed(axes: Sequence[Axis]) -> Iterator[tuple[Value, ...]]:
    """Every combination of values, the last axis moving fastest."""
    return itertools.product(*(axis.values for axis in axes))


def named(axes: Sequence[Axis], values: Sequence[Value], seed: int) -> str:
    """The name of a cell, which is also that of its folder: hebb-rosenblatt-size64-seed0."""
    parts = []
    for axis, value in zip(axes, values, strict=True):
        word = re.sub(r"[^\w.-]+", "-", value.label).strip("-.") or "none"
        parts.append(f"{axis.name.rpartition('.')[2]}{word}" if word[0].isdigit() else word)
    return "-".join([*parts, f"seed{seed}"])


def check_axes(axes: Sequence[Axis], seeds: Sequence[int]) -> None:
    """Refuse a grid that has no cells, too many, or two of one name."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise UsageError(f"the seeds are {', '.join(map(str, seeds)) or 'none'}; give at least one, each once")
    names = [axis.name for axis in axes]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{twice[0]} varies twice; name it once, with all values")
    for axis in axes:
        labels = [value.label for value in axis.values]
        if not labels or len(set(labels)) < len(labels):
            raise UsageError(f"{axis.name} has the values {', '.join(labels) or 'none'}; give at least one, each once")
    count = len(seeds)
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_CELLS:
        raise UsageError(
            f"this grid has {count:,} cells; give fewer values or seeds, so that there are at most {MOST_CELLS:,}"
        )
    cells = [named(axes, values, seed) for values in crossed(axes) for seed in seeds]
    if twice := [name for name in cells if cells.count(name) > 1]:
        raise UsageError(f"two cells would be called {twice[0]}; give their values labels that differ")


def write_plan(folder: Path, plan: Plan) -> Plan:
    """The plan of the grid in `folder` from now on: the one given, which may be larger than the one that is there.

    Cells that are there already must be the same, and none may be missing, so what was computed stays valid.
    """
    check_grown(folder, plan)
    write_json(folder / PLAN, plan.to_dict())
    return plan


def holds_plan(folder: Path) -> bool:
    """Whether a grid was begun in this folder."""
    return (folder / PLAN).exists()


def read_plan(folder: Path) -> Plan:
    """The plan of the grid in a folder; one that is missing, changed or of another version is a `CheckpointError`."""
    path = placed(folder) / PLAN
    if not path.exists():
        raise CheckpointError(f"there is no grid in {folder} (no {PLAN}); `stawm compare PRESET --vary` begins one")
    try:
        values = read_json(path)
        if values["format"] != FORMAT:
            raise ValueError(f"it has format {values['format']}, this stawm reads {FORMAT}")
        kind = KINDS[values["kind"]]
        axes = [Axis(one["name"], tuple(Value(**value) for value in one["values"])) for one in values["axes"]]
        cells = [
            Cell(one["name"], one["values"], kind.from_dict(one["task"]), one["parameters"]) for one in values["cells"]
        ]
        base = kind.from_dict(values["base"])
        return Plan(base, tuple(axes), tuple(values["seeds"]), values["matched"], tuple(cells))
    except (OSError, KeyError, TypeError, ValueError, StawmError) as failure:
        raise CheckpointError(f"{path} cannot be read ({failure}); begin the grid again in another folder") from failure


def check_grown(folder: Path, plan: Plan) -> None:
    """Refuse a plan that is not the one in the folder, if there is one, or more than that."""
    if not (placed(folder) / PLAN).exists():
        return
    before, new = read_plan(folder), {cell.name: cell for cell in plan.cells}
    if plan.kind != before.kind or plan.base.name != before.base.name:
        raise CheckpointError(
            f"{folder} holds a grid of {before.base.name}, not of {plan.base.name}; choose another --out"
        )
    for cell in before.cells:
        if cell.name not in new:
            raise CheckpointError(
                f"the grid in {folder} also has the cell {cell.name}; a grid may only grow, so give all that it had, "
                f"go on with it as it is (stawm compare --out {folder}), or choose another --out"
            )
        difference = first_difference(_bare(new[cell.name].task), _bare(cell.task))
        if difference:
            name, asked, begun = difference
            raise CheckpointError(
                f"the cell {cell.name} in {folder} was begun with {name} = {begun!r}, not {asked!r}; go on with it as "
                f"it was (stawm compare --out {folder}), or choose another --out"
            )


def _bare(task: Task) -> dict[str, Any]:
    """What makes the cell, by way of JSON: tuples are lists there."""
    return json.loads(json.dumps({"seed": task.seed, **task.settings}))


def plain(value: Any) -> str:
    """The value of a setting as a word of a label."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
