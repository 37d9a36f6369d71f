"""Where the model looked: each image with its glimpses drawn over it, and the glimpses beside it."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from PIL import Image
from torch import Tensor

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
        episode, labels, classes = request.episode, request.batch.labels, request.test.classes
        if request.film:
            return looked_frames(episode, labels=labels, classes=classes, pictures=request.pictures)
        return [where_it_looked(episode, labels=labels, classes=classes, pictures=request.pictures)]


def where_it_looked(
    episode: Episode,
    *,
    labels: Int[Tensor, "batch"] | None = None,
    classes: Sequence[str] = (),
    pictures: int = 6,
    shown: int | None = None,
) -> Image.Image:
    """A sheet with one row for each of the first `pictures` images.

    On the left the image with the outline of every glimpse, coloured and numbered in order; then the glimpses as the
    model saw them, and below each its belief after that glimpse, if it classifies: the class and its probability. Only
    the first `shown` glimpses are drawn, all if not given; the size of the sheet is the same.
    """
    rows = min(pictures, episode.images.shape[0])
    glimpses = episode.poses.shape[1]
    beliefs = None if "classify" not in episode.answers else episode.logits.detach().float().softmax(-1).cpu()
    names = list(classes) or [str(place) for place in range(0 if beliefs is None else beliefs.shape[-1])]
    frame_width, frame_height, _ = _frame(episode)
    cell_width, cell_height = _cell(episode)
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
        picture = _drawn_image(episode, row, glimpses if shown is None else shown)
        sheet.inset(picture, 0, top + (row_height - frame_height) / 2 - MARGIN + 0.5)
        if truth is not None and truth < len(names):
            spot = (MARGIN + frame_width / 2, top + (row_height + frame_height) / 2 + MARGIN - 6)
            sheet.text(spot, f"is {shortened(names[truth], 12, frame_width - 16)}", 12, FAINT, "ms")
        for glimpse in range(glimpses if shown is None else shown):
            left = left_width + glimpse * (CELL + GAP)
            cell_top = top + (row_height - cell_height - below) / 2
            _draw_glimpse(sheet, episode, row, glimpse, left + (CELL - cell_width) / 2, cell_top)
            if beliefs is not None:
                _draw_belief(sheet, beliefs[row, glimpse], names, truth, left, cell_top + cell_height + 10)
    return sheet.finished()


def looked_frames(
    episode: Episode,
    *,
    labels: Int[Tensor, "batch"] | None = None,
    classes: Sequence[str] = (),
    pictures: int = 6,
) -> list[Image.Image]:
    """`where_it_looked` as a film: one frame for each glimpse, in which it and those before it are drawn."""
    return [
        where_it_looked(episode, labels=labels, classes=classes, pictures=pictures, shown=glimpse)
        for glimpse in range(1, episode.poses.shape[1] + 1)
    ]


def _cell(episode: Episode) -> tuple[float, float]:
    """Width and height of a glimpse on the sheet."""
    height, width = episode.glimpses.shape[-2:]
    return CELL * min(1, width / height), CELL * min(1, height / width)


def _frame(episode: Episode) -> tuple[float, float, float]:
    """Width and height of an image on the sheet, and the size of one of its pixels."""
    height, width = episode.images.shape[-2:]
    scale = EDGE / max(height, width)
    return width * scale, height * scale, scale


def _drawn_image(episode: Episode, row: int, shown: int) -> Sheet:
    """An image in its margin with the first outlines, then their numbers, so that no line crosses a number."""
    frame_width, frame_height, scale = _frame(episode)
    height, width = episode.images.shape[-2:]
    sheet = Sheet(frame_width + 2 * MARGIN, frame_height + 2 * MARGIN)
    sheet.picture(picture_of(episode.images[row]), MARGIN, MARGIN, frame_width, frame_height)
    count = episode.poses.shape[1]
    outlines = [
        [(MARGIN + x * scale, MARGIN + y * scale) for x, y in outline_of(pose, height, width)]
        for pose in episode.poses[row, :shown]
    ]
    for glimpse, corners in enumerate(outlines):
        sheet.outline(corners, colour_of(glimpse, count), 2)
    for glimpse, corners in enumerate(outlines):
        x = min(max(corners[0][0], NUMBER), sheet.width - NUMBER)
        y = min(max(corners[0][1], NUMBER), sheet.height - NUMBER)
        _draw_number(sheet, (x, y), glimpse, count)
    return sheet


def _draw_number(sheet: Sheet, at: Point, glimpse: int, count: int) -> None:
    sheet.disc(at, NUMBER, colour_of(glimpse, count))
    sheet.text(at, str(glimpse + 1), 10, PAPER, "mm")


def _draw_glimpse(sheet: Sheet, episode: Episode, row: int, glimpse: int, left: float, top: float) -> None:
    across, down = _cell(episode)
    count = episode.poses.shape[1]
    sheet.box(left - 3, top - 3, across + 6, down + 6, colour_of(glimpse, count))
    sheet.picture(picture_of(episode.glimpses[row, glimpse]), left, top, across, down)
    _draw_number(sheet, (left, top), glimpse, count)


def _draw_belief(
    sheet: Sheet,
    belief: Float[Tensor, "classes"],
    names: Sequence[str],
    truth: int | None,
    left: float,
    top: float,
) -> None:
    answer = int(belief.argmax())
    share = float(belief[answer])
    colour = INK if truth is None else RIGHT if answer == truth else WRONG
    sheet.text((left, top + 14), shortened(names[answer], 13, CELL - 40), 13, colour, "ls")
    sheet.text((left + CELL, top + 14), f"{100 * share:.0f} %", 11, FAINT, "rs")
    sheet.box(left, top + 20, CELL, 5, HAIR)
    sheet.box(left, top + 20, CELL * share, 5, colour)
