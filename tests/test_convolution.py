"""Convolutions as products against PyTorch's own, in float64 with gradients; and when they are used."""

import pytest
import torch
from torch import Tensor, nn

from stawm.vision import convolution
from stawm.vision.convolution import convolve, convolve_apart, convolve_transposed

LAYERS = [(1, 4, 3, 1), (3, 5, 3, 2), (2, 4, 4, 2), (2, 3, 2, 3)]
"""Channels, filters, kernel, stride."""


def made(channels: int, filters: int, kernel: int, stride: int, side: tuple[int, int]) -> tuple[nn.Conv2d, Tensor]:
    torch.manual_seed(0)
    layer = nn.Conv2d(channels, filters, kernel, stride, bias=False).double()
    return layer, torch.randn(3, channels, *side, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("side", [(6, 6), (7, 5), (9, 8)])
@pytest.mark.parametrize("layer", LAYERS)
def test_numbers_and_gradients_are_those_of_the_layer(layer: tuple[int, int, int, int], side: tuple[int, int]):
    ours, maps = made(*layer, side)
    found, truth = convolve(ours, maps), ours(maps)
    assert "_Product" in type(found.grad_fn).__name__, "the library was asked"
    torch.testing.assert_close(found, truth, rtol=1e-9, atol=1e-9)
    assert found.is_contiguous(memory_format=torch.channels_last)
    weights = torch.randn_like(truth)
    expected = torch.autograd.grad(truth, [maps, ours.weight], weights)
    for gradient, wanted in zip(torch.autograd.grad(found, [maps, ours.weight], weights), expected, strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-9)


def test_maps_that_are_a_part_of_others_are_read_where_they_lie():
    layer, maps = made(2, 3, 3, 1, (6, 6))
    part = maps[1:]
    torch.testing.assert_close(convolve(layer, part), layer(part))


def test_a_frozen_layer_or_frozen_maps_cost_nothing_and_pass_the_rest():
    layer, maps = made(2, 3, 3, 1, (6, 6))
    layer.requires_grad_(False)
    (gradient,) = torch.autograd.grad(convolve(layer, maps).sum(), maps)
    (wanted,) = torch.autograd.grad(layer(maps).sum(), maps)
    torch.testing.assert_close(gradient, wanted)
    assert layer.weight.grad is None


def test_half_precision_is_that_of_autocast():
    layer, maps = made(4, 8, 3, 2, (6, 6))
    layer, maps = layer.float(), maps.detach().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found, truth = convolve(layer, maps), layer(maps)
    assert found.dtype == truth.dtype == torch.bfloat16
    torch.testing.assert_close(found, truth, rtol=0.02, atol=0.02)
    found.float().sum().backward()
    assert maps.grad is not None and maps.grad.dtype == torch.float32
    assert layer.weight.grad is not None and layer.weight.grad.dtype == torch.float32


@pytest.mark.parametrize("how", ["bias", "padding", "groups", "dilation", "large", "no gradient", "evaluation"])
def test_all_else_is_the_librarys(how: str, monkeypatch: pytest.MonkeyPatch):
    options = {"bias": {"bias": True}, "padding": {"padding": 1}, "groups": {"groups": 2}, "dilation": {"dilation": 2}}
    layer = nn.Conv2d(2, 4, 3, **({"bias": False} | options.get(how, {})))
    maps = torch.randn(2, 2, 8, 8, requires_grad=how != "no gradient")
    if how == "large":
        monkeypatch.setattr(convolution, "CACHED", 4)
    with torch.set_grad_enabled(how != "evaluation"):
        found = convolve(layer, maps)
        assert "_Product" not in type(found.grad_fn).__name__
        assert torch.equal(found, layer(maps))


SIZES = [(5, 6, 4, 2, 1, (8, 8)), (6, 4, 3, 2, 0, (13, 12)), (3, 4, 4, 1, 2, (7, 6)), (4, 5, 4, 2, 1, (17, 15))]
"""Channels, filters, kernel, stride, padding and sides of the maps."""
KINDS = {"plain": (nn.Conv2d, convolve), "transposed": (nn.ConvTranspose2d, convolve_transposed)}


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_weights_as_a_product_is_that_of_the_layer(
    kind: str, size: tuple[int, int, int, int, int, tuple[int, int]], at_once: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(convolution, "CACHED_AT_ONCE", at_once)
    channels, filters, kernel, stride, padding, side = size
    layer = KINDS[kind][0](channels, filters, kernel, stride, padding).double()
    maps = torch.randn(3, channels, *side, dtype=torch.float64)
    found = layer(maps)
    gradient = torch.randn_like(found)
    (wanted,) = torch.autograd.grad(found, layer.weight, gradient)
    large, small = (gradient, maps) if kind == "transposed" else (maps, gradient)
    torch.testing.assert_close(convolution._summed(large, small, layer), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_in_half_precision_layers_of_many_filters_learn_by_products(kind: str, bias: bool):
    made, ours = KINDS[kind]
    layer = made(128, 128, 4, 2, 1, bias=bias)
    maps = torch.randn(5, 128, *((4, 4) if kind == "plain" else (2, 2)), requires_grad=True)
    leaves, found = [maps, *layer.parameters()], []
    for how in (ours, type(layer).__call__):
        with torch.autocast("cpu", torch.bfloat16):
            result = how(layer, maps)
        if how is ours:
            assert "_Learns" in str(_behind(result)), "the library was asked"
        wanted = torch.randn(result.shape, generator=torch.Generator().manual_seed(1))
        found.append(torch.autograd.grad((result.float() * wanted).sum(), leaves))
    for got, wanted in zip(*found, strict=True):
        assert got.dtype == wanted.dtype == torch.float32
        assert (got - wanted).abs().max() <= 0.02 * wanted.abs().max()


def _behind(result: Tensor) -> list[str]:
    """The names of what made a result, but for its leaves."""
    node, names = result.grad_fn, []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


@pytest.mark.parametrize("how", ["single precision", "few filters", "large maps", "frozen", "evaluation"])
def test_else_the_library_learns(how: str):
    layer = nn.Conv2d(8, 64 if how == "few filters" else 128, 4, 2, 1).requires_grad_(how != "frozen")
    side = 12 if how == "large maps" else 4
    maps = torch.randn(2, 8, side, side, requires_grad=True)
    half = torch.autocast("cpu", torch.bfloat16, enabled=how != "single precision")
    with half, torch.set_grad_enabled(how != "evaluation"):
        found = convolve(layer, maps)
        assert "_Learns" not in str(_behind(found))
        assert torch.equal(found, layer(maps))


class TestApart:
    """Channels that are filtered apart, with a stride, in half precision: against float64, gradients included."""

    @pytest.mark.parametrize(("side", "stride"), [((8, 8), 2), ((9, 7), 2), ((8, 5), 3), ((6, 6), 1)])
    def test_numbers_and_gradients_are_those_of_the_layer(self, side: tuple[int, int], stride: int):
        torch.manual_seed(0)
        layer = nn.Conv2d(6, 6, 3, stride, padding=1, groups=6, bias=False)
        maps = torch.randn(4, 6, *side).bfloat16().float().requires_grad_()
        with torch.no_grad():
            layer.weight.copy_(layer.weight.bfloat16())
        with torch.autocast("cpu", torch.bfloat16):
            found = convolve_apart(layer, maps)
        slopes = torch.randn(found.shape).bfloat16()
        gradients = torch.autograd.grad(found, [maps, layer.weight], slopes)
        exact, seen = nn.Conv2d(6, 6, 3, stride, padding=1, groups=6, bias=False).double(), maps.detach().double()
        exact.load_state_dict(layer.state_dict())
        truth = exact(seen.requires_grad_())
        wanted = torch.autograd.grad(truth, [seen, exact.weight], slopes.double())
        assert found.dtype == torch.bfloat16
        for ours, theirs in zip((found, *gradients), (truth, *wanted), strict=True):
            scale = theirs.abs().max().item()
            torch.testing.assert_close(ours.double(), theirs, rtol=0.02, atol=0.01 * scale)

    def test_only_half_precision_with_a_stride_that_learns_is_thinned_out(self):
        layer, maps = nn.Conv2d(2, 2, 3, 2, padding=1, groups=2), torch.randn(1, 2, 6, 6, requires_grad=True)
        assert "_Thinned" not in type(convolve_apart(layer, maps).grad_fn).__name__
        with torch.autocast("cpu", torch.bfloat16):
            assert "_Thinned" in type(convolve_apart(layer, maps).grad_fn).__name__
            assert "_Thinned" not in type(convolve_apart(nn.Conv2d(2, 2, 1), maps).grad_fn).__name__
            with torch.no_grad():
                torch.testing.assert_close(convolve_apart(layer, maps), layer(maps))
