"""Masks beside the truth, and beside the picture alone."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

HALF = 0.5
"""A pixel belongs to a mask from this alpha on."""
RING = 1 / 16
"""How far around a mask its surroundings reach, as a share of the picture's shorter side."""
RIM = 1 / 32
"""The width of the picture's own rim, as a share of the same."""
SMALL = 1 / 100
"""So much of a picture is added to a mask, in the colours around it, before it is judged: few pixels prove nothing."""
SHADES = {1: 16, 3: 4}
"""Levels of each channel that a histogram tells apart."""
Pictures = Float[Tensor, "batch channel height width"]
Masks = Bool[Tensor, "batch height width"]
Shares = Float[Tensor, "batch"]


def overlap(
    masks: Bool[Tensor, "*masks height width"], truths: Bool[Tensor, "*masks height width"]
) -> Float[Tensor, "*masks"]:
    """Intersection over union of each mask and its truth: 1 if they are the same (or both empty), 0 if apart."""
    both, either = (part.flatten(-2).sum(-1) for part in (masks & truths, masks | truths))
    return (both.double() / either.clamp(min=1)).masked_fill(either == 0, 1.0).float()


def layered(
    masks: Float[Tensor, "batch glimpse height width"],
) -> Float[Tensor, "batch glimpse height width"]:
    """What each sketch and all after it hide together, 1 − Π (1 − alpha), and what that encloses.

    A sketch need not hide what a later one will, so a thing may be drawn as a ring, and what is in it by others.
    """
    return filled(1 - (1 - masks).flip(1).cumprod(1).flip(1))


def filled(masks: Float[Tensor, "*masks height width"]) -> Float[Tensor, "*masks height width"]:
    """The masks without holes: a pixel is raised to the lowest wall that parts it from the picture's rim.

    What must be crossed on the best way out (up, down and aside), found by raising all but the rim to 1 and letting it
    sink until nothing does: the reconstruction by erosion of mathematical morphology.
    """
    walls = masks.reshape(-1, 1, *masks.shape[-2:])
    level = torch.ones_like(walls)
    for edge in ((..., 0), (..., -1), (..., 0, slice(None)), (..., -1, slice(None))):
        level[edge] = walls[edge]
    for _ in range(walls[0].numel()):  # No way out is longer.
        wide = -F.max_pool2d(-level, (1, 3), stride=1, padding=(0, 1))
        high = -F.max_pool2d(-level, (3, 1), stride=1, padding=(1, 0))
        sunk = torch.maximum(walls, torch.minimum(wide, high))
        if torch.equal(sunk, level):
            break
        level = sunk
    return level.reshape(masks.shape)


def quality(images: Pictures, masks: Masks) -> Shares:
    """How far each mask looks like that of a thing, from 0 to 1, told without knowing the truth: contrast × clearance.

    It is no promise of overlap; docs/training.md says how well the two go together.
    """
    return contrast(images, masks) * clearance(masks)


def finest(
    images: Pictures, masks: Float[Tensor, "batch offered height width"], threshold: float = HALF
) -> tuple[Float[Tensor, "batch height width"], Shares]:
    """Of all masks that are offered for a picture the one of best quality, and that quality."""
    worth = torch.stack([quality(images, mask >= threshold) for mask in masks.unbind(1)], 1)
    place = worth.argmax(1)[:, None, None, None]
    return masks.take_along_dim(place, 1)[:, 0], worth.amax(1)


def offered(masks: Float[Tensor, "batch glimpse height width"]) -> Float[Tensor, "batch offered height width"]:
    """All that a drawing offers: the mask of each sketch, then the layers."""
    return torch.cat([masks, layered(masks)], 1)


def contrast(images: Pictures, masks: Masks) -> Shares:
    """The share of colours inside a mask that are not those of a ring around it: 0 if all are alike, 1 if none is.

    Half the summed difference of the two histograms (total variation), less for a small mask, since its few pixels
    differ from any others by chance. An empty mask, or one without surroundings, has no contrast.
    """
    width = max(1, round(RING * min(masks.shape[1:])))
    grown = F.max_pool2d(masks[:, None].float(), 2 * width + 1, stride=1, padding=width)[:, 0] > 0
    ring = grown & ~masks
    inside, around = _histograms(images, masks), _histograms(images, ring)
    area = masks.flatten(1).to(images.dtype).mean(1)
    return 0.5 * (inside - around).abs().sum(1) * ring.flatten(1).any(1) * area / (area + SMALL)


def clearance(masks: Masks) -> Shares:
    """The share of the picture's rim that a mask leaves free: a thing is rarely cut off by it, what is behind it is."""
    height, width = masks.shape[1:]
    thin = max(1, round(RIM * min(height, width)))
    rim = torch.ones(height, width, dtype=torch.bool, device=masks.device)
    rim[thin : height - thin, thin : width - thin] = False
    return 1 - masks[:, rim].float().mean(1)


def _histograms(images: Pictures, masks: Masks) -> Float[Tensor, "batch colour"]:
    """The share of each colour among the pixels of a mask."""
    channels = images.shape[1]
    levels = SHADES.get(channels, 4)
    shades = (images * levels).long().clamp(0, levels - 1).flatten(2)
    places = torch.tensor([levels**channel for channel in range(channels)], device=images.device)
    colours = (shades * places[:, None]).sum(1)
    counts = torch.zeros(len(images), levels**channels, dtype=images.dtype, device=images.device)
    counts.scatter_add_(1, colours, masks.flatten(1).to(images.dtype))
    return counts / counts.sum(1, keepdim=True).clamp(min=1)
