"""What each sketch does alone."""

from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.model.heads.draw import Drawn
from stawm.show.figure import FIGURES, Figure
from stawm.show.grid import Cell, grid
from stawm.show.picture import pasted_outline_of
from stawm.show.request import Request
from stawm.show.sheet import colour_of
from stawm.vision.canvas import Painting

MOST = 6.0
"""A sketch that adds as much, before the sigmoid, brings an addition canvas of the paper from black to grey."""


@FIGURES.add("sketches")
class Sketches(Figure):
    """What each sketch alone adds, also where the canvas does not show it yet; grey is nothing."""

    def draw(self, request: Request) -> list[Image.Image]:
        """A row for each picture."""
        return [sketches(request.answer("draw", Drawn), request.batch.images)]


def shown(painting: Painting) -> Float[Tensor, "batch glimpse channel height width"]:
    """What each sketch does, about a grey of 0.5 where it does nothing.

    In the addition method white is +`MOST` before the sigmoid and black −`MOST`; a sketch of +3 on a canvas that begins
    at −6 shows here, and not on the canvas until another is added to it. In the Bernoulli method it is the sketch
    through its own mask.
    """
    if painting.masks is None:
        return (0.5 + painting.sketches / (2 * MOST)).clamp(0, 1)
    return 0.5 + painting.masks * (painting.sketches - 0.5)


def sketches(drawn: Drawn, targets: Float[Tensor, "batch channel height width"]) -> Image.Image:
    """A sheet with a row for each picture: what each of its sketches does, outlined, then drawing and target."""
    alone, count = shown(drawn.painting), drawn.poses.shape[1]
    rows = []
    for row, target in enumerate(targets):
        cells = []
        for sketch in range(count):
            corners = pasted_outline_of(drawn.poses[row, sketch], target.shape[-2], target.shape[-1])
            outlines = () if corners is None else ((corners, colour_of(sketch, count)),)
            cells.append(Cell(alone[row, sketch], outlines))
        rows.append([*cells, Cell(drawn.canvas[row]), Cell(target)])
    columns = [*(str(sketch + 1) for sketch in range(count)), "drawn", "target"]
    does = f"adds (white +{MOST:g}, black -{MOST:g})" if drawn.painting.masks is None else "paints"
    return grid(rows, title=f"what each sketch {does}; grey is nothing", columns=columns)
