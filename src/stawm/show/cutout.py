"""A mask of what a model saw, back where it belongs in the picture itself, and what it cuts out."""

import numpy as np
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.data.pictures import Frame, centred, whole


def placed(
    mask: Float[Tensor, "height width"], size: tuple[int, int], frame: Frame = whole, threshold: float | None = None
) -> Image.Image:
    """A mask in [0, 1] over the part of a picture of `size` (width, height) that the model saw, grey from 0 to 255.

    The model saw the frame of the picture, cropped about its centre to the mask's proportions; the rest is masked away.
    With a threshold, the mask is 255 where it is at least that and 0 elsewhere.
    """
    height, width = mask.shape
    left, top, right, bottom = centred(frame(*size), width / height)
    across, down = width / (right - left), height / (bottom - top)
    small = Image.fromarray(mask.detach().float().cpu().contiguous().numpy())
    place = (across, 0.0, -left * across, 0.0, down, -top * down)
    large = small.transform(size, Image.Transform.AFFINE, place, Image.Resampling.BILINEAR, fillcolor=0)
    shares = np.asarray(large).clip(0, 1) if threshold is None else np.asarray(large) >= threshold
    return Image.fromarray((shares * 255.0).round().astype(np.uint8))


def cutout(picture: Image.Image, mask: Image.Image) -> Image.Image:
    """The picture, transparent where the mask is 0."""
    cut = picture.convert("RGB")
    cut.putalpha(mask)
    return cut
