"""Random variation of whole batches: known pixels at known places, and the generator that decides all."""

import colorsys
import itertools
import math
import sys

import numpy as np
import pytest
import torch
from kornia.geometry.transform import rotate
from PIL import Image
from torch import Generator, Tensor

from stawm.data.augment import Sampling, augment, rotated, uniform, warped
from stawm.errors import UsageError
from stawm.experiments.experiment import DataConfig

NOTHING = DataConfig(rotate=0)


def generator(seed: int = 0) -> Generator:
    return torch.Generator().manual_seed(seed)


def dot(row: int, column: int, height: int = 9, width: int = 9, batch: int = 1) -> Tensor:
    images = torch.zeros(batch, 1, height, width)
    images[:, :, row, column] = 1
    return images


def test_nothing_asked_returns_the_same_tensor_and_draws_nothing() -> None:
    images, draws = torch.rand(4, 3, 8, 8), generator()
    before = draws.get_state()
    assert augment(images, NOTHING, draws) is images
    assert torch.equal(draws.get_state(), before)


def test_quarter_turn_is_anticlockwise_about_the_middle() -> None:
    # A dot above the middle (4, 4) of 9 × 9 goes to its left; in 5 × 9 the middle is (2, 4).
    torch.testing.assert_close(rotated(dot(1, 4), torch.tensor([90.0])), dot(4, 1), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        rotated(dot(1, 4, height=5), torch.tensor([90.0])), dot(2, 3, height=5), atol=1e-5, rtol=0
    )


def test_rotation_is_bilinear_and_padded_with_zeros() -> None:
    # 45° puts a dot two to the right of the middle at (4 - √2, 4 + √2), between four pixels.
    turned = rotated(dot(4, 6), torch.tensor([45.0]))[0, 0]
    middle = (turned * torch.arange(9)[:, None]).sum() / turned.sum(), (turned * torch.arange(9)).sum() / turned.sum()
    assert float(middle[0]) == pytest.approx(4 - 2**0.5, abs=0.1)
    assert float(middle[1]) == pytest.approx(4 + 2**0.5, abs=0.1)
    corner = rotated(torch.ones(1, 1, 9, 9), torch.tensor([45.0]))[0, 0]
    assert corner[0, 0] == 0 and float(corner[4, 4]) == pytest.approx(1)


def test_rotation_stays_within_the_asked_degrees_and_uses_them() -> None:
    # The angle of each picture is read off a dot that is far from the middle.
    images = dot(20, 36, height=41, width=41, batch=256)
    turned = augment(images, DataConfig(rotate=20), generator())[:, 0]
    rows = (turned * torch.arange(41.0)[:, None]).sum((1, 2)) / turned.sum((1, 2))
    columns = (turned * torch.arange(41.0)).sum((1, 2)) / turned.sum((1, 2))
    degrees = torch.rad2deg(torch.atan2(20 - rows, columns - 20))
    assert degrees.abs().max() < 21
    assert degrees.min() < -18 and degrees.max() > 18 and abs(float(degrees.mean())) < 3


def test_a_warp_displaces_pixels_smoothly_by_the_asked_amount() -> None:
    # The grey of a pixel of a ramp is its place, so displacements can be read off the middle.
    for height, width in ((28, 28), (32, 48)):
        across = torch.arange(width, dtype=torch.float64).expand(300, 1, height, width)
        down = torch.arange(height, dtype=torch.float64)[:, None].expand(300, 1, height, width)
        middle = (..., slice(height // 2 - 3, height // 2 + 3), slice(width // 2 - 3, width // 2 + 3))
        for ramp in (across, down):
            moved = (warped(ramp.contiguous(), torch.zeros(300).double(), 0.8, generator()) - ramp)[middle]
            assert float(moved.std()) == pytest.approx(0.8, rel=0.1) and abs(float(moved.mean())) < 0.1
            neighbours = (moved[..., 1:] - moved[..., :-1]).std() / moved.std()
            assert neighbours < 0.35, "a pixel goes where its neighbours go"


@pytest.mark.parametrize(("height", "width"), [(28, 28), (20, 31)])
def test_a_warp_of_nothing_is_a_rotation(height: int, width: int) -> None:
    images, degrees = torch.rand(9, 2, height, width), torch.linspace(-40, 40, 9)
    torch.testing.assert_close(
        warped(images, degrees, 0.0, generator()), rotated(images, degrees), rtol=1e-4, atol=1e-4
    )


def test_bicubic_sampling_blurs_less_and_stays_within_bounds() -> None:
    images = torch.rand(64, 1, 28, 28).round()
    for warp in (0.0, 0.5):
        soft, sharp = (
            augment(images, DataConfig(rotate=20, warp=warp, sampling=sampling), generator())
            for sampling in ("bilinear", "bicubic")
        )
        assert sharp.std() > 1.05 * soft.std() and sharp.min() >= 0 and sharp.max() <= 1
        assert torch.corrcoef(torch.stack([soft.flatten(), sharp.flatten()]))[0, 1] > 0.95, "the same turn and warp"


@pytest.mark.parametrize(("height", "width"), [(28, 28), (20, 31)])
def test_nearest_sampling_takes_the_pixel_that_each_place_falls_into(height: int, width: int) -> None:
    """Against a loop over pixels, and against Pillow's default, which the authors' scripts rotated with."""
    images = torch.randint(0, 256, (5, 1, height, width), generator=generator()).double()
    degrees = torch.tensor([-20.0, -7.3, 0.0, 11.9, 20.0]).double()
    turned = rotated(images, degrees, "nearest")
    for image, angle, found in zip(images[:, 0], degrees.tolist(), turned[:, 0], strict=True):
        wanted, sure = _turned_by_hand(image, angle)
        assert sure.double().mean() > 0.95, "few places lie between two pixels"
        assert torch.equal(found[sure], wanted[sure])
        pillow = np.asarray(Image.fromarray(image.numpy().astype(np.uint8)).rotate(angle))
        assert np.array_equal(found[sure].numpy(), pillow[sure.numpy()])
    values = augment(images / 255, DataConfig(rotate=20, warp=0.5, sampling="nearest"), generator())
    assert set(values.unique().tolist()) <= {0.0, *(images / 255).unique().tolist()}, "no pixel is mixed of others"


def _turned_by_hand(image: Tensor, degrees: float) -> tuple[Tensor, Tensor]:
    """The picture turned anticlockwise about its middle, pixel by pixel, and where rounding cannot decide otherwise."""
    height, width = image.shape
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turned, sure = torch.zeros_like(image), torch.ones(height, width, dtype=torch.bool)
    for row, column in itertools.product(range(height), range(width)):
        right, up = column - (width - 1) / 2, (height - 1) / 2 - row
        x = (width - 1) / 2 + cosine * right + sine * up
        y = (height - 1) / 2 - (cosine * up - sine * right)
        sure[row, column] = all(abs(place % 1 - 0.5) > 1e-3 for place in (x, y))
        if 0 <= round(y) < height and 0 <= round(x) < width:
            turned[row, column] = image[round(y), round(x)]
    return turned, sure


def test_shift_moves_whole_pixels_and_lets_zeros_in() -> None:
    images = dot(4, 4, width=12, batch=400)
    moved = augment(images, DataConfig(rotate=0, shift=2), generator())
    assert torch.equal(moved.sum((1, 2, 3)), torch.ones(400))
    places = moved.nonzero()[:, 2:] - 4
    assert sorted(set(map(tuple, places.tolist()))) == [(y, x) for y in range(-2, 3) for x in range(-2, 3)]
    assert augment(torch.ones(50, 1, 4, 4), DataConfig(rotate=0, shift=4), generator()).min() == 0


def test_shift_keeps_the_channels_together() -> None:
    images = torch.rand(8, 3, 6, 7)
    moved = augment(images, DataConfig(rotate=0, shift=1), generator())
    for before, after in zip(images, moved, strict=True):
        padded = torch.nn.functional.pad(before, (1, 1, 1, 1))
        crops = [padded[:, y : y + 6, x : x + 7] for y in range(3) for x in range(3)]
        assert sum(torch.equal(after, crop) for crop in crops) == 1


def test_flip_mirrors_about_half_of_the_pictures() -> None:
    images = torch.rand(1000, 1, 2, 3)
    flipped = augment(images, DataConfig(rotate=0, flip=True), generator())
    mirrored = (flipped == images.flip(-1)).flatten(1).all(1)
    same = (flipped == images).flatten(1).all(1)
    assert torch.equal(mirrored, ~same)
    assert 430 < int(mirrored.sum()) < 570


def test_grey_jitter_changes_brightness_and_contrast_within_bounds() -> None:
    # Halves of 0.4 and 0.6 become 0.5 b ± 0.1 b c: both factors can be read back.
    images = torch.full((500, 1, 4, 4), 0.4)
    images[..., 2:] = 0.6
    changed = augment(images, DataConfig(rotate=0, jitter=0.3), generator())
    middle = changed.mean((1, 2, 3))
    brightness = middle / 0.5
    contrast = (changed[:, 0, 0, 3] - changed[:, 0, 0, 0]) / (0.4 * middle)
    for factor in (brightness, contrast):
        assert factor.min() + 1e-5 >= 0.7 and factor.max() - 1e-5 <= 1.3
        assert factor.min() < 0.72 and factor.max() > 1.28
    assert abs(float(torch.corrcoef(torch.stack([brightness, contrast]))[0, 1])) < 0.15


def test_colour_jitter_turns_the_hue_within_bounds_and_leaves_grey_grey() -> None:
    images = torch.tensor([0.6, 0.4, 0.4])[None, :, None, None].expand(400, 3, 2, 2)
    changed = augment(images, DataConfig(rotate=0, jitter=0.1), generator())
    hues = torch.tensor([colorsys.rgb_to_hsv(*colour)[0] for colour in changed[:, :, 0, 0].tolist()])
    turns = (hues + 0.5) % 1 - 0.5
    assert turns.abs().max() <= 0.1001 and turns.min() < -0.09 and turns.max() > 0.09
    saturation = changed.amax(1) - changed.amin(1)
    assert saturation.std() > 0.005
    grey = augment(torch.full((50, 3, 2, 2), 0.5), DataConfig(rotate=0, jitter=0.1), generator())
    assert (grey.amax(1) - grey.amin(1)).max() < 1e-5


def test_pixels_stay_between_zero_and_one() -> None:
    everything = DataConfig(rotate=30, warp=1.0, shift=3, flip=True, jitter=1.0)
    changed = augment(torch.rand(32, 3, 16, 12), everything, generator())
    assert changed.shape == (32, 3, 16, 12)
    assert changed.min() >= 0 and changed.max() <= 1 and changed.std() > 0.05


def test_the_generator_decides_everything() -> None:
    images, everything = torch.rand(8, 3, 12, 10), DataConfig(rotate=20, warp=1.0, shift=2, flip=True, jitter=0.2)
    torch.manual_seed(1)
    once = augment(images, everything, generator(5))
    torch.manual_seed(2)
    assert torch.equal(augment(images, everything, generator(5)), once)
    assert not torch.equal(augment(images, everything, generator(6)), once)
    untouched = images.clone()
    augment(images, everything, generator())
    assert torch.equal(images, untouched)


@pytest.mark.parametrize("sampling", ["nearest", "bilinear"])
@pytest.mark.parametrize("shape", [(28, 28), (20, 31)])
def test_turns_are_those_of_kornia(shape: tuple[int, int], sampling: Sampling) -> None:
    images = torch.rand(16, 3, *shape, generator=generator(), dtype=torch.float64)
    degrees = torch.linspace(-170, 180, 16, dtype=torch.float64) + 0.123
    found, truth = rotated(images, degrees, sampling), rotate(images, degrees, mode=sampling, align_corners=True)
    torch.testing.assert_close(found, truth, atol=1e-6, rtol=0)


def test_nonsense_is_never_done_silently() -> None:
    images = torch.rand(1, 1, 8, 8)
    with pytest.raises(UsageError, match="jitter"):
        augment(images, DataConfig(rotate=0, jitter=1.5), generator())
    with pytest.raises(RuntimeError):
        augment(images, DataConfig(rotate=0, shift=-1), generator())
    other_way = rotated(images, -uniform(images, 20, generator()))
    assert torch.equal(augment(images, DataConfig(rotate=-20), generator()), other_way), "as far as with +20"


@pytest.mark.parametrize(
    "config", [DataConfig(rotate=5, warp=1), DataConfig(rotate=0, warp=1), DataConfig(rotate=0, jitter=0.1)]
)
def test_without_kornia_the_cure_is_named(config: DataConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "kornia"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kornia", None)
    with pytest.raises(UsageError, match=r"pip install 'stawm\[train\]'"):
        augment(torch.rand(1, 1, 8, 8), config, generator())
