"""Pictures as networks take them: floats in [0, 1] of one shape, checked where they enter."""

import torch
from torch import Tensor, nn

from stawm.errors import DataError

Takes = tuple[int, int | None, int | None]
"""Channels, height and width of the pictures that a network takes; none where any will do."""
SLACK = 0.5
"""How far values may lie outside [0, 1]: noise may leave it by a little, but levels up to 255 leave it by far."""


def check_images(images: Tensor, takes: Takes, network: nn.Module) -> None:
    """Refuse what is no batch of pictures for this network, with a `DataError`; while it is traced nothing is asked."""
    if torch.compiler.is_compiling() or torch._C._get_tracing_state():
        return
    wanted = f"[batch, {', '.join('any' if size is None else str(size) for size in takes)}] of floats in [0, 1]"
    if not isinstance(images, Tensor):
        raise DataError(f"given a {type(images).__name__}; give a tensor {wanted}")
    shape = tuple(images.shape)
    fits = len(shape) == 4 and all(size in (None, own) for size, own in zip(takes, shape[1:], strict=True))
    if not fits or not shape[0]:
        single = "; add the batch with images[None]" if len(shape) == 3 else ""
        raise DataError(f"given pictures of shape {list(shape)}; give {wanted}{single}")
    weight = next(network.parameters(), images)
    if not images.is_floating_point():
        raise DataError(f"given pictures of {images.dtype}; give {wanted}, as in images.float() / 255")
    if images.device != weight.device:
        raise DataError(f"given pictures on {images.device}, the model is on {weight.device}; move one with .to()")
    if images.dtype != weight.dtype and not torch.is_autocast_enabled(images.device.type):
        raise DataError(
            f"given pictures of {images.dtype}, the model is of {weight.dtype}; give images.to({weight.dtype})"
        )
    check_levels(images, "the pictures")


def halves(images: Tensor) -> tuple[Tensor, Tensor]:
    """The two pictures of an image, the upper and the lower half."""
    if not isinstance(images, Tensor) or images.dim() != 4 or images.shape[2] % 2:
        kind = list(images.shape) if isinstance(images, Tensor) else type(images).__name__
        raise DataError(
            f"given {kind}; give two pictures, one above the other, as [batch, channel, twice height, width]"
        )
    first, second = images.chunk(2, 2)
    return first, second


def check_levels(images: Tensor, what: str) -> None:
    """Refuse floats that are no levels of grey or colour: NaN, infinity, and values that are not in [0, 1]."""
    if images.device.type == "meta" or not images.numel():
        return
    low, high = torch.stack(images.detach().aminmax()).tolist()
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise DataError(f"values of {what} are not finite (NaN or infinity); give floats in [0, 1]")
    if low < -SLACK or high > 1 + SLACK:
        cure = "divide by 255" if low >= 0 else "do not normalise them"
        raise DataError(f"the values of {what} lie between {low:g} and {high:g}; give floats in [0, 1]: {cure}")
