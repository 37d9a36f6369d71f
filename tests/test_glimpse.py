"""Poses and what is seen through them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stawm.vision.glimpse import NEAR, crowding, cut, cut_scales, identity_pose, outside


def pose(scale_x: float = 1, scale_y: float = 1, across: float = 0, down: float = 0) -> torch.Tensor:
    return torch.tensor([[scale_x, 0, across], [0, scale_y, down]], dtype=torch.float64)


def test_identity_pose_returns_the_image() -> None:
    images = torch.rand(3, 2, 7, 5, dtype=torch.float64)
    seen = cut(images, identity_pose().double().expand(3, 2, 3), 7, 5)
    torch.testing.assert_close(seen, images)


@given(st.integers(2, 9), st.integers(2, 9), st.data())
@settings(max_examples=25, deadline=None)
def test_a_pose_on_whole_pixels_is_a_crop(height: int, width: int, data: st.DataObject) -> None:
    """With aligned corners, a window of whole pixels is cut without interpolation, in pictures of any proportion."""
    rows = data.draw(st.integers(2, height))
    columns = data.draw(st.integers(2, width))
    top = data.draw(st.integers(0, height - rows))
    left = data.draw(st.integers(0, width - columns))
    images = torch.rand(1, 1, height, width, dtype=torch.float64)
    scale_y, scale_x = (rows - 1) / (height - 1), (columns - 1) / (width - 1)
    down, across = 2 * top / (height - 1) + scale_y - 1, 2 * left / (width - 1) + scale_x - 1
    seen = cut(images, pose(scale_x, scale_y, across, down)[None], rows, columns)
    torch.testing.assert_close(seen, images[:, :, top : top + rows, left : left + columns])


def test_pixels_outside_read_as_zero() -> None:
    seen = cut(torch.ones(1, 1, 5, 5, dtype=torch.float64), pose(across=4)[None], 5, 5)
    assert seen.abs().max() == 0


@pytest.mark.parametrize(
    ("given_pose", "share"),
    [
        (pose(), 0.0),
        (pose(0.5, 0.5, 0.5, -0.5), 0.0),
        (pose(across=3), 1.0),
        (pose(across=1), 4 / 9),
        (pose(2, 1), 4 / 9),
    ],
)
def test_outside_counts_the_probes_that_miss_the_image(given_pose: torch.Tensor, share: float) -> None:
    """Nine probes a side: shifted by half the image, the last four columns fall outside."""
    assert outside(given_pose[None]).item() == pytest.approx(share)


def test_outside_sees_rotation() -> None:
    turn = math.radians(45)
    turned = torch.tensor([[math.cos(turn), -math.sin(turn), 0], [math.sin(turn), math.cos(turn), 0]])
    assert 0.05 < outside(turned[None]).item() < 0.3


def test_a_pose_a_little_larger_than_the_image_is_not_outside() -> None:
    assert outside(pose(1.01, 1.01)[None]).item() == 0


def test_concentric_glimpses_are_those_of_wider_poses_averaged() -> None:
    """Slowly and plainly: each pixel of a wider view is the mean of the finer samples that it covers."""
    images = torch.rand(2, 1, 20, 20, dtype=torch.float64)
    given_pose = torch.stack([pose(0.2, 0.2, 0.1, -0.3), pose(0.15, 0.3, -0.4, 0.2)]).double().requires_grad_()
    stacked = cut_scales(images, given_pose, 4, 5, 3)
    assert stacked.shape == (2, 3, 4, 5)
    torch.testing.assert_close(stacked[:, :1], cut(images, given_pose, 4, 5))
    for place, factor in ((1, 2), (2, 4)):
        wider = given_pose * torch.tensor([factor, factor, 1.0], dtype=torch.float64)
        fine = cut(images, wider, 4 * factor, 5 * factor)
        for row in range(4):
            for column in range(5):
                block = fine[..., factor * row : factor * (row + 1), factor * column : factor * (column + 1)]
                torch.testing.assert_close(stacked[:, place, row, column], block.mean((-2, -1))[:, 0])
    torch.autograd.gradcheck(lambda given: cut_scales(images, given, 2, 2, 2), (given_pose,))


def test_several_poses_of_each_image_are_those_of_copies_of_it() -> None:
    draw = torch.Generator().manual_seed(0)
    images = torch.rand(3, 2, 9, 11, generator=draw, dtype=torch.float64)
    poses = torch.eye(2, 3).double() + 0.3 * torch.randn(3 * 4, 2, 3, generator=draw, dtype=torch.float64)
    found = []
    for each in (1, 4):
        given, moved = images.clone().requires_grad_(), poses.clone().requires_grad_()
        seen = cut_scales(given if each > 1 else given.repeat_interleave(4, 0), moved, 3, 5, 2, each)
        weights = torch.linspace(-1, 1, seen.numel(), dtype=torch.float64).view_as(seen)
        found.append([seen, *torch.autograd.grad((seen * weights).sum(), [given, moved])])
    assert found[1][0].shape == (12, 4, 3, 5)
    torch.testing.assert_close(found[1], found[0])


def test_one_scale_is_the_plain_glimpse() -> None:
    images, given_pose = torch.rand(1, 3, 9, 9, dtype=torch.float64), pose(0.5, 0.5)[None]
    assert torch.equal(cut_scales(images, given_pose, 4, 4, 1), cut(images, given_pose, 4, 4))


def test_crowding_is_one_at_one_place_and_little_far_apart() -> None:
    together = torch.stack([pose(0.2, 0.2, 0.3, 0.3)] * 4)[None]
    torch.testing.assert_close(crowding(together), torch.tensor(1.0, dtype=torch.float64))
    apart = torch.stack([pose(0.2, 0.2, x, y) for x in (-0.8, 0.8) for y in (-0.8, 0.8)])[None]
    assert crowding(apart) < 1e-6
    two = torch.stack([pose(1, 1, 0.0, 0.0), pose(1, 1, NEAR, 0.0)])[None].double().requires_grad_()
    found = crowding(two)
    torch.testing.assert_close(found, torch.tensor(-0.5, dtype=torch.float64).exp())
    found.backward()
    assert two.grad is not None
    assert two.grad[0, 0, 0, 2] > 0 > two.grad[0, 1, 0, 2], "going down the slope, they part"
