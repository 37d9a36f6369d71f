"""What a model drew: the stages of a drawing, drawings beside their targets, masks, and drawings of mistakes."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.errors import UsageError
from stawm.model.heads.draw import Drawn
from stawm.model.heads.head import Answered, Batch
from stawm.show.grid import ACROSS, Cell, grid
from stawm.show.picture import pasted_outline_of
from stawm.show.sheet import INK, WRONG, colour_of


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


def masks(drawn: Drawn, targets: Float[Tensor, "batch channel height width"], glimpse: int = -1) -> Image.Image:
    """A sheet of three rows: drawings, targets, and targets seen through the mask of a glimpse (the last)."""
    alpha = drawn.painting.masks
    if alpha is None:
        raise UsageError("sketches that add up have no masks; give a run with model.heads.draw.canvas bernoulli")
    seen = alpha[:, glimpse] * targets
    name = "last mask" if glimpse in (-1, alpha.shape[1] - 1) else f"mask {glimpse + 1}"
    rows = [[Cell(image) for image in images] for images in (drawn.canvas, targets, seen)]
    return grid(rows, sides=["drawn", "target", f"{name} on target"], most=ACROSS)


def misclassified(answered: Answered, batch: Batch, classes: Sequence[str] = ()) -> Image.Image:
    """A sheet of the pictures of `batch` that were misclassified (the paper's Figure 7).

    Above, what the model drew over the class that it predicts; below, its input over the true class. A model that does
    not draw has one row: the input over what it predicts and, in brackets, what it is.
    """
    believer, artist = answered.answers.get("classify"), answered.answers.get("draw")
    if believer is None or batch.labels is None:
        raise UsageError("nothing can be misclassified without a classifier and labels; give a run that classifies")
    predicted = believer.logits[:, -1].argmax(-1)
    wrong = torch.nonzero(predicted != batch.labels).flatten().tolist()
    if not wrong:
        raise UsageError(f"none of these {len(predicted)} pictures is misclassified; show more of them")
    names = list(classes) or [str(place) for place in range(believer.logits.shape[-1])]
    believed = [names[int(predicted[row])] for row in wrong]
    truths = [names[int(batch.labels[row])] for row in wrong]
    if artist is None:
        both = zip(wrong, believed, truths, strict=True)
        cells = [Cell(batch.images[row], (), f"{belief} (is {truth})", WRONG) for row, belief, truth in both]
        return grid([cells], title="misclassified", sides=["seen, and predicted"], most=ACROSS)
    canvas = artist.canvas
    drew = [Cell(canvas[row], (), belief, WRONG) for row, belief in zip(wrong, believed, strict=True)]
    saw = [Cell(batch.images[row], (), truth, INK) for row, truth in zip(wrong, truths, strict=True)]
    sides = ["drawn, and predicted", "seen, and true"]
    return grid([drew, saw], title="misclassified", sides=sides, most=ACROSS)


def _stage(drawn: Drawn, row: int, sketch: int) -> Cell:
    canvas, count = drawn.painting.canvases[row, sketch], drawn.poses.shape[1]
    corners = pasted_outline_of(drawn.poses[row, sketch], canvas.shape[-2], canvas.shape[-1])
    return Cell(canvas, () if corners is None else ((corners, colour_of(sketch, count)),))
