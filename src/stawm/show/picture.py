"""Tensors as pictures, poses as outlines on them, and masks back where they belong in the picture itself."""

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from stawm.data.pictures import Frame, centred, whole
from stawm.show.sheet import Point
from stawm.vision.glimpse import inverse


def picture_of(image: Float[Tensor, "channel height width"]) -> Image.Image:
    """An image in [0, 1], grey or colour, as an RGB picture."""
    levels = (image.detach().float().cpu().clamp(0, 1) * 255).round().to(torch.uint8)
    if levels.shape[0] != 3:
        levels = levels[:1].expand(3, -1, -1)
    return Image.fromarray(levels.permute(1, 2, 0).contiguous().numpy(), "RGB")


def corners_of(poses: Float[Tensor, "*poses 2 3"], height: int, width: int) -> Float[Tensor, "*poses 4 2"]:
    """The corners of glimpses in pixels (across, down) of their image: top left, top right, bottom right, bottom left.

    Pixel (0, 0) covers [0, 1]²; with aligned corners, -1 is the centre of the first pixel and 1 that of the last.
    """
    corners = poses.new_tensor([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]])
    return (corners @ poses.mT + 1) / 2 * poses.new_tensor([width - 1, height - 1]) + 0.5


def outline_of(pose: Float[Tensor, "2 3"], height: int, width: int) -> list[Point]:
    """The corners of a glimpse in pixels of its image: top left, top right, bottom right, bottom left."""
    return [(x, y) for x, y in corners_of(pose.detach().float().cpu(), height, width).tolist()]


def pasted_outline_of(inverse_pose: Float[Tensor, "2 3"], height: int, width: int) -> list[Point] | None:
    """The corners of a sketch on the canvas that its inverse pose pastes it to; none where that pose has no inverse."""
    pose = inverse(inverse_pose.detach().double().cpu()).float()
    return outline_of(pose, height, width) if bool(pose.isfinite().all()) else None


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
