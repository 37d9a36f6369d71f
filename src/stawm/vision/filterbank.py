"""The attention of DRAW (Gregor et al., 2015, Section 3): a grid of Gaussian filters that reads and writes pictures.

Pixels are numbered from 1, as the paper's centres (A + 1) / 2 imply.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from stawm.precision import exact, single

NUMBERS = 5
"""What a network emits for each picture: centre across and down, log variance, log stride, log intensity."""


@dataclass(frozen=True)
class Filterbank:
    """Filters for the rows and the columns of each picture; each filter sums to 1."""

    rows: Float[Tensor, "batch grid_height height"]
    """F_Y."""
    columns: Float[Tensor, "batch grid_width width"]
    """F_X."""
    intensity: Float[Tensor, "batch"]
    """γ."""
    centre: Float[Tensor, "batch 2"]
    """Of the grid, in pixels across and down (g_X, g_Y)."""
    stride: Float[Tensor, "batch"]
    """δ: the distance of neighbouring filters, in pixels."""


def filterbank(emitted: Float[Tensor, "batch 5"], height: int, width: int, grid: tuple[int, int]) -> Filterbank:
    """The filters of `grid` (its height and width) over pictures of `height` × `width`, from what a network emitted.

    g_X = (A + 1)/2 (g̃_X + 1), g_Y = (B + 1)/2 (g̃_Y + 1), δ = (max(A, B) − 1)/(N − 1) δ̃. Filter i lies at
    μ_i = g + (i − N/2 − 0.5) δ, and F[i, a] ∝ exp(−(a − μ_i)²/2σ²) with Σ_a F[i, a] = 1. That is a softmax over a,
    which stays finite wherever the filter lies.
    """
    emitted = single(emitted)
    across, down, log_variance, log_stride, log_intensity = emitted.unbind(1)
    centre = torch.stack([(width + 1) / 2 * (across + 1), (height + 1) / 2 * (down + 1)], 1)
    stride = (max(height, width) - 1) / max(max(grid) - 1, 1) * log_stride.exp()
    precision = 0.5 * (-log_variance).exp()
    rows, columns = (
        _filters(centre[:, axis], stride, precision, count, pixels)
        for axis, count, pixels in ((1, grid[0], height), (0, grid[1], width))
    )
    return Filterbank(rows, columns, log_intensity.exp(), centre, stride)


def attention(hidden: int, height: int, width: int, grid: tuple[int, int]) -> nn.Linear:
    """The layer that emits the five numbers from `hidden`; it starts with filters that see all of the picture.

    Each lies in the middle of one of N equal parts of the longer side, and is half as wide (2σ is a part). With σ = 1
    and a grid from edge to edge, as five zeros say, two filters a side see four dark corners and nothing else.
    """
    layer = nn.Linear(hidden, NUMBERS)
    side, count = max(height, width), max(grid)
    part = side / count
    log_stride = math.log(part * max(count - 1, 1) / max(side - 1, 1))
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([0.0, 0.0, 2 * math.log(part / 2), log_stride, 0.0]))
    return layer


def read(
    pictures: Float[Tensor, "batch channel height width"], bank: Filterbank
) -> Float[Tensor, "batch channel grid_height grid_width"]:
    """γ F_Y x F_Xᵀ."""
    with exact(bank.rows):
        patch = bank.rows[:, None] @ single(pictures) @ bank.columns[:, None].transpose(2, 3)
        return bank.intensity[:, None, None, None] * patch


def write(
    patch: Float[Tensor, "batch channel grid_height grid_width"], bank: Filterbank
) -> Float[Tensor, "batch channel height width"]:
    """1/γ F_Yᵀ w F_X."""
    with exact(bank.rows):
        drawn = bank.rows[:, None].transpose(2, 3) @ single(patch) @ bank.columns[:, None]
        return drawn / bank.intensity[:, None, None, None]


def pose_of(bank: Filterbank) -> Float[Tensor, "batch 2 3"]:
    """The pose that spans the centres of the outermost filters, as glimpses have them."""
    (rows, height), (columns, width) = bank.rows.shape[1:], bank.columns.shape[1:]
    sizes = bank.centre.new_tensor([max(width - 1, 1), max(height - 1, 1)])
    middle = 2 * (bank.centre - 1) / sizes - 1
    spans = bank.stride[:, None] * bank.centre.new_tensor([columns - 1, rows - 1]) / sizes
    return torch.cat([torch.diag_embed(spans), middle[..., None]], 2)


def _filters(centre: Tensor, stride: Tensor, precision: Tensor, count: int, pixels: int) -> Tensor:
    places = torch.arange(1, count + 1, dtype=centre.dtype, device=centre.device) - count / 2 - 0.5
    means = centre[:, None] + places * stride[:, None]
    levels = torch.arange(1, pixels + 1, dtype=centre.dtype, device=centre.device)
    return torch.softmax(-precision[:, None, None] * (levels - means[..., None]).square(), 2)
