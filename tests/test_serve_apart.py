import asyncio
import io

import pytest
from PIL import Image

from stawm.data import picture_file
from stawm.serve.apart import lightened
from stawm.serve.refusal import Refusal
from tiny_server import asking, look_body, png


def test_a_picture_is_decoded_in_a_process_of_its_own():
    content, size = asyncio.run(lightened(png(90, (40, 30), "JPEG", "RGB"), "x.jpg"))
    picture = Image.open(io.BytesIO(content))
    assert (picture.format, picture.mode, picture.size, size) == ("PNG", "RGB", (40, 30), (40, 30))


def test_what_cannot_be_read_there_is_told():
    with pytest.raises(Refusal, match=r"x\.png cannot be read") as refusal:
        asyncio.run(lightened(png()[:60], "x.png"))
    assert refusal.value.status == 422


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(picture_file, "SECONDS", 0)
    with pytest.raises(Refusal, match="too long"):
        asyncio.run(lightened(png(), "x.png"))


def test_a_heavy_picture_is_placed_in_the_picture_as_it_was_given():
    with asking() as client:
        answer = client.look(look_body(png(90, (2500, 2000))))
    assert answer.status == 200
    [look] = answer.json()["looks"]
    assert (look["given"]["width"], look["given"]["height"]) == (2500, 2000)
