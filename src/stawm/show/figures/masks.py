"""What the masks of a drawing let through."""

from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.errors import UsageError
from stawm.model.heads.draw import Drawn
from stawm.show.figure import FIGURES, Figure
from stawm.show.grid import ACROSS, Cell, grid
from stawm.show.request import Request
from stawm.vision.masks import finest, offered


@FIGURES.add("masks")
class Masks(Figure):
    """Drawings, targets, and targets seen through a glimpse's mask (Bernoulli canvas)."""

    chooses = True

    def draw(self, request: Request) -> list[Image.Image]:
        """The mask of a glimpse, or (if none is asked for) the last, and the one of best quality."""
        drawn, targets = request.answer("draw", Drawn), request.batch.images
        return [masks(drawn, targets, request.place_of(-1), best=request.glimpse is None)]


def masks(
    drawn: Drawn, targets: Float[Tensor, "batch channel height width"], glimpse: int = -1, *, best: bool = False
) -> Image.Image:
    """A sheet of rows: drawings, targets, and targets seen through the mask of a glimpse (the last) and the best."""
    if drawn.painting.masks is None:
        raise UsageError("sketches that add up have no masks; give a run with model.heads.draw.canvas bernoulli")
    alpha = drawn.painting.masks[:, :, 0]
    name = "last mask" if glimpse in (-1, alpha.shape[1] - 1) else f"mask {glimpse + 1}"
    seen = {name: alpha[:, glimpse]} | ({"best mask": finest(targets, offered(alpha))[0]} if best else {})
    shown = [drawn.canvas, targets, *(mask[:, None] * targets for mask in seen.values())]
    rows = [[Cell(image) for image in images] for images in shown]
    return grid(rows, sides=["drawn", "target", *(f"{one} on target" for one in seen)], most=ACROSS)
