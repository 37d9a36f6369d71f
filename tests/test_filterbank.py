"""DRAW's attention against its equations, written out pixel by pixel in float64, gradients included."""

from math import exp

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from oracle_draw import naive_bank, naive_read, naive_write
from stawm.vision.filterbank import attention, filterbank, pose_of, read, write
from stawm.vision.glimpse import cut

SIZES = [((7, 9), (3, 4), 2), ((6, 6), (2, 2), 1), ((5, 4), (1, 1), 1), ((4, 8), (5, 3), 3)]


def emitted(batch: int) -> Tensor:
    draw = torch.Generator().manual_seed(3)
    return (0.8 * torch.randn(batch, 5, generator=draw, dtype=torch.float64)).requires_grad_()


@pytest.mark.parametrize(("size", "grid", "channels"), SIZES)
def test_reading_and_writing_follow_the_equations(size: tuple[int, int], grid: tuple[int, int], channels: int) -> None:
    numbers = emitted(3)
    pictures = torch.rand(3, channels, *size, dtype=torch.float64, requires_grad=True)
    patches = torch.rand(3, channels, *grid, dtype=torch.float64, requires_grad=True)
    bank = filterbank(numbers, *size, grid)
    for function, naive, shown in ((read, naive_read, pictures), (write, naive_write, patches)):
        wanted = torch.stack([naive(one, naive_bank(row, size, grid)) for row, one in zip(numbers, shown, strict=True)])
        found = function(shown, bank)
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)
        shares = torch.rand_like(wanted) - 0.5
        truths = torch.autograd.grad((wanted * shares).sum(), [numbers, shown])
        assert min(part.abs().max().item() for part in truths) > 1e-7, "gradients that vanish compare nothing"
        gradients = torch.autograd.grad((found * shares).sum(), [numbers, shown], retain_graph=True)
        for got, truth in zip(gradients, truths, strict=True):
            torch.testing.assert_close(got, truth, rtol=1e-9, atol=1e-11)


def test_a_grid_that_spans_the_picture_with_sharp_filters_reads_it_as_it_is() -> None:
    """δ̃ = 1 spans the picture; at a variance of e⁻⁸ each filter is one pixel."""
    pictures = torch.rand(2, 1, 6, 6)
    numbers = torch.tensor([0.0, 0.0, -8.0, 0.0, 0.0]).expand(2, 5)
    bank = filterbank(numbers, 6, 6, (6, 6))
    torch.testing.assert_close(read(pictures, bank), pictures)
    torch.testing.assert_close(write(pictures, bank), pictures)
    torch.testing.assert_close(pose_of(bank), torch.eye(2, 3).expand(2, 2, 3))


def test_its_pose_is_where_a_glimpse_sees_the_same() -> None:
    """Of a picture that grows evenly across and down, a narrow filter and a bilinear sample read the same number."""
    down, across = torch.meshgrid(torch.arange(20.0), torch.arange(30.0), indexing="ij")
    pictures = (0.01 * across + 0.02 * down)[None, None]
    bank = filterbank(torch.tensor([[0.1, -0.2, 0.0, -2.0, 0.0]]), 20, 30, (3, 4))
    torch.testing.assert_close(read(pictures, bank), cut(pictures, pose_of(bank), 3, 4), rtol=0, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-30, 30), min_size=5, max_size=5))
def test_filters_sum_to_one_wherever_they_are(numbers: list[float]) -> None:
    bank = filterbank(torch.tensor([numbers]), 8, 5, (3, 2))
    for filters in (bank.rows, bank.columns):
        torch.testing.assert_close(filters.sum(2), torch.ones(filters.shape[:2]), rtol=0, atol=1e-5)


def test_intensity_scales_what_is_read_and_unscales_what_is_written() -> None:
    numbers = torch.tensor([[0.1, 0.2, 0.3, -0.5, 0.0]])
    louder = numbers + torch.tensor([0.0, 0.0, 0.0, 0.0, 0.7])
    picture = torch.rand(1, 1, 6, 6)
    plain, loud = (filterbank(one, 6, 6, (3, 3)) for one in (numbers, louder))
    torch.testing.assert_close(read(picture, loud), exp(0.7) * read(picture, plain))
    patch = torch.rand(1, 1, 3, 3)
    torch.testing.assert_close(write(patch, loud), write(patch, plain) / exp(0.7))


def test_attention_starts_with_the_whole_picture_in_equal_parts() -> None:
    """28 pixels in two parts: centres at 7.5 and 21.5 from 1, a part 14 wide, σ = 7; of a wide picture the middle."""
    layer = attention(4, 28, 28, (2, 2))
    bank = filterbank(layer(torch.zeros(1, 4)), 28, 28, (2, 2))
    torch.testing.assert_close(bank.stride, torch.tensor([14.0]))
    torch.testing.assert_close(bank.centre, torch.tensor([[14.5, 14.5]]))
    down = torch.arange(1.0, 29.0)
    middle = torch.exp(-((down - 7.5) ** 2) / (2 * 7.0**2))
    torch.testing.assert_close(bank.rows[0, 0], middle / middle.sum())
    wide = filterbank(attention(4, 10, 40, (3, 4))(torch.zeros(1, 4)), 10, 40, (3, 4))
    assert (wide.centre.tolist(), wide.stride.tolist()) == ([[20.5, 5.5]], pytest.approx([10.0]))
