"""Where the model looked, relative to the digit that it looked for: a heat map over all test pictures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from stawm.baselines.rival import Rival
from stawm.data.image_set import ImageSet, batch_of
from stawm.data.sets.cluttered import DIGIT, ClutteredSet
from stawm.errors import UsageError
from stawm.experiments.build import Model
from stawm.show.figure import FIGURES, Chart
from stawm.show.plot import hex_of
from stawm.show.request import Request
from stawm.show.sheet import INK, PAPER

if TYPE_CHECKING:
    import matplotlib.figure

BATCH = 250
BINS = 41
"""Squares of the map along each edge: odd, so that one is in the middle."""
INCHES = 1.9
"""The side of a map."""
ACROSS = 4
"""Maps in a row."""


@FIGURES.add("gaze")
class Gaze(Chart):
    """A heat map of where each glimpse was, relative to the digit, over the test set (mnist-cluttered)."""

    def plot(self, request: Request) -> "matplotlib.figure.Figure":
        """One map for each glimpse."""
        model, pictures = request.trained.model, request.test
        if isinstance(model, Rival) and not model.looks:
            name = request.trained.experiment.name
            raise UsageError(
                f"{request.figure} needs a model that takes glimpses, and {name} does not; give another run"
            )
        return heat_maps(gazes_about_digits(model, pictures), side=pictures.images.shape[-1])


@torch.no_grad()
def gazes_about_digits(model: Model, pictures: ImageSet) -> Float[Tensor, "count glimpse 2"]:
    """How far the centre of each glimpse was from the middle of the digit: pixels across and down."""
    if not isinstance(pictures, ClutteredSet) or len(pictures.corners) != len(pictures):
        raise UsageError(
            f"{pictures.name} does not say where its digits are; give a model, or --data, of mnist-cluttered or "
            "mnist-translated"
        )
    found = []
    height, width = pictures.images.shape[-2:]
    spans = torch.tensor([width - 1, height - 1])
    for indices in torch.arange(len(pictures)).split(BATCH):
        poses = model(batch_of(pictures, indices).images).poses
        centres = (poses[..., 2] + 1) / 2 * spans
        digits = pictures.corners[indices].flip(1) + (DIGIT - 1) / 2
        found.append(centres - digits[:, None])
    return torch.cat(found)


def heat_maps(gazes: Float[Tensor, "count glimpse 2"], side: int) -> "matplotlib.figure.Figure":
    """A map for each glimpse: the darker, the more often it was there; the square is the digit's 28 × 28 pixels."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    count = gazes.shape[1]
    columns = min(count, ACROSS)
    rows = -(-count // columns)
    figure = Figure(figsize=(INCHES * columns, INCHES * rows + 0.6))
    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).flatten()
    reach, colours = side / 2, LinearSegmentedColormap.from_list("gaze", [hex_of(PAPER), hex_of(INK)])
    for axes, (number, counts) in zip(grid, enumerate(histograms(gazes, reach), 1), strict=False):
        axes.imshow(np.sqrt(counts), cmap=colours, extent=(-reach, reach, reach, -reach), vmin=0)
        corner = (-DIGIT / 2, -DIGIT / 2)
        axes.add_patch(Rectangle(corner, DIGIT, DIGIT, fill=False, edgecolor="#de5a34", linewidth=1))
        inside = float((gazes[:, number - 1].abs() <= DIGIT / 2).all(-1).double().mean())
        axes.set_title(f"glimpse {number}: {inside:.0%} on the digit", fontsize=8)
        axes.set(xticks=[], yticks=[])
        axes.grid(visible=False)
    for axes in grid[count:]:
        axes.set_axis_off()
    figure.suptitle(
        "Centres of glimpses relative to the digit, in its 28 × 28 pixels or not", x=0.02, ha="left", fontsize=9.5
    )
    return figure


def histograms(gazes: Float[Tensor, "count glimpse 2"], reach: float) -> Sequence[Float[np.ndarray, "bins bins"]]:
    """For each glimpse the share of pictures in each square of the map, rows from top to bottom."""
    edges = np.linspace(-reach, reach, BINS + 1)
    maps = []
    for one in gazes.unbind(1):
        across, down = one.double().numpy().T
        counts, _, _ = np.histogram2d(down, across, bins=(edges, edges))
        maps.append(counts / len(one))
    return maps
