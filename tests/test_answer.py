import json
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from stawm.data.prepare.prepared import Placed
from stawm.look.answer import Glimpse, Image, Look, rounded, to_json
from stawm.look.memory_view import PALETTE, MemoryStep, MemoryView, StoredRecall
from stawm.look.picture import Picture
from test_picture import opened, pixels

CORNERS = ((0.0, 0.0), (10.123456, 0.0), (10.0, -3.0), (0.0, 7.0))


def glimpse(number: int, belief: tuple[float, ...] | None = (0.25, 0.75), drawn: bool = True) -> Glimpse:
    sketch = Picture(pixels(4, 5)) if drawn else None
    corners = CORNERS if drawn else None
    return Glimpse(
        number, "#2c7be5", CORNERS, 0.123456, Picture(pixels(4, 5)), belief, sketch, corners, sketch
    )  # fmt: skip


LOOK = Look(
    name="x.png",
    model="tiny",
    inverted=True,
    notes=("dark on light: inverted",),
    found=1,
    prediction="dog",
    confidence=0.75,
    classes=("cat", "dog"),
    image=Image(9, 6, Picture(pixels(6, 9))),
    given=None,
    glimpses=(glimpse(1, (0.6, 0.4)), glimpse(2)),
)


def test_what_was_believed_after_each_glimpse():
    assert LOOK.believed() == [("cat", 0.6), ("dog", 0.75)]
    assert replace(LOOK, glimpses=(glimpse(1, None),)).believed() == []


def test_a_look_as_json_has_its_fields_and_no_others():
    told = to_json(LOOK)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert list(told) == [one.name for one in fields(Look)]
    assert (told["name"], told["inverted"], told["confidence"]) == ("x.png", True, 0.75)
    assert (told["classes"], told["memory"], told["given"], told["answers"]) == (["cat", "dog"], None, None, {})
    assert (told["image"]["width"], told["image"]["height"]) == (9, 6)
    assert (opened(told["image"]["png"]) == LOOK.image.png.array).all()
    first, second = told["glimpses"]
    assert list(first) == [one.name for one in fields(Glimpse)]
    assert (first["number"], second["number"]) == (1, 2)
    assert first["outline"] == [[0.0, 0.0], [10.1235, 0.0], [10.0, -3.0], [0.0, 7.0]]
    assert first["sketch_outline"] == first["outline"]
    assert (first["outside"], first["belief"], first["colour"]) == (0.1235, [0.6, 0.4], "#2c7be5")
    assert (opened(first["glimpse"]) == LOOK.glimpses[0].glimpse.array).all()
    assert (opened(first["canvas"]) == pixels(4, 5)).all()


def test_what_a_model_cannot_do_is_null():
    assert to_json(glimpse(1, None))["belief"] is None
    found = to_json(glimpse(1, drawn=False))
    assert (found["sketch"], found["sketch_outline"], found["canvas"]) == (None, None, None)


def test_where_the_image_lies_in_what_was_given():
    placed = to_json(replace(LOOK, given=Placed(280, 200, -3.00004, 12.34567, 7.10006)))["given"]
    assert placed == {"width": 280, "height": 200, "left": -3.0, "top": 12.3457, "scale": 7.1001}


def test_the_memory_in_json():
    matrix = Picture(pixels(3, 3), PALETTE)
    steps = (MemoryStep(matrix, 0.5, 2.0, (1.5, 0.25)), MemoryStep(matrix, 0.5, 3.00004, (2.0, 1.0)))
    recall = (StoredRecall(0.9, 2), StoredRecall(1.0, 2))
    memory = to_json(replace(LOOK, memory=MemoryView(3, steps, ((1.0, 0.33333), (0.33333, 1.0)), recall)))["memory"]
    assert memory["size"] == 3
    assert [(step["scale"], step["norm"], step["singular_values"]) for step in memory["steps"]] == [
        (0.5, 2.0, [1.5, 0.25]),
        (0.5, 3.0, [2.0, 1.0]),
    ]
    assert (opened(memory["steps"][0]["matrix"]) == PALETTE[pixels(3, 3)]).all()
    assert memory["similarity"] == [[1.0, 0.3333], [0.3333, 1.0]]
    assert memory["recall"] == [{"cosine": 0.9, "best": 2}, {"cosine": 1.0, "best": 2}]


def test_numbers_are_such_that_json_has():
    assert [rounded(value) for value in (0.123456, float("nan"), float("inf"))] == [0.1235, None, None]


def test_what_other_heads_answer_is_told_whatever_it_is():
    answers = {"count": {"value": torch.tensor(3), "shares": np.array([0.5, 0.123456])}, "word": "seven"}
    look = replace(LOOK, answers=answers)
    assert to_json(look)["answers"] == {"count": {"value": 3, "shares": [0.5, 0.1235]}, "word": "seven"}
    assert look.lines() == ["count: value 3, shares 0.5 0.1235", "word: seven"]
    shown = replace(LOOK, answers={"edges": {"map": Picture(pixels(2, 2))}})
    assert to_json(shown)["answers"]["edges"]["map"].startswith("data:image/png")
    assert shown.lines() == ["edges: map (a picture)"]


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="set"):
        to_json({"a": {1, 2}})
