"""Drawings beside what they are of."""

from collections.abc import Mapping
from pathlib import Path

from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.show.figure import FIGURES, Figure
from stawm.show.grid import ACROSS, Cell, grid
from stawm.show.request import Request


@FIGURES.add("reconstructions")
class Reconstructions(Figure):
    """Drawings over their targets; with a second run, its drawings above them."""

    runs = 2

    def draw(self, request: Request) -> list[Image.Image]:
        """A row for each model; the baseline, which is named second, stands on top."""
        drawings: dict[str, Tensor] = {}
        for run, trained in zip(request.runs, request.models, strict=True):
            request.need("draw", trained)
            name = trained.experiment.name
            label = Path(run).resolve().name if name in drawings else name
            drawings = {label: request.ask(request.batch, trained).answers["draw"].canvas} | drawings
        return [reconstructions(drawings, request.batch.images)]


def reconstructions(
    drawings: Mapping[str, Float[Tensor, "batch channel height width"]],
    targets: Float[Tensor, "batch channel height width"],
) -> Image.Image:
    """A sheet with a row of finished drawings for each name, in order, and the targets below them.

    Beside each row stands its mean squared error over the pictures shown, per pixel and channel.
    """
    errors = {name: float((canvas - targets).square().mean()) for name, canvas in drawings.items()}
    rows = [[Cell(image) for image in images] for images in (*drawings.values(), targets)]
    sides = [*(f"{name} (mse {error:.4f})" for name, error in errors.items()), "target"]
    return grid(rows, sides=sides, most=ACROSS)
