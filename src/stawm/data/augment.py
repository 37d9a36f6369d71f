"""Random variation of whole batches: strokes of other hands, rotation, elastic warp, shift, mirror, colour.

Every number is drawn here, from the generator that is passed in; kornia only applies it.
"""

import math
from importlib import import_module
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Generator, Tensor

from stawm.data.strokes import struck
from stawm.errors import UsageError
from stawm.vision.glimpse import places

Sampling = Literal["nearest", "bilinear", "bicubic"]
Images = Float[Tensor, "batch channel height width"]
TURN = 2 * math.pi
SMOOTHNESS = 1 / 7
"""Of a warp: the width of its Gaussian as a share of the picture's shorter side (4 pixels of 28, as Simard et al.)."""


def augment(
    images: Images, variation: Any, generator: Generator, labels: Int64[Tensor, " batch"] | None = None
) -> Images:
    """The same pictures, each rotated, warped, shifted, mirrored and jittered by its own random amount.

    `variation` says how much, as an experiment's `DataConfig` does: it has the fields strokes (for which the labels are
    needed), rotate, warp, sampling, shift, flip and jitter. With nothing asked for, the tensor that came in is returned
    and no number is drawn.
    """
    if variation.strokes and labels is not None:
        images = struck(images, labels, variation.strokes, generator)
    if variation.warp:
        degrees = uniform(images, variation.rotate, generator)
        images = warped(images, degrees, variation.warp, generator, variation.sampling)
    elif variation.rotate:
        images = rotated(images, uniform(images, variation.rotate, generator), variation.sampling)
    if variation.sampling == "bicubic" and (variation.warp or variation.rotate):
        images = images.clamp(0, 1)  # it overshoots beside edges
    if variation.shift:
        images = shifted(images, variation.shift, generator)
    if variation.flip:
        images = mirrored(images, generator)
    if variation.jitter:
        images = jittered(images, variation.jitter, generator)
    return images


def uniform(images: Images, largest: float, generator: Generator) -> Float[Tensor, " batch"]:
    """One number for each picture, uniform between -largest and +largest."""
    drawn = torch.rand(len(images), generator=generator, device=generator.device)
    return (largest * (2 * drawn - 1)).to(images.device, images.dtype)


def rotated(images: Images, degrees: Float[Tensor, " batch"], sampling: Sampling = "bilinear") -> Images:
    """Each picture turned anticlockwise about its centre, with zeros where nothing was."""
    return _sampled(images, _turned(images, degrees), sampling)


def warped(
    images: Images,
    degrees: Float[Tensor, " batch"],
    deviation: float,
    generator: Generator,
    sampling: Sampling = "bilinear",
) -> Images:
    """Each picture turned anticlockwise and pulled about smoothly (Simard et al., 2003), with zeros where nothing was.

    Away from the edges a pixel's displacement has the standard deviation `deviation` (in pixels) along each axis. Both
    in one interpolation: two would blur digits so much that batch norm no longer fits sharp ones.
    """
    blur = _kornia("filters").gaussian_blur2d
    height, width = images.shape[-2:]
    half = torch.tensor([(width - 1) / 2, (height - 1) / 2], device=images.device, dtype=images.dtype)
    sigma = SMOOTHNESS * min(height, width)
    kernel = 2 * math.ceil(3 * sigma) + 1
    noise = torch.randn(len(images), 2, height, width, generator=generator, device=generator.device)
    smooth = blur(noise.to(images.device, images.dtype), kernel, (sigma, sigma), border_type="constant")
    # White noise deviates by 1 / (2 √π σ) after a Gaussian of this width. The grid counts in half sides.
    pulled = 2 * math.sqrt(math.pi) * sigma * deviation * smooth.movedim(1, -1) / half
    return _sampled(images, _turned(images, degrees) + pulled, sampling)


def _turned(images: Images, degrees: Float[Tensor, " batch"]) -> Float[Tensor, "batch height width 2"]:
    """Where each pixel comes from when pictures turn anticlockwise about the middle of their pixel grid."""
    height, width = images.shape[-2:]
    cosine, sine = torch.deg2rad(degrees).cos(), torch.deg2rad(degrees).sin()
    ratio, still = max(height - 1, 1) / max(width - 1, 1), torch.zeros_like(sine)
    rows = [cosine, -sine * ratio, still, sine / ratio, cosine, still]
    return places(torch.stack(rows, 1).unflatten(1, (2, 3)), height, width)


def _sampled(images: Images, where: Float[Tensor, "batch height width 2"], sampling: Sampling) -> Images:
    # align_corners pinned: places are counted from the centres of the outermost pixels, as those of glimpses are.
    return F.grid_sample(images, where, mode=sampling, padding_mode="zeros", align_corners=True)


def shifted(images: Images, largest: int, generator: Generator) -> Images:
    """Each picture moved by up to `largest` whole pixels in both directions: a random crop after zero padding."""
    batch, _, height, width = images.shape
    corner = torch.randint(2 * largest + 1, (2, batch, 1), generator=generator, device=generator.device)
    top, left = corner.to(images.device)
    rows = top + torch.arange(height, device=images.device)
    columns = left + torch.arange(width, device=images.device)
    padded = F.pad(images, (largest,) * 4)
    picture = torch.arange(batch, device=images.device)[:, None, None]
    return padded[picture, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).contiguous()


def mirrored(images: Images, generator: Generator) -> Images:
    """Each picture mirrored left to right, or not, with equal chances."""
    turned = torch.rand(len(images), generator=generator, device=generator.device).to(images.device) < 0.5
    return torch.where(turned[:, None, None, None], images.flip(-1), images)


def jittered(images: Images, largest: float, generator: Generator) -> Images:
    """Each picture with brightness and contrast (in colour also saturation and hue) changed by up to ±`largest`.

    The first three are factors about 1; hue is a share of the colour circle, at most half of it.
    """
    if not 0 <= largest <= 1:
        raise UsageError(f"jitter is {largest:g}; give a number from 0 up to 1, since no factor may be negative")
    enhance = _kornia("enhance")
    images = enhance.adjust_brightness_accumulative(images, 1 + uniform(images, largest, generator))
    images = enhance.adjust_contrast_with_mean_subtraction(images, 1 + uniform(images, largest, generator))
    if images.shape[1] == 3:
        images = enhance.adjust_saturation_with_gray_subtraction(images, 1 + uniform(images, largest, generator))
        images = enhance.adjust_hue(images, TURN * uniform(images, min(largest, 0.5), generator))
    return images


def _kornia(part: str) -> Any:
    try:
        return import_module(f"kornia.{part}")
    except ImportError as failure:
        raise UsageError("augmentation needs kornia: pip install 'stawm[train]'") from failure
