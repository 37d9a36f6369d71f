"""A comparison: a score against one thing that varied, a line (or bars) for each combination of the others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stawm.compare.summary import comparison_of
from stawm.errors import UsageError
from stawm.experiments.facts import score_of
from stawm.ledger.comparison import Comparison, Row, read_comparison
from stawm.ledger.table import Mean
from stawm.model.heads.head import Score
from stawm.show.bars import bar_chart
from stawm.show.figure import FIGURES, Chart
from stawm.show.plot import Line, line_chart, titled
from stawm.show.request import Request

if TYPE_CHECKING:
    import matplotlib.figure

PLACES = {"_after_glimpse": "glimpse", "_by_age": "age, 1 is the last that was written"}
"""How the names of lists end, and what their places count."""


@FIGURES.add("compare")
class Compare(Chart):
    """A grid of `stawm compare` (its folder, or results/compare/NAME.json): --score against --x, mean ± deviation."""

    def plot(self, request: Request) -> "matplotlib.figure.Figure":
        """A score, or a list of scores against its places."""
        run = Path(request.runs[0])
        comparison = read_comparison(run) if run.suffix == ".json" else comparison_of(run)
        return compared(comparison, request.x, request.score)


def compared(comparison: Comparison, x: str = "", score: str = "") -> "matplotlib.figure.Figure":
    """A chart of a comparison as far as it was run.

    `x` is the name of a side of the grid, else the first whose values are numbers, else the first. `score` is that of
    a score, else the first; that of a list of scores is drawn against its places instead.
    """
    rows = [row for row in comparison.rows if row.seeds]
    if not rows:
        raise UsageError(f"no cell of {comparison.name} is finished yet, so there is nothing to draw; run it first")
    scores = list(dict.fromkeys(name for row in rows for name in row.scores))
    lists = list(dict.fromkeys(name for row in rows for name in row.lists))
    wanted = score or scores[0]
    if wanted in lists:
        return _over_places(comparison, rows, wanted)
    if wanted not in scores:
        raise UsageError(f"{comparison.name} has no score {wanted!r}; choose one of {', '.join([*scores, *lists])}")
    return _over_side(comparison, [row for row in rows if wanted in row.scores], wanted, _side(comparison, x))


def _side(comparison: Comparison, x: str) -> str:
    sides = {side.name: side.labels for side in comparison.sides}
    if not sides:
        raise UsageError(f"nothing varies in {comparison.name} but the seed; draw a list of scores with --score")
    if x and x not in sides:
        near = [name for name in sides if name.rpartition(".")[2] == x]
        if len(near) != 1:
            raise UsageError(f"{comparison.name} does not vary {x!r}; choose one of {', '.join(sides)}")
        return near[0]
    return x or next((name for name, labels in sides.items() if _numbers(labels)), next(iter(sides)))


def _over_side(comparison: Comparison, rows: Sequence[Row], wanted: str, x: str) -> "matplotlib.figure.Figure":
    how, labels = score_of(wanted), next(side.labels for side in comparison.sides if side.name == x)
    numbers = _numbers(labels)
    groups: dict[str, dict[str, Row]] = {}
    for row in rows:
        groups.setdefault(_others(row.values, x) or comparison.preset, {})[row.values[x]] = row
    title = f"{titled(how)}: {comparison.preset}"
    if not numbers:
        shown = [label for label in labels if any(label in group for group in groups.values())]
        bars = {
            name: _line(range(len(shown)), [group.get(label) for label in shown], wanted, how)
            for name, group in groups.items()
        }
        return bar_chart(title, x, shown, bars)
    places = dict(zip(labels, numbers, strict=True))
    lines: dict[str, Line] = {}
    for name, group in groups.items():
        inside = sorted(group, key=places.__getitem__)
        lines[name] = _line([places[label] for label in inside], [group[label] for label in inside], wanted, how)
    return line_chart(title, x, lines, ticks=sorted(numbers), dots=True)


def _over_places(comparison: Comparison, rows: Sequence[Row], wanted: str) -> "matplotlib.figure.Figure":
    ending = next((ending for ending in PLACES if wanted.endswith(ending)), "")
    how = score_of(wanted.removesuffix(ending))
    lines = {
        _others(row.values) or comparison.preset: _of_means(
            range(1, len(row.lists[wanted]) + 1), row.lists[wanted], len(row.seeds), how
        )
        for row in rows
        if row.lists.get(wanted)
    }
    return line_chart(f"{titled(how)}: {comparison.preset}", PLACES.get(ending, "place"), lines, dots=True)


def _line(at: Sequence[int | float], rows: Sequence[Row | None], wanted: str, how: Score) -> Line:
    means = [row.scores[wanted] if row else Mean(float("nan"), None) for row in rows]
    return _of_means(at, means, max(len(row.seeds) for row in rows if row), how)


def _of_means(at: Sequence[int | float], means: Sequence[Mean], seeds: int, how: Score) -> Line:
    centres = np.array([one.mean for one in means], dtype=float)
    spread = np.array([one.deviation or 0.0 for one in means], dtype=float)
    return Line(list(at), centres, spread, seeds).scaled(how.factor)


def _others(values: Mapping[str, str], but: str = "") -> str:
    """The labels along all sides but one; a number with the name of what it is."""
    rest = {name: label for name, label in values.items() if name != but}
    return ", ".join(
        f"{name.rpartition('.')[2]} {label}" if _numbers([label]) else label for name, label in rest.items()
    )


def _numbers(labels: Sequence[str]) -> list[float]:
    """The labels as numbers; none if one of them is a word."""
    try:
        return [float(label) for label in labels]
    except ValueError:
        return []
