"""Error against arithmetic: what an answer costs, of models that may be quite different."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from stawm.baselines.rival import Stepwise
from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import Experiment
from stawm.ledger.entries import read_entry
from stawm.measure.evaluate import evaluate
from stawm.measure.flops import flops_of
from stawm.model.heads.head import known_scores
from stawm.model.stawm import Stawm
from stawm.show.figure import FIGURES, Chart
from stawm.show.plot import ROW, SIZE, hex_of, titled
from stawm.show.request import Request
from stawm.show.sheet import LINES

if TYPE_CHECKING:
    import matplotlib.figure

GIGA = 1e9
MARKERS = "osD^vP"
"""A marker for each data set."""


@dataclass(frozen=True)
class Costs:
    """The errors of a model on `data`, and what each took: after every glimpse, or once if it answers once."""

    name: str
    data: str
    gflop: tuple[float, ...]
    errors: tuple[float, ...]


@FIGURES.add("cost")
class Cost(Chart):
    """Error against the arithmetic of one look (GFLOP), of runs or entries of the ledger (results/NAME.json)."""

    runs = None

    def plot(self, request: Request) -> "matplotlib.figure.Figure":
        """A line over its glimpses for a model that answers after each, a dot for any other."""
        given = zip(request.names, request.runs, strict=True)
        return error_against_cost([_costs(name, run, request) for name, run in given])


def error_against_cost(models: list[Costs]) -> "matplotlib.figure.Figure":
    """A chart with a line or a dot for each model, both scales by their logarithms.

    A data set has its own marker, and in each the colours begin anew.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    score = known_scores()["error"]
    figure = Figure(figsize=(SIZE[0], SIZE[1] + ROW * len(models)))
    axes = figure.subplots()
    sets = list(dict.fromkeys(model.data for model in models))
    for place, model in enumerate(models):
        marker = MARKERS[sets.index(model.data) % len(MARKERS)]
        colour = LINES[sum(other.data == model.data for other in models[:place]) % len(LINES)]
        told = f"{model.name}: {score.told(model.errors[-1])} for {1000 * model.gflop[-1]:.3g} MFLOP"
        values = [score.factor * error for error in model.errors]
        axes.plot(model.gflop, values, color=hex_of(colour), lw=1.8, marker=marker, label=told)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_title(f"{titled(score)} of test pictures against the arithmetic of one look")
    axes.set_xlabel("GFLOP of one picture (products and convolutions); a mark after each glimpse")
    figure.legend(loc="outside lower left")
    return figure


def _costs(name: str, run: str, request: Request) -> Costs:
    """What a run, or an entry of the ledger, found, and the arithmetic of a model of its settings."""
    if run.endswith(".json"):
        entry = read_entry(Path(run))
        error, after = entry.measured.scores.get("error"), entry.measured.error_after_glimpse
        experiment = entry.experiment
    else:
        trained, pictures = request.open(run)
        found, experiment = evaluate(trained.model, pictures), trained.experiment
        error, after = found["scores"].get("error"), found["error_after_glimpse"]
    if error is None:
        raise UsageError(f"{name} does not classify, so it has no error to draw; leave it out")
    return Costs(name, experiment.data.name, *_points(experiment, error, list(after)))


def _points(experiment: Experiment, error: float, after: list[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """GFLOP and error after each glimpse; of a model that answers once, or whose error was told once, at the end."""
    with torch.random.fork_rng():
        model = build(experiment.model)
    shape = experiment.model.image.shape
    if not isinstance(model, Stawm | Stepwise) or len(after) < 2:
        return (flops_of(model, shape) / GIGA,), (error,)
    counts = range(1, len(after) + 1)
    return tuple(flops_of(model, shape, count) / GIGA for count in counts), tuple(after)
