"""What each latent number of a glimpse stands for: the drawing, redrawn as one number after the other is changed."""

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.model.heads.draw import DrawingHead, Drawn
from stawm.model.stawm import Stawm
from stawm.show.figure import FIGURES, Figure
from stawm.show.grid import Cell, grid
from stawm.show.picture import pasted_outline_of
from stawm.show.request import Request
from stawm.show.sheet import colour_of

REACH = 3.0
STEPS = 7


@FIGURES.add("traversal")
class Traversal(Figure):
    """The drawing, redrawn as each latent number of one glimpse is changed."""

    chooses = True

    def draw(self, request: Request) -> list[Image.Image]:
        """The first picture; the first glimpse, if none is asked for."""
        drawn, model, glimpse = request.answer("draw", Drawn), request.trained.model, request.place_of(0)
        assert isinstance(model, Stawm)
        head = model.head("draw")
        assert isinstance(head, DrawingHead)
        return [traversal(traversed(head, drawn, glimpse), drawn, request.batch.images[0], glimpse)]


@torch.no_grad()
def traversed(
    head: DrawingHead, drawn: Drawn, glimpse: int, *, row: int = 0, reach: float = REACH, steps: int = STEPS
) -> Float[Tensor, "latent steps channel height width"]:
    """Picture `row` redrawn with one latent number of `glimpse` moved from −`reach` to `reach` about its mean.

    All other numbers of all glimpses stay at their means, so with an odd number of steps the middle one is the drawing
    itself. A move of 1 is a standard deviation of the prior.
    """
    mean = drawn.mean[row]
    count, size = mean.shape
    moves = torch.linspace(-reach, reach, steps, device=mean.device, dtype=mean.dtype)
    latent = mean.expand(size, steps, count, size).clone()
    for number in range(size):
        latent[number, :, glimpse, number] += moves
    sketches = head.sketches(latent.flatten(0, 1))
    poses = drawn.poses[row].expand(size * steps, count, 2, 3)
    height, width = drawn.canvas.shape[-2:]
    painting = head.canvas.paint(sketches, poses, height, width, sample=False)
    return painting.canvas.unflatten(0, (size, steps))


def traversal(
    canvases: Float[Tensor, "latent steps channel height width"],
    drawn: Drawn,
    target: Float[Tensor, "channel height width"],
    glimpse: int,
) -> Image.Image:
    """A sheet of target and drawing, the varied glimpse outlined, over a row of redrawings for each latent number."""
    size, steps = canvases.shape[:2]
    height, width = target.shape[-2:]
    corners = pasted_outline_of(drawn.poses[0, glimpse], height, width)
    outlines = () if corners is None else ((corners, colour_of(glimpse, drawn.poses.shape[1])),)
    moves = [f"{move:+g}" if move else "0" for move in torch.linspace(-REACH, REACH, steps).tolist()]
    first = [Cell(target, (), "target"), Cell(drawn.canvas[0], outlines, f"glimpse {glimpse + 1}")]
    varied = [[Cell(canvas) for canvas in row] for row in canvases[:-1]]
    varied.append([Cell(canvas, (), move) for canvas, move in zip(canvases[-1], moves, strict=True)])
    title = f"the {size} latent numbers of glimpse {glimpse + 1}, each moved about its mean"
    return grid([first, *varied], title=title, sides=["", *(f"z{number + 1}" for number in range(size))])
