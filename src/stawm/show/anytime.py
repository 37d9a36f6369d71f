"""How good the answer is after each glimpse, one line a model."""

from collections.abc import Mapping, Sequence

from PIL import Image

from stawm.errors import UsageError
from stawm.show.chart import HEIGHT, WIDTH, Axis, draw_axes, draw_legend, draw_line
from stawm.show.sheet import LINES, Sheet

TITLE = "error of the answer after each glimpse, % of test pictures"


def error_after_each(models: Mapping[str, Sequence[float]]) -> Image.Image:
    """A chart of `models` (name → shares of wrong answers after glimpse 1, 2, …) on a logarithmic scale.

    An error of zero sits on the scale's lower edge. The legend tells the first error and the last.
    """
    for name, errors in models.items():
        if not errors:
            raise UsageError(f"{name} does not answer after each glimpse; give a model that classifies from its memory")
    lines = {name: [100.0 * error for error in errors] for name, errors in models.items()}
    values = [value for line in lines.values() for value in line if value > 0]
    axis = Axis(min(values, default=0.1), max(values, default=1.0), max(map(len, lines.values())))
    sheet = Sheet(WIDTH, HEIGHT)
    draw_axes(sheet, axis, TITLE, "glimpse")
    for place, line in enumerate(lines.values()):
        points = [axis.place(number, value) for number, value in enumerate(line, 1)]
        colour = LINES[place % len(LINES)]
        draw_line(sheet, points, colour, 2.4)
        for point in points:
            sheet.disc(point, 3.5, colour)
    draw_legend(sheet, [(name, f"{line[0]:.2f} to {line[-1]:.2f} %") for name, line in lines.items()])
    return sheet.finished()
