"""What a model answers about scenes that it no longer sees."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from PIL import Image
from torch import Tensor

from stawm.errors import UsageError
from stawm.model.heads.draw import Depiction
from stawm.model.heads.question import NOTHING, QuestionConfig, Told
from stawm.show.figure import FIGURES, Figure
from stawm.show.picture import outline_of, picture_of
from stawm.show.request import Request
from stawm.show.sheet import FAINT, HAIR, INK, RIGHT, WRONG, Point, Sheet, colour_of

EDGE, GAP, HEAD = 150, 16, 30
"""The longer edge of a scene, the room around it, and that for the titles, in pixels."""


@FIGURES.add("remembered")
class Remembered(Figure):
    """Scenes, what was redrawn from memory, and the answers to "what was at this place?"."""

    def draw(self, request: Request) -> list[Image.Image]:
        """A row for each scene."""
        told, config = request.answer("identify", Told), request.trained.experiment.model.heads["identify"]
        labels = request.batch.labels
        if labels is None or labels.dim() != 2 or not isinstance(config, QuestionConfig):
            raise UsageError(f"{request.figure} needs scenes; give --data scenes:GRID:ITEMS")
        drawn = request.episode.answers.get("draw")
        canvas = drawn.canvas if isinstance(drawn, Depiction) else None
        poses, classes = request.episode.poses, request.test.classes
        return [remembered(request.batch.images, poses, canvas, told.logits, labels, config, classes)]


def remembered(
    images: Float[Tensor, "batch channel height width"],
    poses: Float[Tensor, "batch glimpse 2 3"],
    canvas: Float[Tensor, "batch channel height width"] | None,
    logits: Float[Tensor, "batch cell classes"],
    labels: Int[Tensor, "batch cell"],
    config: QuestionConfig,
    classes: Sequence[str],
) -> Image.Image:
    """A sheet with a row for each scene: the scene with its glimpses, its redrawing, and the answer about each cell.

    The answer is green where it is right, red where it is wrong, with the truth behind it; nothing is asked of an empty
    cell.
    """
    height, width = images.shape[-2:]
    scale = EDGE / max(height, width)
    across, down = width * scale, height * scale
    titles = ["what it saw", *(["redrawn from memory"] if canvas is not None else []), "what was at this place?"]
    sheet = Sheet(GAP + len(titles) * (across + GAP), HEAD + len(images) * (down + GAP))
    for place, title in enumerate(titles):
        sheet.text((GAP + place * (across + GAP), 8), title, 13, FAINT)
    for row in range(len(images)):
        top = HEAD + row * (down + GAP)
        sheet.picture(picture_of(images[row]), GAP, top, across, down)
        for glimpse, pose in enumerate(poses[row]):
            corners = [(GAP + x * scale, top + y * scale) for x, y in outline_of(pose, height, width)]
            sheet.outline(corners, colour_of(glimpse, poses.shape[1]), 1.5)
        if canvas is not None:
            sheet.picture(picture_of(canvas[row]), GAP + across + GAP, top, across, down)
        left = GAP + (len(titles) - 1) * (across + GAP)
        _answers(
            sheet, (left, top), (across, down), logits[row].argmax(-1).tolist(), labels[row].tolist(), config, classes
        )
    return sheet.finished()


def _answers(
    sheet: Sheet,
    corner: Point,
    size: Point,
    answers: Sequence[int],
    truths: Sequence[int],
    config: QuestionConfig,
    classes: Sequence[str],
) -> None:
    """The grid of cells with the answer about each."""
    (left, top), across, down = corner, size[0] / config.columns, size[1] / config.rows
    for cell, (answer, truth) in enumerate(zip(answers, truths, strict=True)):
        row, column = divmod(cell, config.columns)
        x, y = left + column * across, top + row * down
        sheet.outline([(x, y), (x + across, y), (x + across, y + down), (x, y + down)], HAIR, 1)
        middle = (x + across / 2, y + down / 2)
        if truth == NOTHING:
            sheet.text(middle, "-", 16, FAINT, "mm")
            continue
        sheet.text(middle, classes[answer], 22, RIGHT if answer == truth else WRONG, "mm")
        if answer != truth:
            sheet.text((middle[0], middle[1] + 18), f"was {classes[truth]}", 11, INK, "mm")
