"""Scenes are remembered and asked about over HTTP; the memory travels, and nothing else is taken for one."""

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import TypeAdapter

import tiny_scene
from stawm.data import load_data
from stawm.data.prepare.given import open_given
from stawm.look.answer import to_json
from stawm.look.asked import Kept
from stawm.serve.refusal import Refusal
from stawm.serve.remembering import Answered, Remembered
from stawm.serve.token import MARK, Tokens
from test_serve_app import assert_alike
from tiny_server import JSON, Answer, Asker, asking, looker, png, url

SCENE = load_data("scenes:2x2+4:1-4").test.images[0]


def as_png(levels: Any) -> bytes:
    from io import BytesIO

    written = BytesIO()
    Image.fromarray(levels).save(written, "PNG")
    return written.getvalue()


WHOLE = as_png(SCENE[0].numpy())


@pytest.fixture(scope="module")
def client() -> Iterator[Asker]:
    with asking(looker("sketchpad"), tiny_scene.looker()) as client:
        yield client


def post(client: Asker, path: str, /, **body: Any) -> Answer:
    return client.ask("POST", path, json.dumps(body).encode(), JSON)


def remembered(client: Asker, **body: Any) -> dict[str, Any]:
    answer = post(client, "/api/remember", **(body or {"scene": url(WHOLE)}))
    assert answer.status == 200, answer.body
    TypeAdapter(Remembered).validate_python(answer.json())
    return answer.json()


def answered(client: Asker, **body: Any) -> dict[str, Any]:
    answer = post(client, "/api/ask", **body)
    assert answer.status == 200, answer.body
    TypeAdapter(Answered).validate_python(answer.json())
    return answer.json()


def test_the_answers_are_those_of_the_model_asked_here(client: Asker):
    own = tiny_scene.rememberer()
    [(seen, kept)] = own.remember([own.prepare(open_given(WHOLE, "scene"))], ["scene"])
    assert kept is not None
    told = remembered(client)
    assert_alike({name: told[name] for name in to_json(seen)}, json.loads(json.dumps(to_json(seen))))
    [wanted] = json.loads(json.dumps(to_json(own.ask([kept]))))
    found = answered(client, memory=told["memory"])
    assert_alike({name: found[name] for name in wanted}, wanted)
    assert found["model"] == tiny_scene.NAME
    for at in range(1, 5):
        one = answered(client, memory=told["memory"], at=at, model=tiny_scene.NAME)
        assert_alike(one["cells"], [wanted["cells"][at - 1]])
        assert (one["classes"], one["drawing"]) == ([], None)
    assert_alike(answered(client, memory=told["memory"], where="7")["classes"], [wanted["classes"][7]])


def test_cells_make_a_scene_and_empty_ones_make_none(client: Asker):
    digit = url(as_png(load_data("mnist-5k").test.images[0, 0].numpy()))
    told = remembered(client, cells=[None, digit, None, digit], name="two\nsixes")
    assert (told["found"], told["name"], told["rows"], told["columns"]) == (2, "two sixes", 2, 2)
    nothing = remembered(client, cells=[None, None])
    assert (nothing["memory"], nothing["found"]) == (None, 0)
    assert remembered(client, scene=url(as_png(SCENE[0].numpy() * 0)))["memory"] is None


def test_what_the_server_kept_is_nothing_so_that_any_other_answers_from_the_token(client: Asker):
    token = remembered(client)["memory"]
    wanted = answered(client, memory=token)
    with asking(tiny_scene.looker()) as other:
        found = answered(other, memory=token)
    assert_alike(found["cells"], wanted["cells"])


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("/api/remember", {}, 422, "give one of scene and cells"),
        ("/api/remember", {"scene": "x", "cells": []}, 422, "cells"),
        ("/api/remember", {"scene": "!!"}, 422, "neither a data URI nor base64"),
        ("/api/remember", {"scene": url(b"x")}, 422, "not a picture"),
        ("/api/remember", {"cells": [url(png())] * 5}, 422, "at most 4"),
        ("/api/remember", {"cells": [url(b"x")]}, 422, "cell 1"),
        ("/api/remember", {"cells": [""]}, 422, "cell 1"),
        ("/api/remember", {"cells": [3]}, 422, "cells"),
        ("/api/remember", {"scene": url(png()), "model": "sketchpad"}, 422, "“model”"),
        ("/api/remember", {"scene": url(png()), "path": "/etc/passwd"}, 422, "“path”"),
        ("/api/ask", {}, 422, "“memory”"),
        ("/api/ask", {"memory": ""}, 422, "0 letters"),
        ("/api/ask", {"memory": "A" * 9000}, 422, "“memory”"),
        ("/api/ask", {"memory": None}, 422, "“memory”"),
        ("/api/ask", {"memory": "x", "at": 5}, 422, "there is no cell 5"),
        ("/api/ask", {"memory": "x", "at": 1.5}, 422, "“at”"),
        ("/api/ask", {"memory": "x", "at": 10**30}, 422, ""),
        ("/api/ask", {"memory": "x", "where": "cat"}, 422, "no class"),
        ("/api/ask", {"memory": "x", "where": "\u202e" * 5000}, 422, "no class"),
        ("/api/ask", {"memory": "x", "picture": "y"}, 422, "“picture”"),
    ],
)
def test_refusals_are_one_sentence(client: Asker, path: str, body: dict[str, Any], status: int, told: str):
    answer = post(client, path, **body)
    assert answer.status == status, answer.body
    assert told in answer.detail
    assert len(answer.detail) < 1000


def test_other_requests_are_refused_as_for_looks(client: Asker):
    for path in ("/api/remember", "/api/ask"):
        assert client.ask("POST", path, b"{}", {"content-type": "text/plain"}).status == 415
        assert client.ask("POST", path, b"{", JSON).status == 400
        assert client.ask("POST", path, b"[" * 5000, JSON).status == 413
        assert client.ask("GET", path).status == 405


def test_a_server_without_scenes_says_so_and_does_all_else():
    with asking(looker("sketchpad")) as plain:
        for path, body in (("/api/remember", {"scene": url(WHOLE)}), ("/api/ask", {"memory": "x"})):
            answer = post(plain, path, **body)
            assert (answer.status, "--weights scenes-4-ask" in answer.detail) == (422, True)
        assert plain.get("/api/models").json()[0]["grid"] is None
        assert plain.look(json.dumps({"images": [url(png())]}).encode()).status == 200


def test_models_tell_their_grid_and_the_description_tells_of_both(client: Asker):
    assert [one["grid"] for one in client.get("/api/models").json()] == [None, {"rows": 2, "columns": 2}]
    described = client.get("/api/openapi.json").json()
    shapes = described["components"]["schemas"]
    assert set(shapes["Remembered"]["required"]) == {one.name for one in fields(Remembered)}
    for path, names in (("remember", {"scene", "cells", "name", "model"}), ("ask", {"memory", "at", "where", "model"})):
        posted = described["paths"][f"/api/{path}"]["post"]
        properties = posted["requestBody"]["content"]["application/json"]["schema"]["properties"]
        assert set(properties) == names
        assert all(one["description"] for one in properties.values())
        assert set(posted["responses"]) == {"200", "400", "403", "408", "413", "415", "422", "503"}


@pytest.fixture(scope="module")
def tokens() -> tuple[Tokens, Kept]:
    own = tiny_scene.rememberer()
    [(_, kept)] = own.remember([own.prepare(open_given(WHOLE, "scene"))], ["scene"])
    assert kept is not None
    return Tokens(own), kept


def test_a_token_holds_every_bit_of_a_memory(tokens: tuple[Tokens, Kept]):
    own, kept = tokens
    token = own.of(kept)
    assert len(token) == own.length
    again = own.read(token)
    assert kept.query is not None and kept.inverses is not None
    assert again.query is not None and again.inverses is not None
    assert torch.equal(again.codes, kept.codes)
    assert torch.equal(again.query, kept.query)
    assert torch.equal(again.inverses, kept.inverses)


def packed(own: Tokens, number: float, place: int) -> str:
    numbers = [1.0] * sum(own.sizes)
    numbers[place] = number
    return base64.b64encode(own.mark + struct.pack(f"<{len(numbers)}f", *numbers)).decode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), -0.5, 6.1, 3e38])
def test_numbers_that_no_look_writes_are_refused(tokens: tuple[Tokens, Kept], number: float):
    own, _ = tokens
    assert own.read(packed(own, 6.0, 0)).codes[0, 0] == 6
    for place in (0, own.sizes[0] - 1, own.sizes[0]):
        with pytest.raises(Refusal, match="memory"):
            own.read(packed(own, number, place))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 2e6, -2e6])
def test_places_that_are_nowhere_are_refused(tokens: tuple[Tokens, Kept], number: float):
    own, _ = tokens
    assert own.read(packed(own, -5e5, -1)).inverses is not None
    with pytest.raises(Refusal):
        own.read(packed(own, number, -1))


def test_a_token_of_another_model_is_refused(client: Asker, tokens: tuple[Tokens, Kept]):
    own, kept = tokens
    content = bytearray(base64.b64decode(own.of(kept)))
    content[MARK - 1] ^= 1
    answer = post(client, "/api/ask", memory=base64.b64encode(content).decode())
    assert (answer.status, "another model" in answer.detail) == (422, True)


def test_no_token_makes_the_server_fail(client: Asker, tokens: tuple[Tokens, Kept]):
    """Tokens that are cut, changed, mixed, or random numbers behind the right mark: an answer, or a refusal."""
    own, kept = tokens
    whole = own.of(kept)
    raw = base64.b64decode(whole)
    changed = st.tuples(st.integers(0, len(whole) - 1), st.characters()).map(
        lambda one: whole[: one[0]] + one[1] + whole[one[0] + 1 :]
    )
    numbers = st.binary(min_size=len(raw) - MARK, max_size=len(raw) - MARK).map(
        lambda more: base64.b64encode(own.mark + more).decode()
    )
    allowed = st.tuples(st.floats(0, 6, width=32), st.floats(-1e6, 1e6, width=32)).map(
        lambda pair: base64.b64encode(
            own.mark
            + struct.pack(f"<{sum(own.sizes[:2])}f", *[pair[0]] * sum(own.sizes[:2]))
            + struct.pack(f"<{own.sizes[2]}f", *[pair[1]] * own.sizes[2])
        ).decode()
    )
    cut = st.integers(0, len(whole)).map(lambda place: whole[:place])
    statuses: set[int] = set()

    @settings(max_examples=120, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.one_of(changed, numbers, allowed, cut, st.text(max_size=40)))
    def attempt(token: str) -> None:
        answer = post(client, "/api/ask", memory=token)
        statuses.add(answer.status)
        assert answer.status in (200, 422, 400)
        if answer.status == 200:
            TypeAdapter(Answered).validate_python(answer.json())
        else:
            assert 3 < len(answer.detail) < 1000

    attempt()
    assert {200, 422} <= statuses
    assert client.get("/api/health").json()["queue"] == 0


def test_questions_that_come_together_are_answered_as_if_alone(client: Asker, tokens: tuple[Tokens, Kept]):
    own, kept = tokens
    bodies = [json.dumps({"memory": own.of(kept), "at": 1 + number % 4}).encode() for number in range(24)]
    answers = client.all(client.asking("POST", "/api/ask", body, JSON) for body in bodies)
    assert {answer.status for answer in answers} == {200}
    for number, answer in enumerate(answers):
        [cell] = answer.json()["cells"]
        assert cell["number"] == 1 + number % 4
        assert_alike(answer.json()["cells"], answers[number % 4].json()["cells"])
