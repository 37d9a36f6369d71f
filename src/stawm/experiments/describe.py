"""The presets as a page for people: place in the paper, number to reach, size, departures."""

from dataclasses import dataclass

import torch

from stawm.experiments.build import build, learning_part
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS

INTRODUCTION = """\
# Presets

Each is an experiment of the paper, or a small sibling of one, and is trained with `stawm train NAME`. Parameters are \
those that learn; where others are frozen, these are named too. This page is made by \
`stawm.experiments.describe.describe()` and checked by the tests.
"""


@dataclass(frozen=True)
class Parameters:
    """How many numbers of a model learn, and how many are frozen."""

    learning: int
    frozen: int

    def __str__(self) -> str:
        """The counts as people write them."""
        return f"{self.learning:,}" + (f" (and {self.frozen:,} frozen)" if self.frozen else "")


def parameters(experiment: Experiment) -> Parameters:
    """The parameters of the experiment's model, counted without making room for them."""
    with torch.device("meta"):
        model = build(experiment.model)
        learning_part(model, experiment.training)
    counts = {True: 0, False: 0}
    for weight in model.parameters():
        counts[weight.requires_grad] += weight.numel()
    return Parameters(learning=counts[True], frozen=counts[False])


def describe() -> str:
    """The page of all presets, in Markdown: a table, then each with what it is and where it departs from the paper."""
    rows = ["| preset | in the paper | to reach | parameters |", "|---|---|---|---|"]
    for name, experiment in PRESETS.items():
        rows.append(f"| [`{name}`](#{name}) | {experiment.paper} | {experiment.reach} | {parameters(experiment)} |")
    sections = [_section(experiment) for experiment in PRESETS.values()]
    return "\n".join([INTRODUCTION, *rows, "", *sections])


def _section(experiment: Experiment) -> str:
    lines = [f"## {experiment.name}", "", experiment.about]
    if experiment.after:
        lines += ["", f"Starts from the weights of [`{experiment.after}`](#{experiment.after}): train that first, then"]
        lines += ["", f"    stawm train {experiment.name} --training.start_from runs/{experiment.after}-seed0"]
    if experiment.deviations:
        lines += ["", "Departures from the paper:", ""]
        lines += [f"- {deviation}" for deviation in experiment.deviations]
    return "\n".join([*lines, ""])
