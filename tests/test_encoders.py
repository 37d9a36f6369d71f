"""Context and glimpse networks."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stawm.vision.encoders import ConvEncoder


def test_the_papers_mnist_networks_have_the_papers_sizes() -> None:
    """28 → 13 → 6 → 2 and 8 → 6 → 2."""
    context = ConvEncoder(1, 28, 28, filters=(64, 128, 256), strides=(2, 2, 2), block="norm3")
    glimpse = ConvEncoder(1, 8, 8, filters=(64, 128), strides=(1, 2), block="norm3", glimpses=8)
    assert context.shape == (256, 2, 2) and glimpse.shape == (128, 2, 2)
    assert all(convolution.bias is None for convolution in context.convolutions)


@given(st.integers(9, 20), st.integers(9, 20), st.sampled_from(["norm3", "plain4"]), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_the_promised_number_of_features_is_what_comes(height: int, width: int, block: str, channels: int) -> None:
    encoder = ConvEncoder(channels, height, width, filters=(3, 4), strides=(1, 2), block=block)  # pyright: ignore[reportArgumentType]
    assert encoder(torch.rand(2, channels, height, width)).shape == (2, encoder.features)


def test_plain_blocks_halve_at_stride_two_and_grow_by_one_at_stride_one() -> None:
    assert ConvEncoder(3, 16, 16, filters=(8,), strides=(2,), block="plain4").shape == (8, 8, 8)
    assert ConvEncoder(3, 16, 16, filters=(8,), strides=(1,), block="plain4").shape == (8, 17, 17)


def test_place_matters_because_nothing_is_pooled() -> None:
    encoder = ConvEncoder(1, 9, 9, filters=(4,), strides=(2,), block="plain4")
    image = torch.zeros(2, 1, 9, 9)
    image[0, 0, 1, 1] = image[1, 0, 7, 7] = 1
    first, second = encoder(image)
    assert (first - second).abs().max() > 0


def test_a_picture_that_is_too_small_is_named() -> None:
    with pytest.raises(ValueError, match=r"6×6 .*3 layers"):
        ConvEncoder(1, 6, 6, filters=(4, 4, 4), strides=(2, 2, 2), block="norm3")
    with pytest.raises(ValueError, match="stride"):
        ConvEncoder(1, 28, 28, filters=(4, 4), strides=(2,), block="norm3")
