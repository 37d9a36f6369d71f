"""How feature maps lie in memory: on a CPU channels last, in which convolutions of small maps are quicker."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def channels_last(maps: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch channel height width"]:
    """The same maps, laid out so that convolutions are quick; numbers differ from those of other layouts by rounding.

    Measured on CPUs alone (docs/speed.md), so only theirs are laid out anew; a file for another program says nothing of
    layouts.
    """
    if maps.device.type != "cpu" or torch.compiler.is_exporting():
        return maps
    if (
        maps.shape[1] == 1
    ):  # Of one channel both layouts are the same numbers, and only the strides tell which is meant.
        return maps.contiguous().squeeze(1).unsqueeze(3).permute(0, 3, 1, 2)
    return maps.contiguous(memory_format=torch.channels_last)


def flat(maps: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
    """`maps.flatten(1)`, whose gradient lies as the maps do.

    A flat gradient would come back channel by channel, and all layers before would compute with the two layouts mixed:
    batch norm then takes up to ten times as long.
    """
    if maps.device.type != "cpu" or torch.compiler.is_compiling() or torch.compiler.is_exporting():
        return maps.flatten(1)
    return _Flat.apply(maps)  # pyright: ignore[reportReturnType]


class _Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, maps: Tensor) -> Tensor:
        ctx.shape = maps.shape
        return maps.flatten(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return channels_last(gradients[0].view(ctx.shape))
