"""What the drawing head drew: each sketch, where it was pasted, and the canvas up to then."""

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.look.answer import outlines_of
from stawm.look.picture import pictures_of
from stawm.look.views import VIEWS, View
from stawm.model.heads.draw import DrawingHead, Drawn
from stawm.model.stawm import Episode
from stawm.vision.canvas import AdditionCanvas, Canvas
from stawm.vision.glimpse import inverse


@VIEWS.add("draw")
def drawn(head: DrawingHead, answer: Drawn, episode: Episode, classes: tuple[str, ...]) -> list[View]:
    """The sketch of each glimpse, its place, and all sketches up to it."""
    height, width = episode.images.shape[-2:]
    parts = (
        pictures_of(sketches_alone(answer.sketches, head.canvas)),
        outlines_of(inverse(answer.poses.double().cpu()), height, width),
        pictures_of(answer.painting.canvases),
    )
    names = ("sketch", "sketch_outline", "canvas")
    return [
        View(glimpses=[dict(zip(names, glimpse, strict=True)) for glimpse in zip(*row, strict=True)])
        for row in zip(*parts, strict=True)
    ]


def sketches_alone(
    sketches: Float[Tensor, "batch glimpse sketch_channel glimpse_height glimpse_width"], canvas: Canvas
) -> Float[Tensor, "batch glimpse channel glimpse_height glimpse_width"]:
    """Each sketch as a picture of its own: S(U), mid grey where it adds nothing, or colours times alpha over black.

    On an empty canvas, S(C_0 + U), one sketch of many that add up would hardly show.
    """
    if isinstance(canvas, AdditionCanvas):
        return torch.sigmoid(sketches)
    return torch.sigmoid(sketches[:, :, :-1]) * torch.sigmoid(sketches[:, :, -1:])
