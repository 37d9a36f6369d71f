"""The truth: both canvases as loops over images, sketches, channels and pixels, written from the equations alone."""

import math

import torch
from torch import Tensor


def read(sketch: Tensor, across: Tensor, down: Tensor) -> Tensor:
    """The sketch [height width] between its pixels at a place in [-1, 1]², where the outermost centres are −1 and 1."""
    height, width = sketch.shape
    column, row = (across + 1) / 2 * (width - 1), (down + 1) / 2 * (height - 1)
    total = torch.zeros((), dtype=torch.float64)
    top, left = math.floor(row.item()), math.floor(column.item())
    for y in (top, top + 1):
        for x in (left, left + 1):
            if 0 <= y < height and 0 <= x < width:
                total = total + sketch[y, x] * (1 - (row - y).abs()) * (1 - (column - x).abs())
    return total


def pasted(sketch: Tensor, pose: Tensor, height: int, width: int) -> list[list[Tensor]]:
    """The rows of a canvas [height width] that shows the sketch [height width] where the inverse pose puts it."""
    rows = []
    for row in range(height):
        pixels = []
        for column in range(width):
            x, y = 2 * column / (width - 1) - 1, 2 * row / (height - 1) - 1
            across = pose[0, 0] * x + pose[0, 1] * y + pose[0, 2]
            down = pose[1, 0] * x + pose[1, 1] * y + pose[1, 2]
            pixels.append(read(sketch, across, down))
        rows.append(pixels)
    return rows


def addition(sketches: Tensor, poses: Tensor, height: int, width: int, start: float) -> Tensor:
    """The canvases [batch glimpse channel height width] of equation 4, with the sigmoid after each sketch."""
    images = []
    for image in range(sketches.shape[0]):
        totals = [[[torch.tensor(start, dtype=torch.float64)] * width] * height] * sketches.shape[2]
        stages = []
        for glimpse in range(sketches.shape[1]):
            grown = []
            for channel, total in enumerate(totals):
                update = pasted(sketches[image, glimpse, channel], poses[image, glimpse], height, width)
                grown.append([[total[y][x] + update[y][x] for x in range(width)] for y in range(height)])
            totals = grown
            stages.append([[[1 / (1 + torch.exp(-pixel)) for pixel in row] for row in total] for total in totals])
        images.append(stages)
    return stacked(images)


def sampled(p: Tensor, u: Tensor, temperature: float) -> Tensor:
    """Concrete(p, τ) at the noise u: (p/(1−p) · u/(1−u))^(1/τ), as a share of itself and one; 0 for p = 0."""
    if p == 0:
        return torch.zeros((), dtype=torch.float64)
    odds = (p / (1 - p) * u / (1 - u)) ** (1 / temperature)
    return odds / (1 + odds)


def bernoulli(
    sketches: Tensor, poses: Tensor, height: int, width: int, temperature: float, noise: Tensor | None
) -> Tensor:
    """The canvases [batch glimpse channel height width] of equation 5; without noise, alpha takes the place of B."""
    images = []
    for image in range(sketches.shape[0]):
        canvas = [[[torch.zeros((), dtype=torch.float64)] * width] * height] * (sketches.shape[2] - 1)
        stages = []
        for glimpse in range(sketches.shape[1]):
            *colours, alpha = (
                pasted(1 / (1 + torch.exp(-channel)), poses[image, glimpse], height, width)
                for channel in sketches[image, glimpse]
            )
            over = []
            for below, colour in zip(canvas, colours, strict=True):
                rows = []
                for y in range(height):
                    row = []
                    for x in range(width):
                        b = alpha[y][x]
                        if noise is not None:
                            b = sampled(b, noise[image, glimpse, 0, y, x], temperature)
                        row.append(below[y][x] * (1 - b) + colour[y][x] * b)
                    rows.append(row)
                over.append(rows)
            canvas = over
            stages.append(canvas)
        images.append(stages)
    return stacked(images)


def stacked(nested: list | Tensor) -> Tensor:
    """One tensor from lists of lists of numbers that carry gradients."""
    return nested if isinstance(nested, Tensor) else torch.stack([stacked(part) for part in nested])
