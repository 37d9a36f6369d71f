"""How maps lie in memory, forwards and backwards."""

import pytest
import torch
from torch import Tensor, nn

from stawm.vision.encoders import ConvEncoder
from stawm.vision.layout import channels_last, flat


@pytest.mark.parametrize("channels", [1, 3])
def test_the_numbers_stay_and_convolutions_know_the_layout(channels: int):
    maps = torch.rand(2, channels, 5, 4)
    laid = channels_last(maps)
    assert torch.equal(laid, maps)
    assert laid.stride()[1] == 1, "of one channel too, so that a convolution takes it for channels last"
    assert nn.Conv2d(channels, 4, 3)(laid).is_contiguous(memory_format=torch.channels_last)


def test_flat_features_are_in_the_order_of_channels_and_their_gradient_lies_as_the_maps_do():
    maps = channels_last(torch.rand(2, 3, 5, 4)).requires_grad_()
    features = flat(maps)
    assert torch.equal(features, maps.flatten(1))
    weights = torch.rand_like(features)
    (gradient,) = torch.autograd.grad(features, maps, weights)
    assert torch.equal(gradient, weights.view_as(maps))
    assert gradient.is_contiguous(memory_format=torch.channels_last)


def test_no_layer_of_a_network_of_digits_sees_another_layout():
    encoder = ConvEncoder(1, 8, 8, filters=(4, 6), strides=(1, 2), block="norm3")
    seen: list[bool] = []

    def look(maps: Tensor) -> None:
        seen.append(maps.is_contiguous(memory_format=torch.channels_last))

    def hook(_: nn.Module, given: tuple[Tensor, ...], result: Tensor) -> None:
        look(given[0])
        result.register_hook(look)

    for norm in encoder.norms:
        norm.register_forward_hook(hook)
    encoder(torch.rand(2, 1, 8, 8)).square().sum().backward()
    assert len(seen) == 4 and all(seen)
