"""Tensors as pictures, and poses as outlines on them."""

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

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
