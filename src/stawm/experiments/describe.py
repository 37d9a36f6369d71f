"""The presets as people read them: place in the paper, numbers, size, departures; a page, or lines in a terminal."""

import json
from dataclasses import dataclass

import torch

from stawm.experiments.build import build, learning_part
from stawm.experiments.check import idle
from stawm.experiments.experiment import Experiment
from stawm.experiments.facts import Goal, Published
from stawm.experiments.presets import PRESETS, preset
from stawm.experiments.recipe import departures, told_value

INTRODUCTION = """\
# Presets

Each is an experiment of the paper, a recipe of our own for one, or a small sibling of one. `stawm train NAME` trains \
it. Parameters are those that learn; frozen ones are counted apart. `stawm table --docs docs` writes this page.
"""
NOT_IN_IT = "not in it"


@dataclass(frozen=True)
class Parameters:
    """How many numbers of a model learn, and how many are frozen."""

    learning: int
    frozen: int

    def __str__(self) -> str:
        return f"{self.learning:,}" + (f" (and {self.frozen:,} frozen)" if self.frozen else "")


def parameters(experiment: Experiment) -> Parameters:
    """The parameters of the experiment's model, counted without making room for them."""
    with torch.device("meta"):
        model = build(experiment.model)
        learning_part(model, experiment.training)
    learning = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    return Parameters(learning, frozen=sum(weight.numel() for weight in model.parameters()) - learning)


def describe() -> str:
    """The page of all presets, in Markdown: a table, then each with what it is and where it departs from the paper."""
    rows = ["| preset | in the paper | the paper's number | our goal | parameters |", "|---|---|---|---|---|"]
    for name, one in PRESETS.items():
        numbers = f"{_number(one.published)} | {_number(one.goal)}"
        rows.append(f"| [`{name}`](#{name}) | {_where(one)} | {numbers} | {parameters(one)} |")
    sections = [_section(experiment) for experiment in PRESETS.values()]
    return "\n".join([INTRODUCTION, *rows, "", *sections])


def presets_text(name: str | None = None, *, as_json: bool = False) -> str:
    """All presets, a few lines each, or every setting of the one of that name and where it departs from the paper."""
    if as_json:
        return json.dumps(preset(name).to_dict() if name else [known.to_dict() for known in PRESETS.values()])
    return _in_full(preset(name)) if name else "\n\n".join("\n    ".join(_summary(one)) for one in PRESETS.values())


def _summary(known: Experiment) -> list[str]:
    lines = [known.name, known.about, f"paper: {_where(known)}"]
    lines += [f"value: {_number(known.published)}"] if known.published else []
    return [*lines, f"goal:  {_number(known.goal)}"] if known.goal else lines


def _in_full(chosen: Experiment) -> str:
    facts = [*_summary(chosen)[1:], *([f"of:    {chosen.of}"] if chosen.of else [])]
    without = {f"model.{name}" for name in idle(chosen.model)}
    named = {name: value for name, value in chosen.settings.items() if ".".join(name.split(".")[:2]) not in without}
    settings = [f"{name:40}{told_value(value)}" for name, value in named.items()]
    lines = [f"  - {departure}" for departure in departures(chosen)] or ["  none"]
    return "\n".join([chosen.name, *facts, "", *settings, "", "departures from the paper:", *lines])


def _section(experiment: Experiment) -> str:
    lines = [f"## {experiment.name}", "", experiment.about]
    if experiment.of:
        lines += ["", f"Of the paper's [`{experiment.of}`](#{experiment.of})."]
    if experiment.after:
        lines += ["", f"Starts from the weights of [`{experiment.after}`](#{experiment.after}): train that first, then"]
        lines += ["", f"    stawm train {experiment.name} --training.start-from runs/{experiment.after}-seed0"]
    told = departures(experiment)
    lines += ["", "Departures from the paper:", "", *(f"- {departure}" for departure in told)] if told else []
    return "\n".join([*lines, ""])


def _where(experiment: Experiment) -> str:
    return experiment.published.place if experiment.published else NOT_IN_IT


def _number(fact: Published | Goal | None) -> str:
    return fact.told() if fact else "–"
