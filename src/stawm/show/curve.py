"""How runs learnt: the error after each epoch, one line a run."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from stawm.errors import UsageError
from stawm.show.sheet import FAINT, HAIR, INK, LINES, Point, Sheet, shortened, text_width

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 48, 52

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
    axis = _Axis(min(values, default=0.1), max(values, default=1.0), max(line[1][-1][0] for line in lines))
    sheet = Sheet(WIDTH, HEIGHT)
    _draw_axes(sheet, axis, TITLES.get(measure, "loss"))
    for place, (_, held_out, train) in enumerate(lines):
        colour = LINES[place % len(LINES)]
        pale = tuple(round(0.55 * 255 + 0.45 * part) for part in colour)
        _draw_line(sheet, [axis.place(*point) for point in train], (pale[0], pale[1], pale[2]), 1.2)
        _draw_line(sheet, [axis.place(*point) for point in held_out], colour, 2.4)
        end = axis.place(*held_out[-1])
        sheet.disc(end, 3.5, colour)
    _draw_legend(sheet, [(name, held_out[-1][1]) for name, held_out, _ in lines], measure)
    return sheet.finished()


def _held_out(record: Mapping[str, Any], measure: str) -> float:
    held_out = record["held_out"]
    return held_out["scores"][measure] if measure in TITLES else sum(held_out["terms"].values())


class _Axis:
    """Epochs across, a logarithmic scale up; the scale ends at whole ticks."""

    def __init__(self, low: float, high: float, epochs: int) -> None:
        ticks = [factor * 10.0**power for power in range(-8, 9) for factor in (1, 2, 5)]
        self.low = max(tick for tick in ticks if tick <= low)
        self.high = min(tick for tick in ticks if tick >= high and tick > self.low)
        self.ticks = [tick for tick in ticks if self.low <= tick <= self.high]
        self.epochs = epochs

    def place(self, epoch: float, value: float) -> Point:
        """Where a value stands on the sheet."""
        across = 0.5 if self.epochs == 1 else (epoch - 1) / (self.epochs - 1)
        up = (math.log(max(value, self.low)) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def epoch_ticks(self) -> list[int]:
        """About eight whole epochs at a round distance, the first and the last among them."""
        step = next(step for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 10**6) if self.epochs / step <= 8)
        inner = [epoch for epoch in range(step, self.epochs, step) if self.epochs - epoch > step / 2 and epoch > 1]
        return sorted({1, *inner, self.epochs})


def _draw_axes(sheet: Sheet, axis: _Axis, title: str) -> None:
    for tick in axis.ticks:
        _, y = axis.place(1, tick)
        sheet.line([(LEFT, y), (WIDTH - RIGHT, y)], HAIR)
        sheet.text((LEFT - 8, y), f"{tick:g}", 12, FAINT, "rm")
    for epoch in axis.epoch_ticks():
        x, _ = axis.place(epoch, axis.low)
        sheet.line([(x, HEIGHT - BOTTOM), (x, HEIGHT - BOTTOM + 4)], FAINT)
        sheet.text((x, HEIGHT - BOTTOM + 8), str(epoch), 12, FAINT, "ma")
    sheet.line([(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM)], FAINT)
    sheet.text(((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8), "epoch", 12, INK, "ms")
    sheet.text((14, 16), f"{title} (full: held-out pictures; thin: training)", 12, INK)


def _draw_line(sheet: Sheet, points: list[Point], colour: tuple[int, int, int], width: float) -> None:
    if len(points) > 1:
        sheet.line(points, colour, width)
    else:
        sheet.disc(points[0], width, colour)


def _draw_legend(sheet: Sheet, ends: list[tuple[str, float]], measure: str) -> None:
    for place, (name, value) in enumerate(ends):
        told = (
            f"{shortened(name, 12, 260)}: {value:.2f} %"
            if measure == "error"
            else f"{shortened(name, 12, 260)}: {value:.4g}"
        )
        right, y = WIDTH - RIGHT - 8, TOP + 14 + 19 * place
        sheet.text((right, y), told, 12, INK, "rm")
        left = right - text_width(told, 12) - 30
        sheet.line([(left, y), (left + 22, y)], LINES[place % len(LINES)], 2.4)
