"""What the model took for something else."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.errors import UsageError
from stawm.model.heads.head import Answered, Batch
from stawm.show.figure import FIGURES, Figure
from stawm.show.grid import ACROSS, Cell, grid
from stawm.show.request import Request
from stawm.show.sheet import INK, WRONG, Colour

AT_ONCE = 250


@FIGURES.add("misclassified")
class Misclassified(Figure):
    """What the model drew and predicted, over what it was shown and what that is."""

    def draw(self, request: Request) -> list[Image.Image]:
        """A column for each mistake."""
        request.need("classify")
        batch = request.pick(_mistakes(request))
        return [misclassified(request.ask(batch), batch, request.test.classes)]


def misclassified(answered: Answered, batch: Batch, classes: Sequence[str] = ()) -> Image.Image:
    """A sheet of the pictures of `batch` that were misclassified (the paper's Figure 7).

    Above, what the model drew over the class that it predicts; below, its input over the true class. A model that does
    not draw has one row: the input over what it predicts and, in brackets, what it is.
    """
    believer, artist = answered.answers["classify"], answered.answers.get("draw")
    if batch.labels is None:
        raise UsageError("nothing can be misclassified where there are no labels; give pictures in class folders")
    predicted = believer.logits[:, -1].argmax(-1)
    wrong = torch.nonzero(predicted != batch.labels).flatten()
    if not len(wrong):
        raise UsageError(f"none of these {len(predicted)} pictures is misclassified; show more of them")
    names = list(classes) or [str(place) for place in range(believer.logits.shape[-1])]
    believed, truths = ([names[place] for place in of[wrong].tolist()] for of in (predicted, batch.labels))
    if artist is None:
        both = [f"{belief} (is {truth})" for belief, truth in zip(believed, truths, strict=True)]
        rows, sides = [_row(batch.images[wrong], both, WRONG)], ["seen, and predicted"]
    else:
        rows = [_row(artist.canvas[wrong], believed, WRONG), _row(batch.images[wrong], truths, INK)]
        sides = ["drawn, and predicted", "seen, and true"]
    return grid(rows, title="misclassified", sides=sides, most=ACROSS)


def _mistakes(request: Request) -> list[int]:
    """The places of the first misclassified pictures in a fixed shuffled order, so that they are a sample."""
    found: list[int] = []
    count = len(request.test)
    for places in torch.randperm(count, generator=torch.Generator().manual_seed(0)).split(AT_ONCE):
        batch = request.pick(places)
        believed = request.ask(batch).answers["classify"]
        found += places[believed.logits[:, -1].argmax(-1) != batch.labels].tolist()
        if len(found) >= request.pictures:
            break
    if not found:
        raise UsageError(f"none of the {count:,} test pictures of {request.test.name} is misclassified")
    return found[: request.pictures]


def _row(images: Float[Tensor, "batch channel height width"], captions: Sequence[str], colour: Colour) -> list[Cell]:
    return [Cell(image, (), caption, colour) for image, caption in zip(images, captions, strict=True)]
