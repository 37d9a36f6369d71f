"""The blurred picture that the context sees."""

from dataclasses import replace

import pytest
import torch

from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import CnnConfig
from stawm.vision.encoders import ConvEncoder
from stawm.vision.overview import FixedOverview, Overview, blurred_size
from tiny_model import SMALL, small


def test_a_pixel_of_the_overview_is_the_mean_of_a_square() -> None:
    images = torch.rand(2, 1, 6, 9, dtype=torch.float64)
    seen = Overview(1, 6, 9, blur=3, encoder=None)(images)
    squares = [images[:, 0, r : r + 3, c : c + 3].mean((1, 2)) for r in (0, 3) for c in (0, 3, 6)]
    torch.testing.assert_close(seen, torch.stack(squares, 1))


def test_what_fills_no_square_is_averaged_over_what_there_is() -> None:
    images = torch.rand(2, 1, 5, 5)
    overview = Overview(1, 5, 5, blur=2, encoder=None)
    assert blurred_size(5, 5, 2) == (3, 3) and overview.features == 9
    torch.testing.assert_close(overview(images)[:, -1], images[:, 0, 4, 4])


def test_a_network_sees_the_means() -> None:
    encoder = ConvEncoder(1, 6, 6, filters=(4,), strides=(2,), block="norm3").eval()
    overview = Overview(1, 12, 12, blur=2, encoder=encoder).eval()
    images = torch.rand(2, 1, 12, 12)
    torch.testing.assert_close(overview(images), encoder(torch.nn.functional.avg_pool2d(images, 2)))
    assert overview.features == encoder.features and overview.takes == (1, 12, 12)


def test_an_overview_of_fixed_size_is_the_same_for_the_same_view_in_finer_pixels() -> None:
    encoder = ConvEncoder(1, 5, 5, filters=(4,), strides=(1,), block="norm3").eval()
    overview = FixedOverview(1, 5, encoder).eval()
    images = torch.rand(3, 1, 10, 10)
    finer = images.repeat_interleave(3, 2).repeat_interleave(3, 3)
    torch.testing.assert_close(overview(images), encoder(torch.nn.functional.avg_pool2d(images, 2)))
    torch.testing.assert_close(overview(finer), overview(images))
    assert overview.takes == (1, None, None) and overview.features == encoder.features
    assert FixedOverview(3, 5, None)(torch.rand(2, 3, 7, 9)).shape == (2, 75)


def test_a_model_with_such_an_overview_takes_pictures_of_any_side() -> None:
    model = small(overview_size=6, context=CnnConfig(filters=(4,), strides=(2,))).eval()
    images = torch.rand(2, 1, 12, 12)
    with torch.no_grad():
        first = model(images)
        larger = model(torch.nn.functional.interpolate(images, (48, 30), mode="nearest"))
    assert larger.poses.shape == first.poses.shape and larger.logits.shape == first.logits.shape


def test_mobilenet_takes_no_overview() -> None:
    with pytest.raises(UsageError, match="overview_size"):
        build(replace(SMALL, overview_size=6, context=CnnConfig(block="mobilenet-v2")))
