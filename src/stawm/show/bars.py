"""Bars beside each other for things that have names and no order, drawn by matplotlib in the colours of the house."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from stawm.show.plot import ROW, SIZE, Line, hex_of
from stawm.show.sheet import INK, LINES

if TYPE_CHECKING:
    import matplotlib.figure

TOGETHER = 0.8
"""The share of the room of a name that its bars take."""


def bar_chart(title: str, across: str, names: Sequence[str], bars: Mapping[str, Line]) -> "matplotlib.figure.Figure":
    """A chart with a bar for each of `bars` at each name, from zero up; several seeds add one standard deviation.

    The places of a line count the names; a value that is not there (NaN) has no bar.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0], SIZE[1] + ROW * len(bars)))
    axes, width = figure.subplots(), TOGETHER / len(bars)
    for (place, (told, line)), colour in zip(enumerate(bars.items()), cycle(LINES), strict=False):
        middles = np.asarray(line.at, dtype=float) + (place - (len(bars) - 1) / 2) * width
        axes.bar(middles, line.means, 0.92 * width, color=hex_of(colour), label=told)
        if line.seeds > 1:
            axes.errorbar(middles, line.means, line.deviations, fmt="none", ecolor=hex_of(INK), elinewidth=1, capsize=3)
    axes.set_xticks(range(len(names)), list(names))
    axes.set_ylim(bottom=min(0.0, *(float(np.nanmin(line.means)) for line in bars.values()), 0.0))
    several = any(line.seeds > 1 for line in bars.values())
    axes.set_title(f"{title} (bars: ± one standard deviation)" if several else title)
    axes.set_xlabel(across)
    figure.legend(loc="outside lower left")
    return figure
