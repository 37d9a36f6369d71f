"""Transpose networks: an encoder's structure in reverse, from features to a sketch."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.vision.convolution import convolve_transposed
from stawm.vision.encoders import Block, sizes
from stawm.vision.layout import channels_last
from stawm.vision.norms import GlimpseNorm


class ConvDecoder(nn.Module):
    """The mirror of the `ConvEncoder` of the same arguments: from its features back to the size of its input.

    `norm3`: 3×3 without bias, batch norm after each layer, Xavier uniform. `plain4`: 4×4 with bias, Kaiming uniform.
    ReLU after each layer but the last. Pixels that the encoder's strides left over come back as output padding.
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
        """A decoder to sketches of `channels` × `height` × `width`; `filters` and `strides` in the encoder's order."""
        super().__init__()
        layers: list[nn.ConvTranspose2d] = []
        given = f"{height}×{width}"
        for outputs, inputs, size in zip([channels, *filters], filters, sizes(filters, strides, block), strict=False):
            kernel, stride, padding = size
            (height, spare_down), (width, spare_across) = (
                divmod(side + 2 * padding - kernel, stride) for side in (height, width)
            )
            height, width = height + 1, width + 1
            if min(height, width) < 1:
                raise ValueError(f"a sketch of {given} is too small for {len(filters)} layers of {block}")
            spare = (spare_down, spare_across)
            layers.append(nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding, spare, bias=block == "plain4"))
        self.convolutions, self.norms = nn.ModuleList(reversed(layers)), nn.ModuleList()
        for layer in reversed(layers):
            if layer.bias is None:
                nn.init.xavier_uniform_(layer.weight)
                self.norms.append(GlimpseNorm(layer.out_channels, glimpses))
            else:
                # Kaiming uniform by the inputs that an output pixel has in truth: `nn.init` counts the outputs.
                inputs = layer.in_channels * math.prod(layer.kernel_size) / math.prod(layer.stride)
                bound = math.sqrt(6 / inputs)
                nn.init.uniform_(layer.weight, -bound, bound)
                nn.init.zeros_(layer.bias)
        self.shape = (filters[-1], height, width)
        self.features = math.prod(self.shape)

    @torch.no_grad()
    def strengthen(self, times: float) -> None:
        """Make all sketches so many times as large: by the scale of the last norm, or by the last weights."""
        for parameter in (self.norms[-1] if self.norms else self.convolutions[-1]).parameters():
            parameter.mul_(times)

    def forward(
        self, features: Float[Tensor, "batch features"], glimpse: int = 0
    ) -> Float[Tensor, "batch channel height width"]:
        """The sketch of glimpse number `glimpse`, before any sigmoid."""
        return self._decode(features, [glimpse])

    def sketches(
        self, features: Float[Tensor, "batch glimpse features"]
    ) -> Float[Tensor, "batch glimpse channel height width"]:
        """All the sketches of an episode; the same as `forward` for each glimpse with its number.

        Convolutions run once over everything; norms, which keep statistics for each glimpse, run glimpse by glimpse. So
        what a glimpse is normalised with never depends on the others, in training as in evaluation.
        """
        glimpses = features.shape[1]
        decoded = self._decode(features.transpose(0, 1).flatten(0, 1), list(range(glimpses)))
        return decoded.unflatten(0, (glimpses, -1)).transpose(0, 1)

    def _decode(self, features: Tensor, looks: list[int]) -> Tensor:
        """The sketches of a batch that is made of one equal part for each of `looks`."""
        maps = channels_last(features.unflatten(1, self.shape))
        last = len(self.convolutions) - 1
        for layer, convolution in enumerate(self.convolutions):
            maps = convolve_transposed(convolution, maps)
            if self.norms:
                parts = zip(maps.unflatten(0, (len(looks), -1)).unbind(), looks, strict=True)
                maps = torch.cat([self.norms[layer](part, number) for part, number in parts])
            if layer < last:
                maps = F.relu(maps, inplace=True)
        return maps
