import asyncio
import base64
import io
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import fields
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter

from stawm import __version__
from stawm.data.prepare.given import open_given
from stawm.experiments.experiment import ImageConfig
from stawm.look.answer import Glimpse, Look, to_json
from stawm.look.memory_view import MemoryView
from stawm.serve.looking import Looks
from stawm.serve.models import Model
from tiny_server import JSON, Answer, Asker, asking, look_body, looker, png, until

WEB = files("stawm") / "page" / "static"


@pytest.fixture(scope="module")
def client() -> Iterator[Asker]:
    with asking(looker("sketchpad"), looker("classifier", draws=False)) as client:
        yield client


def looks_of(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.body
    TypeAdapter(Looks).validate_python(answer.json())
    return answer.json()["looks"]


def pixels(data: str) -> np.ndarray:
    content = base64.b64decode(data.removeprefix("data:image/png;base64,"), validate=True)
    return np.asarray(Image.open(io.BytesIO(content))).astype(int)


def assert_alike(one: Any, other: Any) -> None:
    """The same look: numbers within the last decimal, levels within one, all else equal."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_alike(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            assert_alike(first, second)
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=2e-4)
    elif isinstance(one, str) and one.startswith("data:"):
        assert np.abs(pixels(one) - pixels(other)).max() <= 1
    else:
        assert one == other


def test_a_look_is_what_the_looker_sees(client: Asker):
    [seen] = looks_of(client.look(look_body(png(90), names=["ninety.png"], memory=True)))
    own = looker("sketchpad")
    [expected] = own.look([own.prepare(open_given(png(90), "ninety.png"))], ["ninety.png"], memory=True)
    assert_alike(seen, json.loads(json.dumps(to_json(expected))))
    assert seen["memory"]["size"] == 10
    assert len(seen["glimpses"]) == 3
    assert seen["glimpses"][0]["outline"] != seen["glimpses"][2]["outline"]


def test_pictures_come_in_order_under_their_names_from_the_model_that_was_named(client: Asker):
    shades = (30, 99, 160)
    answer = client.look(look_body(*map(png, shades), names=["a", "b", "c"], model="classifier"))
    looks = looks_of(answer)
    assert answer.json()["model"] == "classifier"
    assert answer.json()["milliseconds"] > 0
    assert [look["name"] for look in looks] == ["a", "b", "c"]
    assert {look["model"] for look in looks} == {"classifier"}
    assert [pixels(look["image"]["png"]).max() for look in looks] == list(shades)
    assert all(look["memory"] is None and look["glimpses"][0]["canvas"] is None for look in looks)


def test_bare_base64_and_line_breaks_ask_the_same(client: Asker):
    content = png(77)
    expected = looks_of(client.look(look_body(content, names=["one.png"])))
    broken_up = base64.encodebytes(content).decode()
    assert_alike(looks_of(client.look(json.dumps({"images": [broken_up], "names": ["one.png"]}).encode())), expected)
    asked = {"images": [broken_up], "names": None, "model": None}
    [look] = looks_of(client.look(json.dumps(asked).encode()))
    assert (look["name"], look["model"]) == ("picture 1", "sketchpad")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP"])
def test_every_format_is_taken(client: Asker, kind: str):
    assert looks_of(client.look(look_body(png(200, kind=kind, mode="RGB"))))[0]["prediction"] in ("0", "1", "2", "3")


def test_requests_that_come_together_are_one_batch_and_answered_as_if_alone(monkeypatch: pytest.MonkeyPatch):
    own = looker()
    sizes, begun, go, real = list[int](), threading.Event(), threading.Event(), own.look
    bodies = [look_body(png(shade)) for shade in range(10, 170, 10)]

    def look(prepared: Any, names: Any, **options: Any) -> Any:
        sizes.append(len(prepared))
        begun.set()
        assert go.wait(10)
        return real(prepared, names, **options)

    with asking(own) as client:
        singles = [looks_of(client.look(body))[0] for body in bodies]
        monkeypatch.setattr(own, "look", look)

        async def ask_all() -> list[Answer]:
            first = asyncio.ensure_future(client.asking("POST", "/api/look", bodies[0], JSON))
            await until(begun.is_set)
            others = [asyncio.ensure_future(client.asking("POST", "/api/look", body, JSON)) for body in bodies[1:]]
            while (await client.asking("GET", "/api/health")).json()["queue"] < len(others):
                await asyncio.sleep(0.005)
            go.set()
            return await asyncio.gather(first, *others)

        together = client.loop.run_until_complete(ask_all())
        told = client.get("/api/metrics").body.decode()
    for answer, single in zip(together, singles, strict=True):
        assert_alike(looks_of(answer)[0], single)
    assert sizes == [1, 15]
    assert 'stawm_batch_pictures_bucket{le="8.0",model="sketchpad"} 17.0' in told
    assert 'stawm_batch_pictures_bucket{le="16.0",model="sketchpad"} 32.0' in told


def test_models_are_described(client: Asker):
    models = TypeAdapter(list[Model]).validate_python(client.get("/api/models").json())
    assert [(one.name, one.default, one.draws, one.classifies) for one in models] == [
        ("sketchpad", True, True, True),
        ("classifier", False, False, True),
    ]
    assert models[0].image == ImageConfig(1, 12, 12)
    assert (models[0].classes, models[0].glimpses, models[0].about) == (("0", "1", "2", "3"), 3, "small")


def test_examples_are_twelve_digits_of_all_classes_that_can_be_looked_at(client: Asker):
    examples = client.get("/api/examples").json()
    assert len(examples) == 12
    assert {one["label"] for one in examples} == set("0123456789")
    assert all(pixels(one["png"]).shape == (28, 28) for one in examples)
    body = json.dumps({"images": [one["png"] for one in examples], "names": [one["name"] for one in examples]})
    assert [look["name"] for look in looks_of(client.look(body.encode()))] == [one["name"] for one in examples]


def test_health_tells_version_models_and_queue(client: Asker):
    health = client.get("/api/health").json()
    assert health == {"status": "ok", "version": __version__, "models": ["sketchpad", "classifier"], "queue": 0}


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("a\r\nSet-Cookie: x=1\0.png", "a Set-Cookie: x=1.png"),
        ("\u202egnp.exe\u200b", "gnp.exe"),
        ("x" * 500, "x" * 100),
        ("\0\t  ", "picture 1"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("../../etc/passwd", "../../etc/passwd"),
        ("ü数字.png", "ü数字.png"),
    ],
)
def test_hostile_names_lose_their_sting(client: Asker, given: str, called: str):
    answer = client.look(look_body(png(), names=[given]))
    assert looks_of(answer)[0]["name"] == called
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_and_its_files_are_served_with_types_and_tags(client: Asker):
    types = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    named = [entry.name for entry in WEB.iterdir() if f".{entry.name.rpartition('.')[2]}" in types]
    assert "index.html" in named
    for name in named:
        answer, content = client.get(f"/static/{name}"), (WEB / name).read_bytes()
        assert (answer.status, answer.body) == (200, content)
        assert answer.headers["content-type"].startswith(types["." + name.rpartition(".")[2]])
        assert answer.headers["cache-control"] == "no-cache"
        tag = answer.headers["etag"]
        again = client.get(f"/static/{name}", if_none_match=f'"old", W/{tag}')
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert client.get("/").body == (WEB / "index.html").read_bytes()
    assert client.ask("HEAD", "/").status == 200


@pytest.mark.parametrize(
    "name", ["../serve/app.py", "__init__.py", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "", ".", "\0", "nothing.js"]
)
def test_no_other_file_can_be_had(client: Asker, name: str):
    answer = client.get(f"/static/{name}")
    assert answer.status == 404
    assert "nothing at" in answer.detail


@pytest.mark.parametrize("path", ["/", "/api/docs"])
def test_pages_keep_to_their_policy(client: Asker, path: str):
    page = client.get(path).body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page)
    sources = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert sources
    for source in sources:
        assert source.startswith(("/", "data:"))
        assert source.startswith("data:") or client.get(source).status == 200


def test_the_description_has_request_answers_and_refusals(client: Asker):
    described = client.get("/api/openapi.json").json()
    names = ("look", "remember", "ask", "models", "examples", "health", "metrics")
    assert set(described["paths"]) == {f"/api/{name}" for name in names}
    look = described["paths"]["/api/look"]["post"]
    assert set(look["requestBody"]["content"]) == {"application/json"}
    asked = look["requestBody"]["content"]["application/json"]["schema"]
    assert asked["properties"]["images"]["maxItems"] == 16
    assert asked["properties"]["images"]["description"]
    assert asked["properties"]["model"]["anyOf"][0]["enum"] == ["sketchpad", "classifier"]
    assert set(look["responses"]) == {"200", "400", "403", "408", "413", "415", "422", "503"}
    assert look["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/Looks")
    for status in ("408", "422", "503"):
        assert look["responses"][status]["content"]["application/json"]["schema"]["$ref"].endswith("/Problem")
        assert look["responses"][status]["description"]
    assert "HTTPValidationError" not in json.dumps(described)
    shapes = described["components"]["schemas"]
    for kind in (Looks, Look, Glimpse, MemoryView):
        assert shapes[kind.__name__]["required"] == [one.name for one in fields(kind)]
    assert shapes["Glimpse"]["properties"]["glimpse"]["type"] == "string"
    assert "outside the image" in shapes["Glimpse"]["properties"]["outside"]["description"]
