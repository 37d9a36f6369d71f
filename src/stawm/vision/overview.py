"""The picture at a glance: what the context sees may be blurred, so that details must be looked at."""

import math

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.vision.encoders import ConvEncoder
from stawm.vision.images import Takes


class FixedOverview(nn.Module):
    """The features of pictures of any side, averaged down to `size` × `size` pixels: of a network, or the means.

    What follows costs the same for a large picture as for a small one; only the means need all pixels. A picture of
    another side than those that were learnt from is taken for the same view in finer or coarser pixels.
    """

    def __init__(self, channels: int, size: int, encoder: ConvEncoder | None) -> None:
        """An overview of `size` × `size` pixels, which `encoder` takes."""
        super().__init__()
        self.takes: Takes = (channels, None, None)
        self.size, self.encoder = size, encoder
        self.features = channels * size * size if encoder is None else encoder.features

    def forward(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """What is seen of each picture before it is looked at."""
        blurred = F.adaptive_avg_pool2d(images, self.size)
        return blurred.flatten(1) if self.encoder is None else self.encoder(blurred)


class Overview(nn.Module):
    """The features of pictures averaged over squares of `blur` × `blur` pixels: of a network, or the means themselves.

    What does not fill a square at the right and lower edge is averaged over what there is.
    """

    def __init__(self, channels: int, height: int, width: int, blur: int, encoder: ConvEncoder | None) -> None:
        """An overview of pictures of `channels` × `height` × `width`; `encoder` takes what `blurred` gives."""
        super().__init__()
        self.takes: Takes = (channels, height, width)
        self.blur, self.encoder = blur, encoder
        self.features = math.prod((channels, *blurred_size(height, width, blur)))
        if encoder is not None:
            self.features = encoder.features

    def forward(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """What is seen of each picture before it is looked at."""
        blurred = F.avg_pool2d(images, self.blur, ceil_mode=True)
        return blurred.flatten(1) if self.encoder is None else self.encoder(blurred)


def blurred_size(height: int, width: int, blur: int) -> tuple[int, int]:
    """Height and width of the overview."""
    return math.ceil(height / blur), math.ceil(width / blur)
