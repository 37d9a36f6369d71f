"""The stages of a drawing."""

from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.model.heads.draw import Drawn
from stawm.show.figure import FIGURES, Figure
from stawm.show.grid import ACROSS, Cell, grid
from stawm.show.picture import pasted_outline_of
from stawm.show.request import Request
from stawm.show.sheet import colour_of


@FIGURES.add("stages")
class Stages(Figure):
    """The canvas after each sketch, the newly pasted glimpse outlined."""

    film = True

    def draw(self, request: Request) -> list[Image.Image]:
        """A row for each picture; of a film, a frame for each sketch."""
        drawn, targets = request.answer("draw", Drawn), request.batch.images
        return stages_frames(drawn, targets) if request.film else [stages(drawn, targets)]


def stages(drawn: Drawn, targets: Float[Tensor, "batch channel height width"]) -> Image.Image:
    """A sheet with a row for each picture: its canvas after each sketch, the new sketch outlined, then the target."""
    count = drawn.painting.canvases.shape[1]
    rows = [
        [*(_stage(drawn, row, sketch) for sketch in range(count)), Cell(target)] for row, target in enumerate(targets)
    ]
    columns = [*(str(sketch + 1) for sketch in range(count)), "target"]
    return grid(rows, title="the canvas after each sketch, and the newly pasted glimpse", columns=columns)


def stages_frames(drawn: Drawn, targets: Float[Tensor, "batch channel height width"]) -> list[Image.Image]:
    """One frame for each sketch: all canvases after it, the new sketch outlined, over their targets."""
    count = drawn.painting.canvases.shape[1]
    return [
        grid(
            [[_stage(drawn, row, sketch) for row in range(len(targets))], [Cell(target) for target in targets]],
            title=f"sketch {sketch + 1} of {count}",
            sides=["drawn", "target"],
            most=ACROSS,
        )
        for sketch in range(count)
    ]


def _stage(drawn: Drawn, row: int, sketch: int) -> Cell:
    canvas, count = drawn.painting.canvases[row, sketch], drawn.poses.shape[1]
    corners = pasted_outline_of(drawn.poses[row, sketch], canvas.shape[-2], canvas.shape[-1])
    return Cell(canvas, () if corners is None else ((corners, colour_of(sketch, count)),))
