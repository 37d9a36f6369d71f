"""DRAW's filters for one picture at a time, written from the paper's equations with Python loops."""

import torch
from torch import Tensor

Bank = tuple[list[list[Tensor]], list[list[Tensor]], Tensor]
"""F_Y and F_X, filter by filter and pixel by pixel, and γ."""


def naive_bank(emitted: Tensor, size: tuple[int, int], grid: tuple[int, int]) -> Bank:
    """The filters of one picture of `size` (height B, width A) from its five numbers."""
    (height, width), (rows, columns) = size, grid
    across = (width + 1) / 2 * (emitted[0] + 1)
    down = (height + 1) / 2 * (emitted[1] + 1)
    variance, intensity = torch.exp(emitted[2]), torch.exp(emitted[4])
    count = max(rows, columns)
    stride = (max(height, width) - 1) / (count - 1 if count > 1 else 1) * torch.exp(emitted[3])

    def filters(centre: Tensor, many: int, pixels: int) -> list[list[Tensor]]:
        found = []
        for i in range(1, many + 1):
            mean = centre + (i - many / 2 - 0.5) * stride
            raw = [torch.exp(-((a - mean) ** 2) / (2 * variance)) for a in range(1, pixels + 1)]
            whole = sum(raw, torch.zeros((), dtype=torch.float64))
            found.append([one / whole for one in raw])
        return found

    return filters(down, rows, height), filters(across, columns, width), intensity


def naive_read(picture: Tensor, bank: Bank) -> Tensor:
    """γ F_Y x F_Xᵀ of each channel, as sums."""
    rows, columns, intensity = bank
    return torch.stack(
        [
            torch.stack(
                [
                    torch.stack(
                        [
                            intensity
                            * sum(
                                (
                                    row[b] * column[a] * channel[b, a]
                                    for b in range(channel.shape[0])
                                    for a in range(channel.shape[1])
                                ),
                                torch.zeros((), dtype=torch.float64),
                            )
                            for column in columns
                        ]
                    )
                    for row in rows
                ]
            )
            for channel in picture
        ]
    )


def naive_write(patch: Tensor, bank: Bank) -> Tensor:
    """1/γ F_Yᵀ w F_X of each channel, as sums."""
    rows, columns, intensity = bank
    drawn = []
    for channel in patch:
        canvas = torch.zeros(len(rows[0]), len(columns[0]), dtype=torch.float64)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                canvas = canvas + channel[i, j] * torch.outer(torch.stack(row), torch.stack(column))
        drawn.append(canvas / intensity)
    return torch.stack(drawn)
