"""Poses, and what is seen through them.

A pose is an affine matrix A of two rows and three columns: it maps the corners of a glimpse, [-1, 1]², into the image,
[-1, 1]². `align_corners=True` throughout, as in the paper's experiments (the default of its time): −1 and 1 are the
centres of the outermost pixels. Pixels outside the image read as zero, so pictures are given in [0, 1] with a
background of 0.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from stawm.precision import exact, is_mixed, single

PROBES = 9
NEAR = 0.25
"""Centres of glimpses that are nearer than this crowd each other: an eighth of the picture's side."""


def identity_pose() -> Float[Tensor, "2 3"]:
    """The pose that sees the whole image."""
    return torch.eye(2, 3)


def cut(
    images: Float[Tensor, "batch channel height width"],
    pose: Float[Tensor, "poses 2 3"],
    height: int,
    width: int,
    each: int = 1,
) -> Float[Tensor, "poses channel glimpse_height glimpse_width"]:
    """The glimpse t_A of each image: `height` × `width` pixels, interpolated at the places that its pose names.

    With `each`, so many poses in a row are of one image, which is not copied for each of them.
    """
    if not is_mixed(images):
        return _sampled(images, pose, height, width, each)
    with exact(images):  # Places need single precision: in half, a pixel of 28 is not told from the next but one.
        return _sampled(single(images), single(pose), height, width, each)


def _sampled(images: Tensor, pose: Tensor, height: int, width: int, each: int) -> Tensor:
    grid = places(pose, height, width)
    if each > 1:  # The glimpses of an image, one below another, are sampled as one tall one.
        grid = grid.reshape(-1, each * height, width, 2)
    seen = F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=True)
    return seen if each == 1 else seen.unflatten(2, (each, height)).transpose(1, 2).flatten(0, 1)


def places(
    pose: Float[Tensor, "batch 2 3"], height: int, width: int
) -> Float[Tensor, "batch glimpse_height glimpse_width 2"]:
    """Where in the image each pixel of a glimpse lies: `F.affine_grid`, without its copy of [-1, 1]² for each pose."""
    across = torch.linspace(-1, 1, width, dtype=pose.dtype, device=pose.device)[:, None]
    down = torch.linspace(-1, 1, height, dtype=pose.dtype, device=pose.device)[:, None, None]
    along_width, along_height, centre = pose[:, None, None].unbind(-1)
    return along_width * across + (along_height * down + centre)


def cut_scales(
    images: Float[Tensor, "batch channel height width"],
    pose: Float[Tensor, "poses 2 3"],
    height: int,
    width: int,
    scales: int,
    each: int = 1,
) -> Float[Tensor, "poses stacked glimpse_height glimpse_width"]:
    """Concentric glimpses of `height` × `width` pixels, each twice as wide as the one before, stacked as channels.

    The first is that of `cut`. A wider one is cut in pixels as fine as the first and averaged down, so that what it
    passes over is blurred and not left out.
    """
    seen = [cut(images, pose, height, width, each)]
    for factor in (2**power for power in range(1, scales)):
        wider = torch.cat([factor * pose[..., :2], pose[..., 2:]], -1)
        seen.append(F.avg_pool2d(cut(images, wider, factor * height, factor * width, each), factor))
    return seen[0] if scales == 1 else torch.cat(seen, 1)


def crowding(poses: Float[Tensor, "batch glimpse 2 3"]) -> Float[Tensor, ""]:
    """How much glimpses look at the same place: mean of exp(−|c − c′|² / 2 r²) over all pairs of centres of a picture.

    It is 1 if all centres are one and nearly 0 if all are further apart than `NEAR`, r.
    """
    centres = poses[..., 2]
    first, second = torch.triu_indices(centres.shape[1], centres.shape[1], 1, device=poses.device)
    apart = (centres[:, first] - centres[:, second]).square().sum(-1)
    return torch.exp(-apart / (2 * NEAR**2)).mean()


def paste(
    sketch: Float[Tensor, "batch channel glimpse_height glimpse_width"],
    pose: Float[Tensor, "batch 2 3"],
    height: int,
    width: int,
) -> Float[Tensor, "batch channel height width"]:
    """The sketch t_A⁻¹(U) on a canvas of `height` × `width` pixels, zero where it does not reach.

    The pose here is the inverse one: it maps the corners of the canvas to places in the sketch. Its scale is thus the
    canvas over the stroke: 2 draws at half the size of the canvas.
    """
    return cut(sketch, pose, height, width)


def inverse(poses: Float[Tensor, "*poses 2 3"]) -> Float[Tensor, "*poses 2 3"]:
    """The true inverse of each pose [L | b], which is [L⁻¹ | −L⁻¹ b].

    Where L flattens the plane there is none, and the numbers are not finite: nothing is raised, for one such pose in a
    batch must not hide the others.
    """
    (a, b), (c, d) = (row.unbind(-1) for row in poses[..., :2].unbind(-2))
    turned = torch.stack([torch.stack([d, -b], -1), torch.stack([-c, a], -1)], -2) / (a * d - b * c)[..., None, None]
    return torch.cat([turned, -turned @ poses[..., 2:]], -1)


def outside(poses: Float[Tensor, "*poses 2 3"]) -> Float[Tensor, "*poses"]:
    """The share of each glimpse that lies outside the image, probed at the centres of an even grid of cells."""
    line = torch.linspace(-1, 1, 2 * PROBES + 1, dtype=poses.dtype, device=poses.device)[1::2]
    down, across = torch.meshgrid(line, line, indexing="ij")
    points = torch.stack([across, down, torch.ones_like(across)]).flatten(1)
    seen = poses @ points
    return (seen.abs() > 1 + 1e-6).any(-2).to(poses.dtype).mean(-1)
