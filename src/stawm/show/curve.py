"""How runs learnt: the error after each epoch, one line a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from stawm.errors import UsageError
from stawm.show.chart import HEIGHT, WIDTH, Axis, draw_axes, draw_legend, draw_line
from stawm.show.sheet import LINES, Sheet

TITLES = {"error": "error, %", "mse": "mean squared error"}
"""Scores that a curve can show, the first that all runs have."""

Records = Sequence[Mapping[str, Any]]


def learning_curve(runs: Mapping[str, Records]) -> Image.Image:
    """A chart of `runs` (name → records of metrics.jsonl): held-out error in full lines, training error in thin ones.

    The error is drawn on a logarithmic scale; an error of zero sits on its lower edge. Where not all runs have an error
    the mean squared error is drawn, and where not all have that either, the loss.
    """
    if not any(runs.values()):
        raise UsageError("there is no finished epoch to draw yet; train for one first")
    scored = [record["train"].keys() & record["held_out"]["scores"].keys() for part in runs.values() for record in part]
    measure = next((name for name in TITLES if all(name in names for names in scored)), "loss")
    factor = 100.0 if measure == "error" else 1.0
    lines = [
        (name, [(record["epoch"], factor * _held_out(record, measure)) for record in records],
         [(record["epoch"], factor * record["train"][measure]) for record in records])
        for name, records in runs.items()
        if records
    ]  # fmt: skip
    values = [value for _, held_out, train in lines for _, value in [*held_out, *train] if value > 0]
    axis = Axis(min(values, default=0.1), max(values, default=1.0), max(line[1][-1][0] for line in lines))
    sheet = Sheet(WIDTH, HEIGHT)
    title = f"{TITLES.get(measure, 'loss')} (full: held-out pictures; thin: training)"
    draw_axes(sheet, axis, title, "epoch")
    for place, (_, held_out, train) in enumerate(lines):
        colour = LINES[place % len(LINES)]
        pale = tuple(round(0.55 * 255 + 0.45 * part) for part in colour)
        draw_line(sheet, [axis.place(*point) for point in train], (pale[0], pale[1], pale[2]), 1.2)
        draw_line(sheet, [axis.place(*point) for point in held_out], colour, 2.4)
        end = axis.place(*held_out[-1])
        sheet.disc(end, 3.5, colour)
    ends = [(name, held_out[-1][1]) for name, held_out, _ in lines]
    draw_legend(sheet, [(name, f"{end:.2f} %" if measure == "error" else f"{end:.4g}") for name, end in ends])
    return sheet.finished()


def _held_out(record: Mapping[str, Any], measure: str) -> float:
    held_out = record["held_out"]
    return held_out["scores"][measure] if measure in TITLES else sum(held_out["terms"].values())
