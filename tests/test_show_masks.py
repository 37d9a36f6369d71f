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


def test_the_best_mask_has_a_row_of_its_own():
    """A ring: by itself it shows a ring, and as a layer what it encloses too, which is of better quality."""
    target = torch.zeros(1, 3, 24, 24)
    target[..., 6:18, 6:18] = flat(LIME, 12, 12)
    alpha = torch.zeros(1, 1, 1, 24, 24)
    alpha[..., 6:18, 6:18], alpha[..., 9:15, 9:15] = 1.0, 0.0
    drawn = drawn_by(flat(TEAL, 24, 24).expand(1, 1, 3, 24, 24), canvas_pose(1.0)[None, None], masks=alpha)
    pixels = [where(masks(drawn, target, best=best), LIME)[0].size for best in (False, True)]
    square = EDGE * EDGE / 4
    assert pixels == pytest.approx([square + 3 / 4 * square, 2 * square + 3 / 4 * square], rel=0.05)


def test_sketches_that_add_up_have_no_masks():
    with pytest.raises(UsageError, match="bernoulli"):
        masks(drawn_by(flat(TEAL)[None, None], canvas_pose(0.5)[None, None]), flat(LIME)[None])
