import pytest
import torch
from PIL import Image
from torch import Tensor

from stawm.experiments.experiment import ImageConfig
from stawm.model.heads.draw import Drawn
from stawm.show.figures.masks import masks
from stawm.show.figures.reconstructions import reconstructions
from stawm.show.figures.stages import stages, stages_frames
from stawm.show.grid import EDGE
from stawm.show.picture import outline_of, pasted_outline_of
from stawm.show.sheet import Colour, colour_of
from stawm.vision.glimpse import paste
from tiny_drawing import (
    LIME,
    PINK,
    TEAL,
    Box,
    box_of,
    canvas_pose,
    drawing_config,
    drawing_model,
    drawn_by,
    flat,
    where,
)


def outlined_on(colours: list[Colour], poses: list[Tensor], height: int = 12, width: int = 12) -> Drawn:
    """One picture whose stages are plain colours."""
    return drawn_by(torch.stack([flat(colour, height, width) for colour in colours])[None], torch.stack(poses)[None])


def outline_box(cell: Box, drawn: Image.Image, colour: Colour) -> tuple[float, ...]:
    """The outline's box in shares of its cell: left, top, right, bottom, along the middle of the line."""
    found = box_of(drawn, colour, 40)
    across, down = cell.size
    middle = 0.75  # half of the line's width
    return (
        (found.left + middle - cell.left) / across,
        (found.top + middle - cell.top) / down,
        (found.right - middle - cell.left) / across,
        (found.bottom - middle - cell.top) / down,
    )


def test_pasted_outline_is_where_the_sketch_is_pasted():
    pose = canvas_pose(0.5, x=0.25, y=-0.5)
    pasted = paste(torch.ones(1, 1, 9, 9), pose[None], 41, 81)[0, 0]
    rows, columns = (pasted > 0.999).nonzero(as_tuple=True)
    corners = pasted_outline_of(pose, 41, 81)
    assert corners is not None
    (left, top), _, (right, bottom), _ = corners
    assert (left, right) == pytest.approx((int(columns.min()) + 0.5, int(columns.max()) + 0.5), abs=1e-4)
    assert (top, bottom) == pytest.approx((int(rows.min()) + 0.5, int(rows.max()) + 0.5), abs=1e-4)


def test_an_inverse_pose_that_flattens_has_no_outline_and_harms_no_figure():
    flattened = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    assert pasted_outline_of(flattened, 12, 12) is None
    sheet = stages(outlined_on([TEAL, PINK], [flattened, canvas_pose(0.5)]), flat(LIME)[None])
    assert not where(sheet, colour_of(0, 2), 30)[0].size
    assert where(sheet, colour_of(1, 2), 30)[0].size
    nearly = torch.tensor([[1e-30, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert stages(outlined_on([TEAL], [nearly]), flat(LIME)[None]).size[0] > 2 * EDGE


def test_stages_stand_in_order_and_end_with_the_target():
    sheet = stages(outlined_on([TEAL, PINK], [canvas_pose(0.5)] * 2), flat(LIME)[None])
    first, second, target = (box_of(sheet, colour) for colour in (TEAL, PINK, LIME))
    assert first.right < second.left < second.right < target.left
    assert first.top == second.top == target.top
    assert first.size == second.size == target.size == (EDGE, EDGE)


def test_each_stage_outlines_its_new_sketch_and_no_other():
    left, right = canvas_pose(0.5, x=-0.5, y=-0.25), canvas_pose(0.25, x=0.5, y=0.5)
    sheet = stages(outlined_on([TEAL, PINK], [left, right], 14, 28), flat(LIME, 14, 28)[None])
    for colour, ground, pose in ((colour_of(0, 2), TEAL, left), (colour_of(1, 2), PINK, right)):
        cell = box_of(sheet, ground)
        corners = pasted_outline_of(pose, 14, 28)
        assert corners is not None
        wanted = (corners[0][0] / 28, corners[0][1] / 14, corners[2][0] / 28, corners[2][1] / 14)
        assert outline_box(cell, sheet, colour) == pytest.approx(wanted, abs=0.025), "within a pixel"


def test_oblong_stages_keep_their_proportions():
    sheet = stages(outlined_on([TEAL], [canvas_pose(0.5)], 10, 30), flat(LIME, 10, 30)[None])
    assert box_of(sheet, LIME).size == (EDGE, EDGE // 3)
    high = stages(outlined_on([TEAL], [canvas_pose(0.5)], 30, 10), flat(LIME, 30, 10)[None])
    assert box_of(high, LIME).size == (EDGE // 3, EDGE)


def test_a_sketch_that_covers_more_than_the_canvas_stays_in_its_cell():
    sheet = stages(outlined_on([TEAL, PINK], [canvas_pose(40.0, x=30.0), canvas_pose(0.5)]), flat(LIME)[None])
    second = box_of(sheet, PINK)
    columns = where(sheet, colour_of(0, 2), 30)[1]
    assert not columns.size or columns.max() < second.left


def test_the_film_has_a_frame_for_each_sketch_over_the_target():
    drawn = outlined_on([TEAL, PINK, (90, 90, 220)], [canvas_pose(0.5, x=x) for x in (-0.4, 0.0, 0.4)])
    frames = stages_frames(drawn, flat(LIME)[None])
    assert len(frames) == 3
    assert len({frame.size for frame in frames}) == 1
    for sketch, (frame, ground) in enumerate(zip(frames, (TEAL, PINK, (90, 90, 220)), strict=True)):
        cell, target = box_of(frame, ground), box_of(frame, LIME)
        assert (cell.left, cell.size) == (target.left, target.size)
        assert cell.bottom < target.top
        assert where(frame, colour_of(sketch, 3), 30)[0].size
        others = [colour_of(other, 3) for other in range(3) if other != sketch]
        assert not any(where(frame, other, 20)[0].size for other in others)


@pytest.mark.parametrize("image", [ImageConfig(1, 12, 12), ImageConfig(3, 11, 19)])
def test_a_model_that_draws_fits_every_figure(image: ImageConfig):
    model = drawing_model(drawing_config("bernoulli", image))
    images = torch.rand(2, image.channels, image.height, image.width)
    with torch.no_grad():
        drawn = model(images).answer("draw", Drawn)
    assert outline_of(drawn.poses[0, 0], image.height, image.width) != pasted_outline_of(
        drawn.poses[0, 0], image.height, image.width
    )
    sheets = [stages(drawn, images), reconstructions({"a": drawn.canvas}, images), masks(drawn, images)]
    assert all(sheet.mode == "RGB" for sheet in [*sheets, *stages_frames(drawn, images)])
    assert len(stages_frames(drawn, images)) == 3
