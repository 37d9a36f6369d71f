import base64
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from stawm.data.prepare.placed import Placed
from stawm.look.memory_view import PALETTE, MemoryStep, MemoryView, StoredRecall
from stawm.look.seen import Pixels, Seen, SeenGlimpse, png_of, png_url, rounded

CORNERS = ((0.0, 0.0), (10.123456, 0.0), (10.0, -3.0), (0.0, 7.0))


def pixels(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(0, 256, shape, dtype=np.uint8)


def glimpse(belief: tuple[float, ...] | None = (0.25, 0.75), drawn: bool = True) -> SeenGlimpse:
    sketch: Pixels | None = pixels(4, 5) if drawn else None
    return SeenGlimpse(CORNERS, 0.123456, pixels(4, 5), belief, sketch, CORNERS if drawn else None, sketch)


SEEN = Seen(
    name="x.png",
    model="tiny",
    inverted=True,
    notes=("dark on light: inverted",),
    classes=("cat", "dog"),
    image=pixels(6, 9),
    glimpses=(glimpse((0.6, 0.4)), glimpse()),
)


def opened(url: str) -> np.ndarray:
    head, _, content = url.partition(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content)), formats=["PNG"]) as picture:
        picture.load()
        return np.asarray(picture.convert("RGB") if picture.mode == "P" else picture)


@pytest.mark.parametrize("shape", [(1, 1), (8, 5), (28, 28), (90, 70), (8, 5, 3), (64, 64, 3)])
def test_a_png_brings_back_its_pixels(shape: tuple[int, ...]):
    assert (opened(png_url(pixels(*shape))) == pixels(*shape)).all()


def test_a_png_with_a_palette_brings_back_its_colours():
    places = pixels(70, 80)
    assert (opened(png_url(places, PALETTE)) == PALETTE[places]).all()


def test_a_png_is_whole_to_other_readers():
    with Image.open(io.BytesIO(png_of(pixels(30, 20)))) as picture:
        picture.verify()


def test_the_answer_is_the_last_belief():
    assert (SEEN.prediction, SEEN.confidence, SEEN.belief) == ("dog", 0.75, (0.25, 0.75))
    assert SEEN.believed() == [("cat", 0.6), ("dog", 0.75)]


def test_a_payload_says_everything_and_is_json():
    payload = SEEN.payload()
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload
    assert {key: payload[key] for key in ("name", "model", "inverted", "notes", "prediction", "confidence")} == {
        "name": "x.png",
        "model": "tiny",
        "inverted": True,
        "notes": ["dark on light: inverted"],
        "prediction": "dog",
        "confidence": 0.75,
    }
    assert payload["classes"] == ["cat", "dog"]
    assert payload["memory"] is None
    image = payload["image"]
    assert (image["width"], image["height"]) == (9, 6)
    assert (opened(image["png"]) == SEEN.image).all()
    first, second = payload["glimpses"]
    assert (first["number"], second["number"]) == (1, 2)
    assert first["outline"] == [[0.0, 0.0], [10.1235, 0.0], [10.0, -3.0], [0.0, 7.0]]
    assert first["sketch_outline"] == first["outline"]
    assert first["outside"] == 0.1235
    assert first["belief"] == [0.6, 0.4]
    assert (opened(first["glimpse"]) == SEEN.glimpses[0].glimpse).all()
    assert (opened(first["canvas"]) == SEEN.glimpses[0].canvas).all()
    assert set(first) == {
        *("number", "outline", "outside", "glimpse", "belief", "sketch", "sketch_outline", "canvas"),
    }


def test_what_a_model_cannot_do_is_null():
    only_drew = replace(SEEN, classes=(), glimpses=(glimpse(None),)).payload()
    assert (only_drew["prediction"], only_drew["confidence"], only_drew["classes"]) == (None, None, [])
    assert only_drew["glimpses"][0]["belief"] is None
    only_classified = replace(SEEN, glimpses=(glimpse(drawn=False),)).payload()
    found = only_classified["glimpses"][0]
    assert (found["sketch"], found["sketch_outline"], found["canvas"]) == (None, None, None)
    assert only_classified["prediction"] == "dog"


def test_where_the_image_lies_in_what_was_given():
    assert SEEN.payload()["given"] is None
    placed = replace(SEEN, placed=Placed(280, 200, -3.00004, 12.34567, 7.10006)).payload()["given"]
    assert placed == {"width": 280, "height": 200, "left": -3.0, "top": 12.3457, "scale": 7.1001}


def test_the_memory_in_a_payload():
    steps = (MemoryStep(pixels(3, 3), 2.0, (1.5, 0.25)), MemoryStep(pixels(3, 3), 3.00004, (2.0, 1.0)))
    view = MemoryView(3, 0.5, steps, ((1.0, 0.33333), (0.33333, 1.0)), (StoredRecall(0.9, 2), StoredRecall(1.0, 2)))
    memory = replace(SEEN, memory=view).payload()["memory"]
    assert memory["size"] == 3
    assert [(step["scale"], step["norm"], step["singular_values"]) for step in memory["steps"]] == [
        (0.5, 2.0, [1.5, 0.25]),
        (0.5, 3.0, [2.0, 1.0]),
    ]
    assert (opened(memory["steps"][0]["matrix"]) == PALETTE[pixels(3, 3)]).all()
    assert memory["similarity"] == [[1.0, 0.3333], [0.3333, 1.0]]
    assert memory["recall"] == [{"cosine": 0.9, "best": 2}, {"cosine": 1.0, "best": 2}]


def test_numbers_are_such_that_json_has():
    assert [rounded(value) for value in (0.123456, float("nan"), float("inf"))] == [0.1235, 0.0, 0.0]
