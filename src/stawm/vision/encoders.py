"""Context and glimpse networks: stacks of convolutions without pooling, so that place is preserved."""

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.vision.convolution import convolve
from stawm.vision.images import Takes
from stawm.vision.layout import channels_last, flat
from stawm.vision.norms import GlimpseNorm

Block = Literal["norm3", "plain4"]


def sizes(filters: Sequence[int], strides: Sequence[int], block: Block) -> list[tuple[int, int, int]]:
    """The kernel, stride and padding of each layer."""
    if len(filters) != len(strides) or not filters:
        raise ValueError(f"got {len(filters)} filters and {len(strides)} strides; give one stride for each filter")
    return [(3, stride, 0) if block == "norm3" else (4, stride, 1 if stride == 2 else 2) for stride in strides]


class ConvEncoder(nn.Module):
    """A stack of convolution blocks, flattened.

    `norm3`: 3×3 without padding or bias, batch norm, ReLU, Xavier uniform (MNIST). `plain4`: 4×4 with bias and ReLU,
    padding 1 at stride 2 and 2 at stride 1, Kaiming uniform (CIFAR-10 and CelebA).
    """

    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        *,
        filters: Sequence[int],
        strides: Sequence[int],
        block: Block,
        glimpses: int = 1,
    ) -> None:
        """An encoder for pictures of `channels` × `height` × `width`, looked at `glimpses` times."""
        super().__init__()
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        given = f"{height}×{width}"
        self.takes: Takes = (channels, height, width)
        self.picture = (height, width)
        self.held = channels * height * width
        """Numbers in a picture and in the maps that are made of it."""
        first, step = 0.0, 1
        for inputs, outputs, size in zip([channels, *filters], filters, sizes(filters, strides, block), strict=False):
            kernel, stride, padding = size
            convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=block == "plain4")
            if convolution.bias is None:
                nn.init.xavier_uniform_(convolution.weight)
                self.norms.append(GlimpseNorm(outputs, glimpses))
            else:
                nn.init.kaiming_uniform_(convolution.weight, nonlinearity="relu")
                nn.init.zeros_(convolution.bias)
            self.convolutions.append(convolution)
            first, step = first + ((kernel - 1) / 2 - padding) * step, step * stride
            height, width = ((side + 2 * padding - kernel) // stride + 1 for side in (height, width))
            if min(height, width) < 1:
                raise ValueError(f"a picture of {given} is too small for {len(filters)} layers of {block}")
            self.held += outputs * height * width
        self.shape = (filters[-1], height, width)
        self.features = filters[-1] * height * width
        self.first, self.step = first, step
        """The pixel about which the first place of the last map lies, and how many pixels on the next one does."""

    def forward(
        self, images: Float[Tensor, "batch channel height width"], glimpse: int = 0
    ) -> Float[Tensor, "batch features"]:
        """The features of each picture, as seen on look number `glimpse`."""
        maps = channels_last(images)
        for layer, convolution in enumerate(self.convolutions):
            maps = convolve(convolution, maps)
            if self.norms:
                maps = self.norms[layer](maps, glimpse)
            maps = F.relu(maps, inplace=True)
        return flat(maps)

    @property
    def cells(self) -> Float[Tensor, "cell 2"]:
        """The centre, (across, down) in [-1, 1]², of what each place of the last map sees of the picture."""
        down, across = (
            2 * (self.first + self.step * torch.arange(count)) / max(side - 1, 1) - 1
            for count, side in zip(self.shape[1:], self.picture, strict=True)
        )
        return torch.cartesian_prod(down, across).flip(1)
