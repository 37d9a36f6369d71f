from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.model.heads.classify import Classified
from stawm.model.stawm import Episode
from stawm.show.figures.looked import CELL, EDGE, GAP, HEAD, MARGIN, where_it_looked
from stawm.show.picture import outline_of, picture_of
from stawm.show.sheet import RIGHT, WRONG, Colour, colour_of


def pose(scale: float, x: float = 0.0, y: float = 0.0) -> Tensor:
    return torch.tensor([[scale, 0.0, x], [0.0, scale, y]])


def episode(images: Tensor, poses: Tensor, *, glimpse: Tensor | None = None, answers: Tensor | None = None) -> Episode:
    batch, count = poses.shape[:2]
    seen = torch.zeros(images.shape[1], 4, 4) if glimpse is None else glimpse
    codes = torch.zeros(batch, count, 6)
    logits = torch.zeros(batch, count, 10)
    if answers is not None:
        logits = 20.0 * torch.nn.functional.one_hot(answers, 10).float()
    return Episode(
        images=images,
        context=torch.zeros(batch, 3),
        poses=poses,
        glimpses=seen.expand(batch, count, *seen.shape),
        codes=codes,
        state=HebbRosenblatt(6).start(batch),
        answers={"classify": Classified(codes[:, 0], codes, logits)},
    )


def near(drawn: Image.Image, colour: Colour, tolerance: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns at which `drawn` has this colour."""
    rows, columns = (np.abs(np.asarray(drawn).astype(int) - np.array(colour)).max(-1) <= tolerance).nonzero()
    return rows, columns


def image_part(drawn: Image.Image, width: float = EDGE, height: float = EDGE) -> Image.Image:
    """The first image in its margin, short of the first glimpse's frame and number."""
    return drawn.crop((0, HEAD, round(width + 2 * MARGIN) - 10, HEAD + round(height + 2 * MARGIN)))


def test_identity_outline_joins_the_centres_of_the_corner_pixels():
    assert outline_of(pose(1.0), height=11, width=21) == [(0.5, 0.5), (20.5, 0.5), (20.5, 10.5), (0.5, 10.5)]


def test_outline_follows_scale_shift_and_shear_on_an_oblong_image():
    # Half size, moved right by half the image: x from 0 to 1, y from -0.5 to 0.5.
    corners = outline_of(pose(0.5, x=0.5), height=11, width=21)
    assert corners == [(10.5, 3.0), (20.5, 3.0), (20.5, 8.0), (10.5, 8.0)]
    # A quarter turn: the glimpse's top left is the image's top right.
    turn = torch.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
    assert outline_of(turn, height=11, width=21)[0] == (20.5, 0.5)


def test_outline_marks_the_pixels_that_grid_sample_reads():
    image = torch.arange(35.0).reshape(1, 1, 5, 7)
    small = torch.tensor([[[0.5, 0.0, 0.25], [0.0, 0.4, -0.2]]])
    grid = torch.nn.functional.affine_grid(small, [1, 1, 3, 3], align_corners=True)
    seen = torch.nn.functional.grid_sample(image, grid, align_corners=True)[0, 0]
    (left, top), _, (right, bottom), _ = outline_of(small[0], 5, 7)
    # The image is linear in its coordinates, so the value at a corner tells where that corner was read.
    assert seen[0, 0].item() == pytest.approx(7 * (top - 0.5) + (left - 0.5), abs=1e-4)
    assert seen[2, 2].item() == pytest.approx(7 * (bottom - 0.5) + (right - 0.5), abs=1e-4)


def test_outline_is_drawn_where_the_glimpse_is():
    scene = episode(torch.zeros(1, 1, 28, 28), pose(0.5, x=0.25).expand(1, 1, 2, 3))
    rows, columns = near(image_part(where_it_looked(scene)), colour_of(0, 1))
    scale = EDGE / 28
    left, right = MARGIN + (0.375 * 27 + 0.5) * scale, MARGIN + (0.875 * 27 + 0.5) * scale
    top, bottom = MARGIN + (0.25 * 27 + 0.5) * scale, MARGIN + (0.75 * 27 + 0.5) * scale
    assert right - 1 <= columns.max() <= right + 1
    assert bottom - 1 <= rows.max() <= bottom + 1
    # The number's disc (radius 7) sits on the top left corner.
    assert left - 8 <= columns.min() <= left - 5
    assert top - 8 <= rows.min() <= top - 5


def test_each_glimpse_has_its_colour_in_order():
    poses = torch.stack([pose(0.5, x=-0.4), pose(0.5, x=0.0), pose(0.5, x=0.4)])[None]
    drawn = image_part(where_it_looked(episode(torch.zeros(1, 1, 28, 28), poses)))
    means = [near(drawn, colour_of(place, 3), 3)[1].mean() for place in range(3)]
    assert means[0] < means[1] < means[2]


def test_a_glimpse_that_reaches_past_the_image_is_cut_not_bent():
    # The outline runs from far left to the middle: its top edge stays level up to the edge of the margin.
    scene = episode(torch.zeros(1, 1, 28, 28), pose(1.0, x=-2.0, y=0.5).expand(1, 1, 2, 3))
    rows, columns = near(image_part(where_it_looked(scene)), colour_of(0, 1), 40)
    assert columns.min() <= 1
    top = MARGIN + (0.25 * 27 + 0.5) * EDGE / 28
    assert {round(top) - 1, round(top), round(top) + 1} & set(rows[columns == 18].tolist())


def test_colours_of_a_picture_survive_and_grey_is_grey():
    red = torch.tensor([1.0, 0.0, 0.0])[:, None, None].expand(3, 4, 6)
    assert np.asarray(picture_of(red)).tolist() == [[[255, 0, 0]] * 6] * 4
    assert np.asarray(picture_of(torch.full((1, 2, 3), 0.5))).tolist() == [[[128] * 3] * 3] * 2
    assert np.asarray(picture_of(torch.full((1, 1, 1), 1.7))).tolist() == [[[255] * 3]]


def test_an_oblong_colour_image_keeps_its_shape_and_colours():
    images = torch.zeros(1, 3, 20, 40)
    images[:, 2] = 1.0
    images[:, :, :, 30:] = torch.tensor([1.0, 1.0, 0.0])[:, None, None]
    drawn = where_it_looked(episode(images, pose(0.2, x=-0.5).expand(1, 1, 2, 3)))
    blue, yellow = near(drawn, (0, 0, 255), 2), near(drawn, (255, 255, 0), 2)
    assert blue[1].min() == MARGIN
    assert yellow[1].max() + 1 == pytest.approx(MARGIN + EDGE, abs=1)
    assert yellow[1].min() == pytest.approx(MARGIN + 0.75 * EDGE, abs=1)
    assert np.ptp(yellow[0]) + 1 == pytest.approx(EDGE / 2, abs=1)


def test_one_cell_for_each_glimpse_with_what_was_seen_the_right_way_up():
    glimpse = torch.zeros(3, 4, 4)
    glimpse[0, :2, :2] = 1.0  # red, top left
    drawn = where_it_looked(episode(torch.zeros(2, 3, 28, 28), pose(0.5).expand(2, 5, 2, 3), glimpse=glimpse))
    strip = drawn.crop((EDGE + 2 * MARGIN, HEAD, drawn.width, drawn.height))
    rows, columns = near(strip, (255, 0, 0), 2)
    # Away from the numbers: the right half of each red patch is a run of columns, one run a glimpse.
    runs = np.flatnonzero(np.diff(np.unique(columns)) > 1).size + 1
    assert runs == 5
    assert np.unique(columns).max() == pytest.approx(4 * (CELL + GAP) + CELL / 2, abs=2)
    # Two pictures: two bands of rows.
    assert np.flatnonzero(np.diff(np.unique(rows)) > 1).size + 1 == 2


def test_beliefs_are_green_when_right_and_red_when_wrong():
    answers = torch.tensor([[3, 7], [7, 7]])
    scene = episode(torch.zeros(2, 1, 28, 28), pose(0.5).expand(2, 2, 2, 3), answers=answers)
    drawn = where_it_looked(scene, labels=torch.tensor([7, 7]))
    half = HEAD + (drawn.height - HEAD) // 2
    first, second = drawn.crop((0, HEAD, drawn.width, half)), drawn.crop((0, half, drawn.width, drawn.height))
    wrong, right = near(first, WRONG)[1], near(first, RIGHT)[1]
    assert wrong.max() < right.min(), "wrong after the first glimpse, right after the second"
    assert wrong.size and not near(second, WRONG)[1].size


def test_belief_bar_is_as_long_as_the_probability():
    scene = episode(torch.zeros(1, 1, 28, 28), pose(0.5).expand(1, 1, 2, 3))  # ten equal logits: a tenth each
    drawn = where_it_looked(scene, labels=torch.tensor([0]))
    rows, columns = near(drawn, RIGHT, 2)
    lowest = columns[rows == rows.max()]
    assert np.ptp(lowest) + 1 == pytest.approx(CELL / 10, abs=1)


def test_a_row_for_each_picture_and_names_of_any_length():
    scenes = [episode(torch.zeros(count, 1, 28, 28), pose(0.5).expand(count, 3, 2, 3)) for count in (2, 5)]
    two, five = map(where_it_looked, scenes)
    assert (five.height - HEAD) * 2 == (two.height - HEAD) * 5
    named = where_it_looked(scenes[0], labels=torch.arange(2), classes=["an ankle boot with laces"] * 10)
    assert named.size == two.size


def test_the_film_adds_a_glimpse_a_frame():
    poses = torch.stack([pose(0.5, x=-0.4), pose(0.5, x=0.0), pose(0.5, x=0.4)])[None]
    scene = episode(torch.zeros(1, 1, 28, 28), poses, answers=torch.tensor([[1, 2, 3]]))
    frames = [where_it_looked(scene, labels=torch.tensor([3]), shown=count) for count in (1, 2, 3)]
    whole = where_it_looked(scene, labels=torch.tensor([3]))
    assert {frame.size for frame in frames} == {whole.size}
    for frame, drawn in enumerate(frames):
        for glimpse in range(3):
            # Outline, frame and number of a glimpse have its colour.
            assert bool(near(drawn, colour_of(glimpse, 3), 3)[0].size) == (glimpse <= frame)
    assert frames[-1].tobytes() == whole.tobytes()
    assert not near(frames[1], RIGHT)[0].size
    assert near(frames[2], RIGHT)[0].size, "right after the third glimpse only"


def test_a_model_that_only_draws_shows_where_it_looked_without_beliefs():
    scene = replace(episode(torch.zeros(2, 1, 28, 28), pose(0.5).expand(2, 2, 2, 3)), answers={})
    drawn = where_it_looked(scene, labels=torch.tensor([1, 2]))
    assert not near(drawn, RIGHT)[0].size
    assert not near(drawn, WRONG)[0].size
    assert near(image_part(drawn), colour_of(1, 2))[0].size
