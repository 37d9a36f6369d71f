import pytest
import torch

from stawm.experiments.experiment import ImageConfig
from stawm.model.heads.draw import DrawingHead, Drawn
from stawm.show.figures.traversal import traversal, traversed
from stawm.show.grid import EDGE
from stawm.show.sheet import colour_of
from tiny_drawing import LIME, PINK, TEAL, box_of, canvas_pose, drawing_config, drawing_model, drawn_by, flat, where
from tiny_model import artist_of


def drawing(canvas: str) -> tuple[DrawingHead, Drawn]:
    model = drawing_model(drawing_config("bernoulli" if canvas == "bernoulli" else "addition", ImageConfig(3, 11, 15)))
    with torch.no_grad():
        drawn = model(torch.rand(2, 3, 11, 15)).answer("draw", Drawn)
    return artist_of(model), drawn


@pytest.mark.parametrize("canvas", ["addition", "bernoulli"])
def test_the_middle_of_a_traversal_is_the_drawing(canvas: str):
    head, drawn = drawing(canvas)
    canvases = traversed(head, drawn, glimpse=1, row=1, steps=5)
    assert canvases.shape == (2, 5, 3, 11, 15)
    for number in range(2):
        assert torch.allclose(canvases[number, 2], drawn.canvas[1], atol=1e-6)


def test_each_number_is_moved_by_itself_and_in_its_own_glimpse():
    head, drawn = drawing("addition")
    canvases = traversed(head, drawn, glimpse=2, reach=1.5, steps=3)
    for number in range(2):
        latent = drawn.mean[:1].clone()
        latent[0, 2, number] += 1.5
        with torch.no_grad():
            sketches = head.sketches(latent)
            wanted = head.canvas.paint(sketches, drawn.poses[:1], 11, 15, sample=False).canvas[0]
        assert torch.allclose(canvases[number, 2], wanted, atol=1e-6)
        assert not torch.allclose(canvases[number, 2], canvases[number, 0])


def test_a_row_for_each_number_below_target_and_drawing():
    drawn = drawn_by(flat(TEAL, 12, 24).expand(1, 2, 3, 12, 24), canvas_pose(0.5).expand(1, 2, 2, 3))
    canvases = torch.stack([flat(PINK, 12, 24), flat((200, 200, 0), 12, 24)])[:, None].expand(2, 3, 3, 12, 24)
    sheet = traversal(canvases, drawn, flat(LIME, 12, 24), 1)
    target, drew = box_of(sheet, LIME), box_of(sheet, TEAL)
    first, second = box_of(sheet, PINK), box_of(sheet, (200, 200, 0))
    assert target.size == (EDGE, EDGE // 2)
    assert target.right < drew.left
    assert target.bottom < first.top < first.bottom < second.top
    assert first.size[0] > 3 * EDGE, "three steps"
    outline = box_of(sheet, colour_of(1, 2), 30)
    assert drew.left < outline.left < outline.right < drew.right, "the varied glimpse is outlined on the drawing"
    assert not where(sheet, colour_of(0, 2), 20)[0].size
