import pytest
import torch

from stawm.errors import UsageError
from stawm.show.figures.masks import masks
from stawm.show.grid import EDGE
from tiny_drawing import LIME, TEAL, box_of, canvas_pose, drawn_by, flat, where


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
        masks(drawn_by(flat(TEAL)[None, None], canvas_pose(0.5)[None, None]), flat(LIME)[None])
