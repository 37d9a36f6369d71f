import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.look.memory_view import PALETTE
from stawm.look.picture import Picture, picture_of, pictures_of


def pixels(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(0, 256, shape, dtype=np.uint8)


def opened(url: str) -> np.ndarray:
    head, _, content = url.partition(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content)), formats=["PNG"]) as picture:
        picture.load()
        return np.asarray(picture.convert("RGB") if picture.mode == "P" else picture)


@pytest.mark.parametrize("shape", [(1, 1), (8, 5), (28, 28), (90, 70), (8, 5, 3), (64, 64, 3)])
def test_a_png_brings_back_its_pixels(shape: tuple[int, ...]):
    picture = Picture(pixels(*shape))
    assert picture.size == (shape[1], shape[0])
    assert (opened(picture.url()) == pixels(*shape)).all()
    assert (np.asarray(picture.image()) == pixels(*shape)).all()


def test_a_png_with_a_palette_brings_back_its_colours():
    picture = Picture(pixels(70, 80), PALETTE)
    assert (opened(picture.url()) == PALETTE[pixels(70, 80)]).all()
    assert (np.asarray(picture.image()) == PALETTE[pixels(70, 80)]).all()


def test_a_png_is_whole_to_other_readers():
    with Image.open(io.BytesIO(Picture(pixels(30, 20)).png())) as picture:
        picture.verify()


def test_tensors_are_pictures_with_their_channels_last():
    colour = torch.randint(0, 256, (3, 4, 5), dtype=torch.uint8)
    assert (picture_of(colour).array == colour.permute(1, 2, 0).numpy()).all()
    assert picture_of(colour[:1]).array.shape == (4, 5)
    images = torch.tensor([-1.0, 0.0, 0.5, 1.0, 9.0]).view(1, 1, 1, 1, 5)
    [[picture]] = pictures_of(images)
    assert picture.array.tolist() == [[0, 0, 128, 255, 255]]


def test_a_picture_is_a_string_in_descriptions_of_json():
    pydantic = pytest.importorskip("pydantic")
    assert pydantic.TypeAdapter(Picture).json_schema()["type"] == "string"
