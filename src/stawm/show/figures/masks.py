"""What the masks of a drawing let through."""

from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.errors import UsageError
from stawm.model.heads.draw import Drawn
from stawm.show.figure import FIGURES, Figure
from stawm.show.grid import ACROSS, Cell, grid
from stawm.show.request import Request


@FIGURES.add("masks")
class Masks(Figure):
    """Drawings, targets, and targets seen through a glimpse's mask (Bernoulli canvas)."""

    def draw(self, request: Request) -> list[Image.Image]:
        """The last mask, if no glimpse is asked for."""
        return [masks(request.answer("draw", Drawn), request.batch.images, request.place_of(-1))]


def masks(drawn: Drawn, targets: Float[Tensor, "batch channel height width"], glimpse: int = -1) -> Image.Image:
    """A sheet of three rows: drawings, targets, and targets seen through the mask of a glimpse (the last)."""
    alpha = drawn.painting.masks
    if alpha is None:
        raise UsageError("sketches that add up have no masks; give a run with model.heads.draw.canvas bernoulli")
    seen = alpha[:, glimpse] * targets
    name = "last mask" if glimpse in (-1, alpha.shape[1] - 1) else f"mask {glimpse + 1}"
    rows = [[Cell(image) for image in images] for images in (drawn.canvas, targets, seen)]
    return grid(rows, sides=["drawn", "target", f"{name} on target"], most=ACROSS)
