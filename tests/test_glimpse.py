"""Poses and what is seen through them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stawm.vision.glimpse import cut, identity_pose, outside


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
