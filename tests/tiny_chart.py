"""Records of a run as charts read them, and ways to see what a chart shows."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D


def record(epoch: int, error: float, trained: float | None = None) -> dict[str, Any]:
    held_out = {"split": "test", "scores": {"error": error}, "terms": {"cross_entropy": 3 * error}}
    return {
        "epoch": epoch,
        "train": {"error": error if trained is None else trained, "loss": 2.0},
        "held_out": held_out,
    }


def full(chart: Figure) -> list[Line2D]:
    """The lines that the legend names."""
    return [line for line in chart.axes[0].lines if not str(line.get_label()).startswith("_")]


def heights(line: Line2D) -> list[float]:
    return np.asarray(line.get_ydata()).tolist()


def places(line: Line2D) -> list[int]:
    return np.asarray(line.get_xdata()).tolist()


def reach(chart: Figure) -> tuple[float, float]:
    """The lowest and the highest place of the first band or bars."""
    corners = np.concatenate([np.asarray(path.vertices) for path in chart.axes[0].collections[0].get_paths()])
    return corners[:, 1].min(), corners[:, 1].max()


def title(chart: Figure) -> str:
    return chart.axes[0].get_title() + chart.axes[0].get_title(loc="left")
