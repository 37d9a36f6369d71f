"""How feature maps lie in memory: on a CPU channels last, in which convolutions of small maps are quicker."""

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
    return maps.contiguous(memory_format=torch.channels_last)
