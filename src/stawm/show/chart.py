"""A chart of lines: whole numbers across, a logarithmic scale up."""

import math

from stawm.show.sheet import FAINT, HAIR, INK, LINES, Colour, Point, Sheet, shortened, text_width

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 48, 52
STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 10**6)


class Axis:
    """Places of values on the sheet: `count` whole numbers across from 1; the scale up ends at whole ticks."""

    def __init__(self, low: float, high: float, count: int) -> None:
        ticks = [factor * 10.0**power for power in range(-8, 9) for factor in (1, 2, 5)]
        self.low = max(tick for tick in ticks if tick <= low)
        self.high = min(tick for tick in ticks if tick >= high and tick > self.low)
        self.ticks = [tick for tick in ticks if self.low <= tick <= self.high]
        self.count = count

    def place(self, number: float, value: float) -> Point:
        """Where a value stands on the sheet."""
        across = 0.5 if self.count == 1 else (number - 1) / (self.count - 1)
        up = (math.log(max(value, self.low)) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def number_ticks(self) -> list[int]:
        """About eight whole numbers at a round distance, the first and the last among them."""
        step = next(step for step in STEPS if self.count / step <= 8)
        inner = [number for number in range(step, self.count, step) if self.count - number > step / 2 and number > 1]
        return sorted({1, *inner, self.count})


def draw_axes(sheet: Sheet, axis: Axis, title: str, across: str) -> None:
    """Draw grid, ticks and titles."""
    for tick in axis.ticks:
        _, y = axis.place(1, tick)
        sheet.line([(LEFT, y), (WIDTH - RIGHT, y)], HAIR)
        sheet.text((LEFT - 8, y), f"{tick:g}", 12, FAINT, "rm")
    for number in axis.number_ticks():
        x, _ = axis.place(number, axis.low)
        sheet.line([(x, HEIGHT - BOTTOM), (x, HEIGHT - BOTTOM + 4)], FAINT)
        sheet.text((x, HEIGHT - BOTTOM + 8), str(number), 12, FAINT, "ma")
    sheet.line([(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM)], FAINT)
    sheet.text(((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8), across, 12, INK, "ms")
    sheet.text((14, 16), title, 12, INK)


def draw_line(sheet: Sheet, points: list[Point], colour: Colour, width: float) -> None:
    """Draw a line through `points`; a single one is a dot."""
    if len(points) > 1:
        sheet.line(points, colour, width)
    else:
        sheet.disc(points[0], width, colour)


def draw_legend(sheet: Sheet, entries: list[tuple[str, str]]) -> None:
    """Write each name with what is told of it, in the colour of its line, at the upper right."""
    for place, (name, what) in enumerate(entries):
        told = f"{shortened(name, 12, 260)}: {what}"
        right, y = WIDTH - RIGHT - 8, TOP + 14 + 19 * place
        sheet.text((right, y), told, 12, INK, "rm")
        left = right - text_width(told, 12) - 30
        sheet.line([(left, y), (left + 22, y)], LINES[place % len(LINES)], 2.4)
