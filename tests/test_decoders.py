"""Mirror decoders."""

from copy import deepcopy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from stawm.vision.decoders import ConvDecoder
from stawm.vision.encoders import ConvEncoder
from stawm.vision.norms import GlimpseNorm
from tiny_learning import taught

BLOCKS = pytest.mark.parametrize("block", ["norm3", "plain4"])


def decoder(block: Any, glimpses: int = 3) -> ConvDecoder:
    return ConvDecoder(2, 9, 12, filters=(4, 6), strides=(1, 2), block=block, glimpses=glimpses)


@given(
    st.integers(15, 26),
    st.integers(15, 26),
    st.sampled_from(["norm3", "plain4"]),
    st.lists(st.sampled_from([1, 2]), min_size=1, max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_a_decoder_returns_the_size_that_its_encoder_took(
    height: int, width: int, block: Any, strides: list[int]
) -> None:
    structure: dict[str, Any] = {"filters": (3, 4, 5)[: len(strides)], "strides": strides, "block": block}
    encoder = ConvEncoder(3, height, width, **structure)
    mirror = ConvDecoder(4, height, width, **structure)
    assert mirror.features == encoder.features and mirror.shape == encoder.shape
    features = encoder(torch.rand(2, 3, height, width))
    assert mirror(features).shape == (2, 4, height, width)


def test_a_decoder_has_the_encoders_layers_in_reverse() -> None:
    """Kernels of one shape, backwards: with as many channels out as in, both have the same number of weights."""
    structure: dict[str, Any] = {"filters": (64, 128), "strides": (1, 2), "block": "norm3"}
    forth, back = ConvEncoder(1, 8, 8, **structure), ConvDecoder(1, 8, 8, **structure)
    shapes = [weight.shape for name, weight in forth.named_parameters() if name.startswith("convolutions")]
    mirrored = [weight.shape for name, weight in back.named_parameters() if name.startswith("convolutions")]
    assert mirrored == shapes[::-1] and len(shapes) == 2
    assert [layer.stride for layer in back.convolutions] == [(2, 2), (1, 1)]
    assert all(layer.bias is None for layer in back.convolutions)


@pytest.mark.parametrize("block", ["norm3", "plain4"])
def test_strengthened_sketches_are_so_many_times_as_large(block: Any) -> None:
    torch.manual_seed(0)
    plain = decoder(block)
    features = torch.randn(8, 3, plain.features)
    before = plain.sketches(features)
    plain.strengthen(4.0)
    torch.testing.assert_close(plain.sketches(features), 4 * before, rtol=1e-4, atol=1e-5)


def test_the_last_layer_has_no_relu_and_mnist_decoders_end_in_batch_norm() -> None:
    """A last norm of scale 1 and shift 0 leaves each channel with mean 0 and variance 1, so half of it is negative."""
    drawn = decoder("norm3")(torch.randn(64, decoder("norm3").features))
    torch.testing.assert_close(drawn.mean((0, 2, 3)), torch.zeros(2), rtol=0, atol=1e-5)
    torch.testing.assert_close(drawn.var((0, 2, 3)), torch.ones(2), rtol=0, atol=1e-2)
    assert (decoder("plain4")(torch.randn(64, decoder("plain4").features)) < 0).double().mean() > 0.2


def test_plain_layers_start_with_the_spread_of_what_they_are_given() -> None:
    """Kaiming by true inputs: after a ReLU, twice the features' mean square, whatever the strides (inner pixels)."""
    structure: dict[str, Any] = {"filters": (32, 64, 128, 128), "strides": (1, 2, 2, 2), "block": "plain4"}
    mirror = ConvDecoder(3, 32, 32, **structure)
    features = torch.randn(32, mirror.features).relu()
    drawn = mirror(features)[:, :, 8:-8, 8:-8]
    assert drawn.square().mean().item() == pytest.approx(2 * features.square().mean().item(), rel=0.5)


@BLOCKS
@pytest.mark.parametrize("training", [True, False])
def test_all_sketches_at_once_are_the_sketches_one_by_one(block: str, training: bool) -> None:
    together = decoder(block).train(training)
    apart = deepcopy(together)
    features = torch.randn(5, 3, together.features) * torch.tensor([0.5, 1.0, 3.0])[:, None]
    for _ in range(2):
        one_by_one = torch.stack([apart(features[:, glimpse], glimpse) for glimpse in range(3)], 1)
        torch.testing.assert_close(together.sketches(features), one_by_one)
    for ours, theirs in zip(together.buffers(), apart.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_evaluation_agrees_with_training() -> None:
    """With statistics taken whole from the last batch, evaluation repeats training; another glimpse's do not."""
    mirror = decoder("norm3")
    for module in mirror.modules():
        if isinstance(module, GlimpseNorm):
            module.momentum = 1.0
    features = torch.randn(256, 3, mirror.features) * torch.tensor([0.2, 1.0, 4.0])[:, None]
    trained = mirror.sketches(features)
    mirror.eval()
    torch.testing.assert_close(mirror.sketches(features), trained, rtol=0, atol=0.02)
    assert (mirror(features[:, 2], 0) - trained[:, 2]).abs().max() > 5


@BLOCKS
def test_every_parameter_gets_a_gradient(block: str) -> None:
    mirror = decoder(block)
    sketches = mirror.sketches(torch.randn(4, 3, mirror.features))
    (sketches * torch.randn_like(sketches)).sum().backward()
    names = [
        name for name, weight in mirror.named_parameters() if weight.grad is None or not weight.grad.abs().max() > 0
    ]
    assert names == [] and len(list(mirror.parameters())) == (6 if block == "norm3" else 4)


@BLOCKS
def test_a_decoder_can_learn_one_sketch(block: str) -> None:
    """From fixed features, to a checkerboard: the error falls far below 0.25, that of an even grey; 0.05 is reached."""
    mirror = decoder(block, glimpses=1)
    features = torch.randn(4, mirror.features)
    target = ((torch.arange(9)[:, None] + torch.arange(12)) % 2).float().expand(4, 2, 9, 12)
    optimiser = torch.optim.Adam(mirror.parameters(), 0.02)
    taught(optimiser, lambda: F.mse_loss(mirror(features), target), 150)
    assert F.mse_loss(mirror(features), target).item() < 0.12


def test_a_sketch_that_is_too_small_is_named() -> None:
    with pytest.raises(ValueError, match=r"6×6 .*3 layers"):
        ConvDecoder(1, 6, 6, filters=(4, 4, 4), strides=(2, 2, 2), block="norm3")
    with pytest.raises(ValueError, match="stride"):
        ConvDecoder(1, 28, 28, filters=(4, 4), strides=(2,), block="norm3")
