"""MobileNetV2 (Sandler et al., 2018) as a glimpse or context network, in its variant for pictures of 32×32 pixels."""

from itertools import pairwise

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.vision.convolution import convolve_apart
from stawm.vision.images import Takes
from stawm.vision.layout import channels_last
from stawm.vision.norms import GlimpseNorm

FEATURES = 1280
FIRST = 32
PER_PIXEL = 1600
"""About how many numbers all its maps hold for each pixel of a picture."""
# Table 2 of that paper at width 1: expansion, channels, blocks, stride of the first block. The stride of 2 of the first
# convolution and of the stage of 24 channels is 1 here, so that 32×32 pixels end as 4×4 and not as 1×1.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Module):
    """Widen, filter each channel, narrow; added to what came in where the shapes allow it."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int, glimpses: int) -> None:
        """A block that is `expansion` times as wide inside as its `inputs`."""
        super().__init__()
        inside = inputs * expansion
        widths = [inputs, inside, inside, outputs] if expansion > 1 else [inputs, inside, outputs]
        self.residual = stride == 1 and inputs == outputs
        self.convolutions = nn.ModuleList()
        self.norms = nn.ModuleList()
        depthwise = len(widths) - 3
        for layer, (before, after) in enumerate(pairwise(widths)):
            if layer == depthwise:
                convolution = nn.Conv2d(before, after, 3, stride, padding=1, groups=before, bias=False)
            else:
                convolution = nn.Conv2d(before, after, 1, bias=False)
            self.convolutions.append(convolution)
            self.norms.append(GlimpseNorm(after, glimpses))

    def forward(
        self, maps: Float[Tensor, "batch channel height width"], glimpse: int = 0
    ) -> Float[Tensor, "batch channel_out height_out width_out"]:
        """The block's feature maps on look number `glimpse`; no ReLU6 after narrowing (a linear bottleneck)."""
        result, last = maps, len(self.convolutions) - 1
        for layer, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            result = norm(convolve_apart(convolution, result), glimpse)
            if layer < last:
                result = F.relu6(result, inplace=True)
        return maps + result if self.residual else result


class MobileNetV2(nn.Module):
    """1,280 features, averaged over the picture; used like a `ConvEncoder`, with statistics for each glimpse."""

    def __init__(self, channels: int, *, glimpses: int = 1) -> None:
        """A network for pictures of `channels` channels and any size, looked at `glimpses` times."""
        super().__init__()
        self.takes: Takes = (channels, None, None)
        self.first = nn.Conv2d(channels, FIRST, 3, padding=1, bias=False)
        self.first_norm = GlimpseNorm(FIRST, glimpses)
        self.blocks = nn.ModuleList()
        inputs = FIRST
        for expansion, outputs, count, stride in STAGES:
            for number in range(count):
                self.blocks.append(InvertedResidual(inputs, outputs, stride if number == 0 else 1, expansion, glimpses))
                inputs = outputs
        self.last = nn.Conv2d(inputs, FEATURES, 1, bias=False)
        self.last_norm = GlimpseNorm(FEATURES, glimpses)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
        self.shape = (FEATURES, 1, 1)
        self.features = FEATURES

    def forward(
        self, images: Float[Tensor, "batch channel height width"], glimpse: int = 0
    ) -> Float[Tensor, "batch features"]:
        """The features of each picture, as seen on look number `glimpse`."""
        maps = F.relu6(self.first_norm(self.first(channels_last(images)), glimpse), inplace=True)
        for block in self.blocks:
            maps = block(maps, glimpse)
        return F.relu6(self.last_norm(self.last(maps), glimpse), inplace=True).mean((2, 3))
