"""The blurred picture that the context sees."""

import torch

from stawm.vision.encoders import ConvEncoder
from stawm.vision.overview import Overview, blurred_size


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
