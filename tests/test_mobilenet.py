"""MobileNetV2 as a glimpse network."""

import pytest
import torch
from torch import Tensor, nn

from stawm.vision.mobilenet import InvertedResidual, MobileNetV2
from stawm.vision.norms import GlimpseNorm


def test_it_has_the_published_number_of_parameters() -> None:
    """2,223,872 at width 1 without the classifier, norms included, as in torchvision; running statistics are extra."""
    assert sum(weight.numel() for weight in MobileNetV2(3, glimpses=4).parameters()) == 2_223_872
    assert len([module for module in MobileNetV2(1).modules() if isinstance(module, nn.Conv2d)]) == 52


def test_small_pictures_keep_their_place_until_four_by_four() -> None:
    network, sizes = MobileNetV2(3).eval(), []
    for layer in (network.first, *network.blocks, network.last):
        layer.register_forward_hook(lambda _module, _given, maps: sizes.append(maps.shape[-1]))
    features = network(torch.rand(1, 3, 32, 32))
    assert sizes == [32, *[32] * 3, *[16] * 3, *[8] * 7, *[4] * 4, 4]
    assert features.shape == (1, network.features) and network.shape == (1280, 1, 1)


@pytest.mark.parametrize(("height", "width", "channels"), [(32, 32, 3), (9, 17, 1)])
def test_every_parameter_gets_a_gradient_for_any_size(height: int, width: int, channels: int) -> None:
    network = MobileNetV2(channels, glimpses=2)
    features = network(torch.rand(4, channels, height, width), 1)
    (features * torch.randn_like(features)).sum().backward()
    blank = [
        name for name, weight in network.named_parameters() if weight.grad is None or not weight.grad.abs().max() > 0
    ]
    assert blank == []


def test_a_block_is_added_to_its_input_only_where_shapes_agree() -> None:
    """With the last norm at zero, what remains is the input, or nothing."""

    def silent(block: InvertedResidual) -> InvertedResidual:
        nn.init.zeros_(block.norms[-1].weight)  # pyright: ignore[reportArgumentType]
        return block

    maps: Tensor = torch.rand(2, 8, 6, 6)
    torch.testing.assert_close(silent(InvertedResidual(8, 8, 1, 6, 1))(maps), maps)
    assert silent(InvertedResidual(8, 8, 2, 6, 1))(maps).abs().max() == 0
    assert silent(InvertedResidual(8, 12, 1, 6, 1))(maps).abs().max() == 0


def test_evaluation_agrees_with_training_for_each_glimpse() -> None:
    network = MobileNetV2(3, glimpses=2)
    for module in network.modules():
        if isinstance(module, GlimpseNorm):
            module.momentum = 1.0
    dim, vivid = 0.1 * torch.rand(32, 3, 32, 32), torch.rand(32, 3, 32, 32)
    trained = [network(dim, 0), network(vivid, 1)]
    network.eval()
    for number, (images, expected) in enumerate(zip((dim, vivid), trained, strict=True)):
        apart = (network(images, number) - expected).abs().mean() / expected.abs().mean()
        assert apart < 0.05
    assert (network(vivid, 0) - trained[1]).abs().mean() / trained[1].abs().mean() > 0.2
