"""Charts of lines in the colours of the house, drawn by matplotlib; runs that differ in the seed only are one line."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from PIL import Image

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment
from stawm.files import whole_file
from stawm.model.heads.head import Score
from stawm.show.sheet import FAINT, HAIR, INK, LINES, Colour

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

VECTOR: dict[str, dict[str, Any]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
"""Endings of files that hold lines instead of pixels, and what keeps the day out of them, so that files repeat."""
SIZE = (7.6, 4.0)
"""Inches, without the legend."""
ROW = 0.22
"""Inches of the legend for each line."""
STYLES = ("-", "--", ":")
"""After the last colour the first comes again, in the next style."""
ALL_TICKS = 12
"""Up to so many numbers across are all written."""
WIDE = 4
"""Named numbers of which the last is so many times the first are set across by their logarithms."""


def hex_of(colour: Colour) -> str:
    """A colour as matplotlib and web pages write it: #rrggbb."""
    return "#" + "".join(f"{part:02x}" for part in colour)


HOUSE: dict[Any, dict[str, Any]] = {
    "font": {"family": "DejaVu Sans", "size": 9},  # comes with matplotlib, so charts look the same on every machine
    "text": {"color": hex_of(INK)},
    "axes": {
        **{"labelcolor": hex_of(INK), "edgecolor": hex_of(FAINT), "axisbelow": True, "grid": True, "grid.axis": "y"},
        **{"titlesize": 9.5, "titlelocation": "left", "titlepad": 10},
    },
    "axes.spines": {"left": False, "right": False, "top": False},
    "grid": {"color": hex_of(HAIR), "linewidth": 0.8},
    "xtick": {"color": hex_of(FAINT)},
    "ytick": {"color": hex_of(FAINT), "major.size": 0, "minor.size": 0},
    "legend": {"fontsize": 8.5, "frameon": False, "handlelength": 3.0},
    "lines": {"solid_capstyle": "round", "markersize": 4.5},
    "figure": {"dpi": 150},
    "figure.constrained_layout": {"use": True, "h_pad": 0.08, "w_pad": 0.1},
    "pdf": {"fonttype": 42},
    "svg": {"hashsalt": "stawm"},
}


@dataclass(frozen=True)
class Run:
    """What a chart knows of a run: its experiment, where it has one, and what was found on which pictures."""

    name: str
    experiment: Experiment | None = None
    split: str = "test"
    found: Sequence[Any] = ()
    """After each epoch or glimpse."""


@dataclass(frozen=True)
class Line:
    """Means over seeds at numbers (epochs, glimpses, sizes), and one standard deviation; 0 where there is one seed."""

    at: Sequence[int | float]
    means: Float[np.ndarray, " points"]
    deviations: Float[np.ndarray, " points"]
    seeds: int

    def scaled(self, factor: float) -> "Line":
        """The same in other units."""
        return replace(self, means=factor * self.means, deviations=factor * self.deviations)

    def end(self, score: Score) -> str:
        """The last value as people read it."""
        return score.told(float(self.means[-1]), float(self.deviations[-1]) if self.seeds > 1 else None)


def over_seeds(runs: Sequence[Mapping[int, float]]) -> Line:
    """The line of runs that differ only in their seed (number → value), as far as all of them go."""
    at = sorted(set(runs[0]).intersection(*runs[1:]))
    values = np.array([[run[number] for number in at] for run in runs], dtype=float)
    deviations = values.std(0, ddof=1) if len(runs) > 1 else np.zeros(len(at))
    return Line(at, values.mean(0), deviations, len(runs))


def by_recipe(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each line by its name, which tells the seeds where there are several.

    Two runs of the same recipe and the same seed are there to be compared: they stand in two lines.
    """
    groups: dict[tuple[str, int], list[Run]] = {}
    seen: list[tuple[str, int | None]] = []
    for run in runs:
        one = (run.name, None) if run.experiment is None else (_recipe(run.experiment, run.split), run.experiment.seed)
        groups.setdefault((one[0], seen.count(one)), []).append(run)
        seen.append(one)
    return {_shared_name(group): group for group in groups.values()}


@contextmanager
def house_style() -> Iterator[None]:
    """Within it, all that matplotlib draws and writes looks like the house, whatever the user's own style is."""
    try:
        import matplotlib
    except ImportError as failure:
        raise UsageError("charts need matplotlib: pip install 'stawm[figures]'") from failure
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for group, settings in HOUSE.items():
            matplotlib.rc(group, **settings)
        yield


def line_chart(
    title: str,
    across: str,
    lines: Mapping[str, Line],
    beside: Mapping[str, Line] | None = None,
    *,
    notes: tuple[str, ...] = (),
    dots: bool = False,
    ticks: Sequence[float] = (),
) -> "matplotlib.figure.Figure":
    """A chart of `lines`, by what the legend says of each, over the numbers of `across`.

    A line over several seeds has a band of one standard deviation, or with `dots` a dot with bars at each number. A
    thin line `beside` has the name of the line that it belongs to. Zero sits on the scale's lower edge. Numbers across
    count from 1, unless `ticks` names them.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0], SIZE[1] + ROW * len(lines)))
    axes, thin_lines = figure.subplots(), beside or {}
    low = _scale(axes, list(lines.values()), list(thin_lines.values()))
    looks = zip(cycle(LINES), (style for style in cycle(STYLES) for _ in LINES), strict=False)
    for (told, line), (colour, style) in zip(lines.items(), looks, strict=False):
        if told in thin_lines:
            thin, look = thin_lines[told], {"alpha": 0.45, "linewidth": 0.9, "marker": ".", "markevery": [-1]}
            axes.plot(thin.at, np.maximum(thin.means, low), style, color=hex_of(colour), **look)
        _draw(axes, line, told, hex_of(colour), style, low, dots)
    _across(axes, round(max(line.at[-1] for line in lines.values())), ticks)
    if any(line.seeds > 1 for line in lines.values()):
        notes += (f"{'bars' if dots else 'bands'}: ± one standard deviation",)
    axes.set_title(f"{title} ({'; '.join(notes)})" if notes else title)
    axes.set_xlabel(across)
    figure.legend(loc="outside lower left")
    return figure


def _across(axes: "matplotlib.axes.Axes", last: int, ticks: Sequence[float]) -> None:
    """Set the numbers across: from 1 to `last`, or those of `ticks`, by their logarithms if they span much."""
    from matplotlib.ticker import NullLocator

    if ticks:
        if min(ticks) > 0 and max(ticks) >= WIDE * min(ticks):
            axes.set_xscale("log", base=2)
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
        return
    axes.set_xlim(*((0.5, 1.5) if last == 1 else (1 - (last - 1) / 50, last + (last - 1) / 50)))
    if last <= ALL_TICKS:
        axes.set_xticks(range(1, last + 1))


def titled(score: Score) -> str:
    """What stands above a chart of this score: its title and its unit."""
    return f"{score.title}, {score.unit}" if score.unit else score.title


def rendered(figure: "matplotlib.figure.Figure") -> Image.Image:
    """The chart as pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def save_vector(figure: "matplotlib.figure.Figure", path: Path) -> None:
    """Write the chart as the lines and letters that it is made of."""
    suffix = path.suffix.lower()
    with whole_file(path) as partial:
        figure.savefig(partial, format=suffix.removeprefix("."), metadata=VECTOR[suffix])


def _shared_name(group: Sequence[Run]) -> str:
    if len(group) == 1:
        return group[0].name
    seeds = {run.name: run.experiment.seed for run in group if run.experiment is not None}
    stems = {name.removesuffix(f"-seed{seed}") for name, seed in seeds.items()}
    shared = stems.pop() if len(stems) == 1 else " and ".join(seeds)
    return f"{shared}, seeds {', '.join(map(str, seeds.values()))}"


def _recipe(experiment: Experiment, split: str) -> str:
    """All settings but the seed, which also stands in the name of a run that this one started from."""
    values = experiment.to_dict()
    told = json.dumps([split, *(values[part] for part in ("name", "model", "data", "training"))], sort_keys=True)
    return told.replace(f"-seed{experiment.seed}", "-seed")


def _draw(axes: "matplotlib.axes.Axes", line: Line, told: str, colour: str, style: str, low: float, dots: bool) -> None:
    dots = dots or len(line.at) == 1
    means, lower = np.maximum(line.means, low), np.maximum(line.means - line.deviations, low)
    upper = np.maximum(line.means + line.deviations, low)
    axes.plot(line.at, means, style, color=colour, lw=1.8, label=told, marker="o", markevery=None if dots else [-1])
    if line.seeds > 1 and dots:
        reach = np.stack([means - lower, upper - means])
        axes.errorbar(line.at, means, reach, fmt="none", ecolor=colour, elinewidth=1.1, capsize=3, alpha=0.7)
    elif line.seeds > 1:
        axes.fill_between(line.at, lower, upper, color=colour, alpha=0.16, linewidth=0)


def _scale(axes: "matplotlib.axes.Axes", lines: list[Line], beside: list[Line]) -> float:
    """Set the scale up, which ends at round numbers, and return its lower end; negative numbers make it linear."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    thin = [line.means for line in beside]
    means = np.concatenate([*(line.means for line in lines), *thin])
    if means.min() < 0:
        return -math.inf
    # A deviation may reach below zero: it counts down to half of its mean.
    lower = np.concatenate([*(np.maximum(line.means - line.deviations, line.means / 2) for line in lines), *thin])
    upper = np.concatenate([*(line.means + line.deviations for line in lines), *thin])
    low = _round(float(lower[lower > 0].min()) if lower.any() else 0.1, up=False)
    axes.set_yscale("log")
    axes.set_ylim(low, _round(max(1.01 * low, float(upper.max())), up=True))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return low


def _round(value: float, *, up: bool) -> float:
    """The next of 1, 2, 5, 10, … at or below (above) a value, rounding of floats apart."""
    ticks = [factor * 10.0**power for power in range(-9, 10) for factor in (1, 2, 5)]
    if up:
        return min((tick for tick in ticks if tick >= value * (1 - 1e-9)), default=ticks[-1])
    return max((tick for tick in ticks if tick <= value * (1 + 1e-9)), default=ticks[0])
