import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from stawm.errors import UsageError
from stawm.experiments.experiment import ImageConfig
from stawm.model.heads import Classified, Drawn
from stawm.model.objectives import Batch
from stawm.model.stawm import Episode
from stawm.show.drawing import masks, misclassified, reconstructions, stages, stages_frames
from stawm.show.grid import ACROSS, EDGE
from stawm.show.picture import outline_of, pasted_outline_of
from stawm.show.sheet import WRONG, Colour, colour_of
from stawm.vision.glimpse import paste
from tiny_drawing import Box, box_of, canvas_pose, drawing_config, drawing_model, drawn_by, flat, where

TEAL, PINK, LIME = (0, 128, 128), (255, 0, 200), (120, 255, 0)


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


def test_reconstructions_have_the_baseline_above_and_the_target_below():
    sheet = reconstructions({"baseline": flat(TEAL)[None], "ours": flat(PINK)[None]}, flat(LIME)[None])
    baseline, ours, target = (box_of(sheet, colour) for colour in (TEAL, PINK, LIME))
    assert baseline.bottom < ours.top < ours.bottom < target.top
    assert baseline.left == ours.left == target.left


def test_many_pictures_go_on_below():
    many = flat(LIME)[None].expand(ACROSS + 1, 3, 12, 12)
    few = flat(LIME)[None].expand(ACROSS, 3, 12, 12)
    narrow, broken = reconstructions({"a": few * 0}, few), reconstructions({"a": many * 0}, many)
    assert narrow.width == broken.width
    rows, columns = where(broken, LIME)
    below = rows > broken.height / 2
    assert np.ptp(columns[below]) + 1 == EDGE, "the eleventh stands alone"
    assert np.ptp(columns[~below]) + 1 > 9 * EDGE


def test_masks_show_the_target_only_where_the_last_mask_is():
    alpha = torch.zeros(1, 2, 1, 12, 24)
    alpha[:, 0] = 1.0
    alpha[:, 1, :, :, 12:] = 1.0
    drawn = drawn_by(flat(TEAL, 12, 24).expand(1, 2, 3, 12, 24), torch.stack([canvas_pose(1.0)] * 2)[None], masks=alpha)
    sheet = masks(drawn, flat(LIME, 12, 24)[None])
    rows, columns = where(sheet, LIME)
    cell = box_of(sheet, TEAL)
    low = rows > cell.top + 2.4 * cell.size[1]
    assert columns[~low].min() == cell.left
    assert columns[low].min() == pytest.approx(cell.left + EDGE / 2, abs=1), "the left half is masked away"
    assert columns[low].max() + 1 == cell.right
    first = masks(drawn, flat(LIME, 12, 24)[None], glimpse=0)
    assert where(first, LIME)[0].size == pytest.approx(2 * EDGE * EDGE / 2, rel=0.01), "the first mask hides nothing"


def test_sketches_that_add_up_have_no_masks():
    with pytest.raises(UsageError, match="bernoulli"):
        masks(outlined_on([TEAL], [canvas_pose(0.5)]), flat(LIME)[None])


def answered(images: Tensor, answers: list[int], drawn: Drawn | None) -> Episode:
    model = drawing_model(drawing_config(image=ImageConfig(3, *images.shape[-2:])))
    episode = model(images)
    logits = torch.nn.functional.one_hot(torch.tensor(answers), 4).float()[:, None]
    other = logits.roll(1, -1)  # what it believed before: only the last answer counts
    believed = Classified(episode.codes[:, 0], episode.codes, torch.cat([other, other, logits], 1))
    return Episode(
        images, episode.context, episode.poses, episode.glimpses, episode.codes, episode.state, believed, drawn
    )


def test_misclassified_shows_only_mistakes_with_what_was_drawn_above_what_was_seen():
    images = torch.stack([flat(LIME), flat((200, 200, 0))])
    drawn = drawn_by(torch.stack([flat(TEAL), flat(PINK)])[:, None], torch.stack([canvas_pose(0.5)[None]] * 2))
    episode = answered(images, [1, 2], drawn)
    sheet = misclassified(episode, Batch(images, torch.tensor([1, 3])))
    drew, saw = box_of(sheet, PINK), box_of(sheet, (200, 200, 0))
    assert drew.left == saw.left
    assert drew.bottom < saw.top
    assert not where(sheet, TEAL)[0].size
    assert not where(sheet, LIME)[0].size
    red = where(sheet, WRONG, 60)[0]
    assert drew.bottom < red.min() <= red.max() < saw.top, "the prediction is written, in red, under the drawing"
    dark = where(sheet.crop((saw.left, saw.bottom + 2, saw.right, sheet.height)), (38, 42, 48), 60)[0]
    assert dark.size, "the true class is written under the input"


def test_misclassified_without_drawing_has_one_row():
    images = flat(LIME, 8, 16)[None].expand(3, 3, 8, 16)
    sheet = misclassified(answered(images, [0, 1, 2], None), Batch(images, torch.tensor([1, 1, 1])), list("abcd"))
    assert box_of(sheet, LIME).size[1] == EDGE // 2
    columns = np.unique(where(sheet, LIME)[1])
    assert np.flatnonzero(np.diff(columns) > 1).size + 1 == 2, "two of three are wrong"


def test_nothing_misclassified_is_said():
    images = flat(LIME)[None]
    with pytest.raises(UsageError, match="none of these 1"):
        misclassified(answered(images, [2], None), Batch(images, torch.tensor([2])))


@pytest.mark.parametrize("image", [ImageConfig(1, 12, 12), ImageConfig(3, 11, 19)])
def test_a_model_that_draws_fits_every_figure(image: ImageConfig):
    model = drawing_model(drawing_config("bernoulli", image))
    images = torch.rand(2, image.channels, image.height, image.width)
    with torch.no_grad():
        drawn = model(images).drawn
    assert drawn is not None
    assert outline_of(drawn.poses[0, 0], image.height, image.width) != pasted_outline_of(
        drawn.poses[0, 0], image.height, image.width
    )
    sheets = [stages(drawn, images), reconstructions({"a": drawn.canvas}, images), masks(drawn, images)]
    assert all(sheet.mode == "RGB" for sheet in [*sheets, *stages_frames(drawn, images)])
    assert len(stages_frames(drawn, images)) == 3
