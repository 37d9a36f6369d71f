"""Where the model looked: each image with its glimpses drawn over it, and the glimpses beside it."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from PIL import Image
from torch import Tensor

from stawm.baselines.rival import Looked as LookedAt
from stawm.model.stawm import Episode
from stawm.show.figure import FIGURES, Figure
from stawm.show.picture import outline_of, picture_of
from stawm.show.request import Request
from stawm.show.sheet import FAINT, HAIR, INK, PAPER, RIGHT, WRONG, Point, Sheet, colour_of, shortened

EDGE = 168
"""The longer edge of an image on the sheet, in pixels."""
MARGIN = 28
"""Room around an image for glimpses that reach past it."""
CELL = 92
"""The longer edge of a glimpse on the sheet."""
BELIEF = 40
"""Height of the answer below a glimpse."""
NUMBER = 7
"""Radius of a glimpse's number."""
GAP = 12
HEAD = 30


@FIGURES.add("looked")
class Looked(Figure):
    """Where the model looked, what it saw and what it believed after each glimpse."""

    film = True

    def draw(self, request: Request) -> list[Image.Image]:
        """A row for each picture; of a film, a frame for each glimpse."""
        labels = request.batch.labels
        one = labels if labels is None or labels.dim() == 1 else None  # A scene has no single class.
        episode, told = request.looked, {"labels": one, "classes": request.test.classes}
        shown = range(1, episode.poses.shape[1] + 1) if request.film else [None]
        return [where_it_looked(episode, **told, shown=count) for count in shown]


def where_it_looked(
    episode: Episode | LookedAt,
    *,
    labels: Int[Tensor, "batch"] | None = None,
    classes: Sequence[str] = (),
    shown: int | None = None,
) -> Image.Image:
    """A sheet with one row for each image.

    On the left the image with the outline of every glimpse, coloured and numbered in order; then the glimpses as the
    model saw them, and below each its belief after that glimpse, if it classifies: the class and its probability. Only
    the first `shown` glimpses are drawn, all if not given; the size of the sheet is the same.
    """
    rows, glimpses = episode.poses.shape[:2]
    shown = glimpses if shown is None else shown
    beliefs = None if "classify" not in episode.answers else episode.logits.detach().float().softmax(-1).cpu()
    names = list(classes) or [str(place) for place in range(0 if beliefs is None else beliefs.shape[-1])]
    (frame_width, frame_height), (_, cell_height) = _size(episode.images, EDGE), _size(episode.glimpses, CELL)
    below = BELIEF if beliefs is not None else 0
    left_width = frame_width + 2 * MARGIN
    row_height = max(frame_height + 2 * MARGIN, cell_height + below + 2 * GAP)
    sheet = Sheet(left_width + glimpses * (CELL + GAP) + GAP, HEAD + rows * row_height)
    sheet.text((MARGIN, 10), "where it looked", 13, FAINT)
    saw = "what it saw" if beliefs is None else "what it saw, and what it believed after each glimpse"
    sheet.text((left_width, 10), saw, 13, FAINT)
    for row in range(rows):
        top = HEAD + row * row_height
        if row:
            sheet.line([(GAP, top), (sheet.width - GAP, top)], HAIR)
        truth = None if labels is None else int(labels[row])
        sheet.inset(_drawn_image(episode, row, shown), 0, top + (row_height - frame_height) / 2 - MARGIN + 0.5)
        if truth is not None and truth < len(names):
            spot = (MARGIN + frame_width / 2, top + (row_height + frame_height) / 2 + MARGIN - 6)
            sheet.text(spot, f"is {shortened(names[truth], 12, frame_width - 16)}", 12, FAINT, "ms")
        for glimpse in range(shown):
            left = left_width + glimpse * (CELL + GAP)
            cell_top = top + (row_height - cell_height - below) / 2
            _draw_glimpse(sheet, episode, row, glimpse, left, cell_top)
            if beliefs is not None:
                _draw_belief(sheet, beliefs[row, glimpse], names, truth, left, cell_top + cell_height + 10)
    return sheet.finished()


def _size(images: Tensor, edge: float) -> tuple[float, float]:
    """The width and height on the sheet of pictures whose longer edge is `edge`."""
    height, width = images.shape[-2:]
    return edge * width / max(height, width), edge * height / max(height, width)


def _drawn_image(episode: Episode | LookedAt, row: int, shown: int) -> Sheet:
    """An image in its margin with the first outlines, then their numbers, so that no line crosses a number."""
    across, down = _size(episode.images, EDGE)
    height, width = episode.images.shape[-2:]
    sheet = Sheet(across + 2 * MARGIN, down + 2 * MARGIN)
    sheet.picture(picture_of(episode.images[row]), MARGIN, MARGIN, across, down)
    count, scale = episode.poses.shape[1], EDGE / max(height, width)
    outlines = [
        [(MARGIN + x * scale, MARGIN + y * scale) for x, y in outline_of(pose, height, width)]
        for pose in episode.poses[row, :shown]
    ]
    for glimpse, corners in enumerate(outlines):
        sheet.outline(corners, colour_of(glimpse, count), 2)
    for glimpse, ((x, y), *_) in enumerate(outlines):
        inside = min(max(x, NUMBER), sheet.width - NUMBER), min(max(y, NUMBER), sheet.height - NUMBER)
        _draw_number(sheet, inside, glimpse, count)
    return sheet


def _draw_number(sheet: Sheet, at: Point, glimpse: int, count: int) -> None:
    sheet.disc(at, NUMBER, colour_of(glimpse, count))
    sheet.text(at, str(glimpse + 1), 10, PAPER, "mm")


def _draw_glimpse(sheet: Sheet, episode: Episode | LookedAt, row: int, glimpse: int, left: float, top: float) -> None:
    (across, down), count = _size(episode.glimpses, CELL), episode.poses.shape[1]
    left += (CELL - across) / 2
    sheet.box(left - 3, top - 3, across + 6, down + 6, colour_of(glimpse, count))
    sheet.picture(picture_of(episode.glimpses[row, glimpse]), left, top, across, down)
    _draw_number(sheet, (left, top), glimpse, count)


def _draw_belief(
    sheet: Sheet, belief: Float[Tensor, "classes"], names: Sequence[str], truth: int | None, left: float, top: float
) -> None:
    answer = int(belief.argmax())
    share = float(belief[answer])
    colour = INK if truth is None else RIGHT if answer == truth else WRONG
    sheet.text((left, top + 14), shortened(names[answer], 13, CELL - 40), 13, colour, "ls")
    sheet.text((left + CELL, top + 14), f"{100 * share:.0f} %", 11, FAINT, "rs")
    sheet.box(left, top + 20, CELL, 5, HAIR)
    sheet.box(left, top + 20, CELL * share, 5, colour)
