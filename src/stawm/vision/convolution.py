"""Convolutions of small maps as products: on a CPU quicker than those of its library, and the same but for rounding."""

import math
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from stawm.precision import exact, is_mixed

CACHED = 2304 << 10
"""Bytes of patches that a product may have: beyond them, copying them and adding them up takes what it saves."""
CACHED_AT_ONCE = 4 << 20
"""Bytes of patches that are multiplied at once for the gradient of weights."""
MANY, FEW = 128, 16
"""Filters from which on, and places up to which, that gradient is a product in half precision."""


def convolve(
    layer: nn.Module, maps: Float[Tensor, "batch channel height width"]
) -> Float[Tensor, "batch filter down across"]:
    """`layer(maps)` of an `nn.Conv2d`: as one product where what lies under the kernel is little, else by the library.

    From maps of a few pixels the library takes two to four times as long for gradients as their arithmetic would. The
    patches of such maps fit into a cache, so that a plain product of them comes near to it (docs/speed.md).
    """
    assert isinstance(layer, nn.Conv2d)
    dtype = torch.get_autocast_dtype(maps.device.type) if is_mixed(maps) else maps.dtype
    if _is_product(layer, maps, dtype):
        result: Any = _Product.apply(maps, layer.weight, layer.stride[0], dtype)
        return result
    if not _learns_by_product(layer, maps) or layer.out_channels < MANY or _places(layer, maps) > FEW:
        return layer(maps)
    own = (layer.weight.detach(), None if layer.bias is None else layer.bias.detach())
    found = torch.conv2d(maps, *own, layer.stride, layer.padding)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return _learning(found, layer, maps, layer.bias)


def convolve_transposed(
    layer: nn.Module, maps: Float[Tensor, "batch filter height width"]
) -> Float[Tensor, "batch channel down across"]:
    """`layer(maps)` of an `nn.ConvTranspose2d`.

    Its bias is added apart, for oneDNN takes up to twice as long when it adds one itself, and in the type of the maps:
    mixed, it takes twelve times as long.
    """
    assert isinstance(layer, nn.ConvTranspose2d) and not isinstance(layer.padding, str)
    size = (layer.stride, layer.padding, layer.output_padding)
    if _learns_by_product(layer, maps) and layer.in_channels >= MANY and maps.shape[2:].numel() <= FEW:
        found = _learning(F.conv_transpose2d(maps, layer.weight.detach(), None, *size), layer, maps, None)
    else:
        found = F.conv_transpose2d(maps, layer.weight, None, *size)
    return found if layer.bias is None else found.add_(layer.bias.to(found.dtype)[:, None, None])


def convolve_apart(
    layer: nn.Module, maps: Float[Tensor, "batch channel height width"]
) -> Float[Tensor, "batch filter down across"]:
    """`layer(maps)` of an `nn.Conv2d` that may filter each channel apart (a depthwise convolution).

    In half precision oneDNN has no quick gradient of one that has a stride: that of stride 1, thinned out, takes a
    sixth of its time (docs/speed.md).
    """
    assert isinstance(layer, nn.Conv2d)
    down, across = layer.stride
    thin = is_mixed(maps) and maps.device.type == "cpu" and torch.is_grad_enabled() and layer.groups > 1
    if not thin or down * across == 1 or torch.compiler.is_compiling():
        return layer(maps)
    full = F.conv2d(maps, layer.weight, layer.bias, 1, layer.padding, layer.dilation, layer.groups)
    thinned: Any = _Thinned.apply(full, down, across)
    return thinned


class _Thinned(torch.autograd.Function):
    """Every `down`-th row and `across`-th column of maps; both they and their gradient lie channels last."""

    @staticmethod
    def forward(ctx: Any, maps: Tensor, down: int, across: int) -> Tensor:
        ctx.shape, ctx.step = maps.shape, (down, across)
        return maps[..., ::down, ::across].contiguous(memory_format=torch.channels_last)

    @staticmethod
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: Tensor
    ) -> tuple[Tensor, None, None]:
        down, across = ctx.step
        full = torch.empty(ctx.shape, dtype=gradient.dtype, memory_format=torch.channels_last).zero_()
        full[..., ::down, ::across] = gradient
        return full, None, None


def _is_product(layer: nn.Conv2d, maps: Tensor, dtype: torch.dtype) -> bool:
    learns = maps.requires_grad and torch.is_grad_enabled()
    if not learns or maps.device.type != "cpu" or torch.compiler.is_compiling() or torch.compiler.is_exporting():
        return False
    # Padded kernels, which overlap more, are no quicker as products.
    plain = layer.bias is None and layer.groups == 1 and layer.dilation == (1, 1) and layer.padding == (0, 0)
    if not plain or layer.stride[0] != layer.stride[1]:
        return False
    return 0 < maps.shape[0] * _places(layer, maps) * layer.weight[0].numel() * dtype.itemsize <= CACHED


def _places(layer: nn.Conv2d, maps: Tensor) -> int:
    """Of the result, in a picture."""
    assert not isinstance(layer.padding, str)
    sizes = zip(maps.shape[2:], layer.kernel_size, layer.padding, layer.stride, strict=True)
    return math.prod((side + 2 * padding - kernel) // stride + 1 for side, kernel, padding, stride in sizes)


def _learns_by_product(layer: nn.Conv2d | nn.ConvTranspose2d, maps: Tensor) -> bool:
    """Whether products may give the gradient of its weights: on a CPU, in half precision."""
    if not (is_mixed(maps) and maps.device.type == "cpu" and layer.weight.requires_grad and torch.is_grad_enabled()):
        return False
    plain = layer.groups == 1 and layer.dilation == (1, 1) and layer.stride[0] == layer.stride[1]
    return plain and not isinstance(layer.padding, str) and not torch.compiler.is_compiling()


def _learning(found: Tensor, layer: nn.Conv2d | nn.ConvTranspose2d, maps: Tensor, bias: Tensor | None) -> Tensor:
    result: Any = _Learns.apply(found, layer.weight, bias, maps.detach(), layer)
    return result


class _Learns(torch.autograd.Function):
    """What a layer found, as it is: the gradients of its weights are found here, and that of its maps by the library.

    They are a product of patches, as in `_Product`, for some pictures at a time and summed in single precision. Of
    transposed layers patches are those of the gradient.
    """

    @staticmethod
    def forward(ctx: Any, found: Tensor, weight: Tensor, bias: Tensor | None, maps: Tensor, layer: nn.Module) -> Tensor:
        ctx.save_for_backward(maps)
        ctx.layer, ctx.dtypes = layer, (weight.dtype, None if bias is None else bias.dtype)
        ctx.mark_dirty(found)
        return found

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, None, None]:
        (maps,), layer = ctx.saved_tensors, ctx.layer
        with exact(gradient):
            pair = (maps.to(gradient.dtype), gradient)
            large, small = reversed(pair) if isinstance(layer, nn.ConvTranspose2d) else pair
            of_weight = _summed(large, small, layer).to(ctx.dtypes[0])
            of_bias = None if ctx.dtypes[1] is None else gradient.sum((0, 2, 3), dtype=ctx.dtypes[1])
        return gradient, of_weight, of_bias, None, None


def _summed(large: Tensor, small: Tensor, layer: Any) -> Float[Tensor, "filter channel kernel_height kernel_width"]:
    """Over all pictures and places, the product of what lies under the kernel and of what it gives."""
    kernel, stride, (down, across) = torch.Size(layer.kernel_size), layer.stride[0], layer.padding
    places, under = small.shape[2] * small.shape[3], kernel.numel() * large.shape[1]
    count = max(1, CACHED_AT_ONCE // (places * under * large.element_size()))
    total = large.new_zeros(small.shape[1], under, dtype=torch.promote_types(large.dtype, torch.float32))
    for some, given in zip(large.split(count), small.split(count), strict=True):
        padded = F.pad(some.permute(0, 2, 3, 1), (0, 0, across, across, down, down)).contiguous()
        rows = _rows(_patches(padded, kernel, stride)[:, : small.shape[2], : small.shape[3]])
        total += given.permute(0, 2, 3, 1).reshape(-1, small.shape[1]).t() @ rows
    return total.unflatten(1, (*kernel, -1)).permute(0, 3, 1, 2)


class _Product(torch.autograd.Function):
    """Patches · weights: a row for each place of the result, a column for each number under the kernel.

    Patches are cut again for the gradient, for to keep them until then takes three times the memory of the maps.
    """

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, stride: int, dtype: torch.dtype) -> Tensor:
        with exact(maps):
            seen = maps.to(dtype).permute(0, 2, 3, 1).contiguous()
            patches = _patches(seen, weight.shape[2:], stride)
            flat = weight.permute(2, 3, 1, 0).reshape(-1, weight.shape[0]).to(dtype)
            size = (patches.shape[0], weight.shape[0], *patches.shape[1:3])
            found = torch.empty(size, dtype=dtype, memory_format=torch.channels_last)
            torch.mm(_rows(patches), flat, out=found.permute(0, 2, 3, 1).flatten(0, 2))
        ctx.save_for_backward(seen, flat)
        ctx.stride, ctx.sizes, ctx.dtypes = stride, (weight.shape[2:], patches.shape), (maps.dtype, weight.dtype)
        return found

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        seen, flat = ctx.saved_tensors
        kernel, patches = ctx.sizes
        of_maps = of_weight = None
        with exact(gradient):
            slopes = gradient.permute(0, 2, 3, 1).reshape(-1, flat.shape[1])
            if ctx.needs_input_grad[0]:
                gathered = _gathered((slopes @ flat.t()).view(patches), seen.shape, ctx.stride)
                of_maps = gathered.permute(0, 3, 1, 2).to(ctx.dtypes[0])
            if ctx.needs_input_grad[1]:
                found = (slopes.t() @ _rows(_patches(seen, kernel, ctx.stride))).to(ctx.dtypes[1])
                of_weight = found.view(-1, *patches[3:]).permute(0, 3, 1, 2)
        return of_maps, of_weight, None, None


def _patches(
    maps: Float[Tensor, "batch height width channel"], kernel: torch.Size, stride: int
) -> Float[Tensor, "batch down across kernel_height kernel_width channel"]:
    """What lies under the kernel at each place, copied: a row of the kernel is one piece of memory."""
    batch, height, width, channels = maps.shape
    down, across = ((side - size) // stride + 1 for side, size in zip((height, width), kernel, strict=True))
    line, row = width * channels, kernel[1] * channels
    patches, size = maps.new_empty(batch, down, across, *kernel, channels), (batch, down, across, row)
    steps, steps_of_patches = (height * line, stride * line, stride * channels, 1), (*patches.stride()[:3], 1)
    for number in range(kernel[0]):
        seen = maps.as_strided(size, steps, maps.storage_offset() + number * line)
        patches.as_strided(size, steps_of_patches, number * row).copy_(seen)
    return patches


def _rows(patches: Tensor) -> Float[Tensor, "place under_kernel"]:
    return patches.flatten(3).flatten(0, 2)


def _gathered(
    patches: Float[Tensor, "batch down across kernel_height kernel_width channel"], shape: torch.Size, stride: int
) -> Float[Tensor, "batch height width channel"]:
    """The sum of all patches, each where it was cut from."""
    maps, (_, _, width, channels), (*_, high, wide, _) = patches.new_zeros(shape), shape, patches.shape
    size, line = (*patches.shape[:3], channels), width * channels
    steps, steps_of_patches = (shape[1] * line, stride * line, stride * channels, 1), (*patches.stride()[:3], 1)
    for row, column in product(range(high), range(wide)):
        part = patches.as_strided(size, steps_of_patches, (row * wide + column) * channels)
        maps.as_strided(size, steps, row * line + column * channels).add_(part)
    return maps
