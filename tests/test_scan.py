"""Places that are given: every cell once, seen as it is; chance repeats at evaluation."""

import pytest
import torch

from stawm.experiments.build import build
from stawm.experiments.presets import preset
from stawm.model.scan import Scan, cell_poses
from stawm.model.stawm import Stawm
from stawm.vision.glimpse import cut, inverse


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (1, 1), (4, 2)])
def test_a_cell_is_seen_pixel_by_pixel(rows: int, columns: int) -> None:
    images = torch.rand(1, 2, 5 * rows, 7 * columns, dtype=torch.float64)
    for cell, pose in enumerate(cell_poses(rows, columns, *images.shape[2:]).double()):
        row, column = divmod(cell, columns)
        seen = images[..., 5 * row : 5 * row + 5, 7 * column : 7 * column + 7]
        torch.testing.assert_close(cut(images, pose[None], 5, 7), seen, atol=1e-5, rtol=0)


def test_every_cell_is_looked_at_once_in_an_order_of_its_own() -> None:
    scan = Scan(4, cell_poses(2, 3, 20, 30), glimpses=6)
    state = scan.start(torch.zeros(50, 1))
    centres = state.poses[..., 2]
    known = cell_poses(2, 3, 20, 30)[:, :, 2]
    order = (centres[:, :, None] - known).square().sum(-1).argmin(-1)
    assert torch.equal(order.sort(1).values, torch.arange(6).expand(50, -1))
    assert len(order.unique(dim=0)) > 25


def test_an_order_by_rows_and_more_glimpses_than_cells() -> None:
    poses = Scan(4, cell_poses(2, 2, 20, 20), glimpses=6, order="rows").start(torch.zeros(3, 1)).poses
    assert torch.equal(poses[1], cell_poses(2, 2, 20, 20)[[0, 1, 2, 3, 0, 1]])


@pytest.mark.parametrize("cells", [None, cell_poses(3, 3, 30, 30)])
def test_chance_repeats_at_evaluation_and_not_in_training(cells: torch.Tensor | None) -> None:
    scan = Scan(4, cells, glimpses=9, scale=0.3)
    context = torch.zeros(8, 1)
    assert not torch.equal(scan.start(context).poses, scan.start(context).poses)
    scan.eval()
    assert torch.equal(scan.start(context).poses, scan.start(context).poses)


def test_random_glimpses_stay_in_the_picture() -> None:
    poses = Scan(4, None, glimpses=20, scale=0.3).start(torch.zeros(30, 1)).poses
    assert poses[..., 2].abs().max() <= 0.7
    assert poses[..., 2].std() > 0.2
    assert torch.equal(poses[..., :2], (0.3 * torch.eye(2)).expand(30, 20, 2, 2))


def test_a_sketch_is_pasted_where_it_was_seen() -> None:
    scan = Scan(4, cell_poses(2, 2, 20, 20), glimpses=4, draws=True)
    state, emission, pose = scan.emit(scan.start(torch.zeros(3, 1)))
    assert state.number == 1 and emission.shape == (3, 4)
    torch.testing.assert_close(scan.pasted(state, emission, pose), inverse(pose))
    assert Scan(4, None, glimpses=2).pasted(state, emission, pose) is None
    assert scan.gather(state, torch.zeros(3, 4)) is state


def test_all_at_once_is_the_same_as_one_after_another() -> None:
    torch.manual_seed(0)
    model = build(preset("scenes-8-recall").model).double().eval()
    assert isinstance(model, Stawm)
    images = torch.rand(3, 1, 28, 56, dtype=torch.float64)
    gaze = model.start(images)
    for _ in range(8):
        gaze = model.look(gaze)
    whole = model.gaze(images)
    torch.testing.assert_close(whole.codes, gaze.codes)
    torch.testing.assert_close(whole.scene.poses, gaze.scene.poses)
    assert whole.policy.number == gaze.policy.number == 8
