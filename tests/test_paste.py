"""Pasting a sketch, and the true inverse of a pose."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stawm.vision.glimpse import cut, identity_pose, inverse, paste


def turned(degrees: float, scale_x: float, scale_y: float, across: float, down: float) -> Tensor:
    angle = math.radians(degrees)
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], dtype=torch.float64)
    place = torch.tensor([[across], [down]], dtype=torch.float64)
    return torch.cat([turn @ torch.diag(torch.tensor([scale_x, scale_y], dtype=torch.float64)), place], 1)


@given(st.integers(2, 9), st.integers(2, 9), st.booleans(), st.booleans(), st.data())
@settings(max_examples=40, deadline=None)
def test_pasting_at_the_true_inverse_undoes_cutting(
    height: int, width: int, upside_down: bool, mirrored: bool, data: st.DataObject
) -> None:
    """A window of whole pixels, seen upright or not, comes back where it was; all around it is blank."""
    rows, columns = data.draw(st.integers(2, height)), data.draw(st.integers(2, width))
    top, left = data.draw(st.integers(0, height - rows)), data.draw(st.integers(0, width - columns))
    scale_y, scale_x = (rows - 1) / (height - 1), (columns - 1) / (width - 1)
    down, across = 2 * top / (height - 1) + scale_y - 1, 2 * left / (width - 1) + scale_x - 1
    pose = turned(0, -scale_x if mirrored else scale_x, -scale_y if upside_down else scale_y, across, down)[None]
    image = 1 + torch.rand(1, 2, height, width, dtype=torch.float64)
    window = torch.zeros_like(image)
    window[:, :, top : top + rows, left : left + columns] = 1
    restored = paste(cut(image, pose, rows, columns), inverse(pose), height, width)
    torch.testing.assert_close(restored, image * window)


@pytest.mark.parametrize("degrees", [0, 30, -75, 180])
def test_a_turned_glimpse_comes_back_where_it_was(degrees: float) -> None:
    """A slope is interpolated without loss: inside the turned frame the picture returns exactly; far away is none."""
    height, width = 13, 17
    down, across = torch.meshgrid(
        torch.linspace(-1, 1, height, dtype=torch.float64),
        torch.linspace(-1, 1, width, dtype=torch.float64),
        indexing="ij",
    )
    image = (2 + across - 0.5 * down)[None, None]
    pose = turned(degrees, 0.5, 0.4, 0.1, -0.05)[None]
    restored = paste(cut(image, pose, 6, 7), inverse(pose), height, width)
    reach = inverse(pose)[0] @ torch.stack([across, down, torch.ones_like(across)]).flatten(1)
    inside = (reach.abs() <= 1).all(0).view(height, width)
    torch.testing.assert_close(restored[0, 0][inside], image[0, 0][inside])
    assert 20 < inside.sum() < 100
    assert restored[0, 0, 0, 0] == 0 and restored[0, 0, -1, -1] == 0


@given(st.floats(-180, 180), st.floats(0.2, 3), st.floats(-3, -0.2), st.floats(-2, 2), st.floats(-2, 2))
@settings(max_examples=25, deadline=None)
def test_a_pose_after_its_inverse_is_the_identity(
    degrees: float, scale_x: float, scale_y: float, across: float, down: float
) -> None:
    poses = torch.stack(
        [turned(degrees, scale_x, scale_y, across, down), turned(-degrees, scale_y, scale_x, down, across)]
    )
    last_row = torch.tensor([[[0.0, 0.0, 1.0]]], dtype=torch.float64).expand(2, 1, 3)
    both = poses @ torch.cat([inverse(poses), last_row], 1)
    torch.testing.assert_close(both, identity_pose().double().expand(2, 2, 3))


def test_a_flat_pose_has_no_inverse_and_does_not_spoil_the_others() -> None:
    poses = torch.stack([torch.zeros(2, 3), identity_pose()])
    assert not inverse(poses)[0].isfinite().any()
    torch.testing.assert_close(inverse(poses)[1], identity_pose())


def test_an_inverse_scale_of_two_draws_at_half_size() -> None:
    """On 9×9 pixels, the stroke spans the centre five, whatever the size of the sketch."""
    pose = turned(0, 2, 2, 0, 0)[None]
    drawn = paste(torch.ones(1, 1, 5, 5, dtype=torch.float64), pose, 9, 9)[0, 0]
    expected = torch.zeros(9, 9, dtype=torch.float64)
    expected[2:7, 2:7] = 1
    torch.testing.assert_close(drawn, expected)
