"""Strangers have the size of the model's pictures, are all different, and come again with their seed."""

import pytest
import torch
from PIL import Image

from stawm.data.pictures import pixels_of
from stawm.trust.strangers import strangers


def resized(channels: int, height: int, width: int):
    def prepare(picture: Image.Image) -> torch.Tensor:
        small = picture.convert("RGB" if channels == 3 else "L").resize((width, height))
        return torch.from_numpy(pixels_of(small))

    return prepare


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 9, 14), (1, 7, 5)])
def test_they_fit_the_model_and_repeat(shape: tuple[int, int, int]):
    own = torch.randint(0, 256, (6, *shape), dtype=torch.uint8)
    made = strangers(own, resized(*shape), 28, seed=3)
    assert (made.shape, made.dtype) == ((28, *shape), torch.uint8)
    assert torch.equal(made, strangers(own, resized(*shape), 28, seed=3))
    assert len({picture.numpy().tobytes() for picture in made}) > 20
    assert all(picture.float().std() > 0 for picture in made[[0, 1, 2, 3, 5]])


def test_a_single_picture_is_enough_for_collages():
    assert len(strangers(torch.zeros(1, 1, 8, 8, dtype=torch.uint8), resized(1, 8, 8), 14)) == 14
