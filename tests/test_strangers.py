"""Strangers have the size of the model's pictures, are all different, and come again with their seed."""

import pytest
import torch
from PIL import Image

from stawm.data.pictures import framed, whole
from stawm.trust.strangers import strangers


def resized(channels: int, height: int, width: int):
    def prepare(picture: Image.Image) -> torch.Tensor:
        flat = picture.convert("RGB" if channels == 3 else "L")
        return torch.from_numpy(framed(flat, (channels, height, width), whole).copy())

    return prepare


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 9, 14), (1, 7, 5)])
def test_they_fit_the_model_and_repeat(shape: tuple[int, int, int]):
    own = torch.randint(0, 256, (6, *shape), dtype=torch.uint8)
    made = strangers(own, resized(*shape), 28, seed=3)
    assert (made.shape, made.dtype) == ((28, *shape), torch.uint8)
    assert torch.equal(made, strangers(own, resized(*shape), 28, seed=3))
    assert len({picture.numpy().tobytes() for picture in made}) > 20
    assert (made.flatten(1).float().std(1) > 0).float().mean() > 0.8


def test_a_single_picture_is_enough_for_collages():
    assert len(strangers(torch.zeros(1, 1, 8, 8, dtype=torch.uint8), resized(1, 8, 8), 14)) == 14
