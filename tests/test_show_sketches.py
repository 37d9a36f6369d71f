import itertools
from typing import Literal

import pytest
import torch

from stawm.model.heads.draw import Drawn
from stawm.show.figures.sketches import MOST, shown, sketches
from stawm.show.sheet import colour_of
from stawm.vision.canvas import AdditionCanvas, BernoulliCanvas
from tiny_drawing import LIME, TEAL, box_of, canvas_pose, drawing_config, drawing_model, drawn_by, flat, where


def test_what_is_added_is_white_what_is_taken_away_black_and_nothing_grey():
    added = torch.tensor([MOST, 0.0, -MOST, 3.0])[None, :, None, None, None].expand(1, 4, 1, 2, 2)
    poses = canvas_pose(1.0).expand(1, 4, 2, 3)
    painting = AdditionCanvas(-6.0).paint(added, poses, 5, 5, sample=False)
    assert shown(painting)[0, :, 0, 2, 2].tolist() == pytest.approx([1.0, 0.5, 0.0, 0.75], abs=1e-5)
    assert painting.canvases[0, -1].max() < 0.06, "the canvas shows nothing of what the last sketch adds"


def test_a_sketch_through_its_mask_is_grey_where_the_mask_is_not():
    patch = torch.full((1, 2, 4, 3, 3), -20.0)  # black
    patch[:, :, -1] = torch.tensor([20.0, -20.0])[:, None, None]  # alpha: all, nothing
    painting = BernoulliCanvas(2.0, "bernoulli").paint(patch, canvas_pose(0.5).expand(1, 2, 2, 3), 9, 9, sample=False)
    alone = shown(painting)[0]
    assert alone[0, :, 4, 4].tolist() == pytest.approx([0.0] * 3, abs=1e-5)
    assert alone[0, :, 0, 0].tolist() == pytest.approx([0.5] * 3, abs=1e-5), "the sketch does not reach the corner"
    assert alone[1].flatten().tolist() == pytest.approx([0.5] * alone[1].numel(), abs=1e-5)


def test_sketches_stand_in_order_outlined_before_drawing_and_target():
    drawn = drawn_by(torch.stack([flat(TEAL), flat(TEAL)])[None], torch.stack([canvas_pose(0.5)] * 2)[None])
    sheet = sketches(drawn, flat(LIME)[None])
    boxes = [box_of(sheet, colour, 30) for colour in (colour_of(0, 2), colour_of(1, 2), TEAL, LIME)]
    assert all(one.right < following.left for one, following in itertools.pairwise(boxes))


@pytest.mark.parametrize("canvas", ["addition", "bernoulli"])
def test_a_model_of_either_canvas_can_be_drawn(canvas: Literal["addition", "bernoulli"]):
    with torch.no_grad():
        images = torch.rand(2, *drawing_config(canvas).image.shape)
        drawn = drawing_model(drawing_config(canvas))(images).answers["draw"]
    assert isinstance(drawn, Drawn)
    sheet = sketches(drawn, images)
    assert where(sheet, (128, 128, 128), 1)[0].size, "some of each picture is left as it was"
