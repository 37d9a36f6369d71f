import asyncio
import json
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from stawm.serve.settings import MIB
from tiny_server import JSON, QUIET, Answer, Asker, asking, look_body, looker, png, until, url


@pytest.fixture(scope="module")
def client() -> Iterator[Asker]:
    with asking(looker("sketchpad"), looker("classifier", draws=False)) as client:
        yield client


WRONG: list[tuple[Any, int, str]] = [
    (b"", 400, "not valid JSON"),
    (b"\xff\xfe{}", 400, "not valid JSON"),
    (b'{"images": [NaN]}', 422, "“images.0”"),
    (b"[" * 2_000, 400, "not valid JSON"),
    (b"[" * 100_000, 413, "more values than 16 pictures need"),
    (b"1" * 10_000, 400, "not valid JSON"),
    ([], 422, "an object"),
    ({}, 422, "“images”"),
    ({"images": "x"}, 422, "“images”"),
    ({"images": [1]}, 422, "“images.0”"),
    ({"images": []}, 422, "at least 1"),
    ({"images": [""]}, 422, "“picture 1” is empty"),
    ({"images": ["/etc/passwd"]}, 422, "base64"),
    ({"images": ["file:///etc/passwd"]}, 422, "base64"),
    ({"images": ["data:image/png,abc"]}, 422, "without base64"),
    ({"images": ["äöü"]}, 422, "base64"),
    ({"images": [url(b"hello")], "names": ["x.gif"]}, 422, "x.gif"),
    ({"images": [url(png())] * 17}, 422, "at most 16"),
    ({"images": [url(png())], "names": []}, 422, "1 images and 0 names"),
    ({"images": [url(png())], "names": [5]}, 422, "“names.0”"),
    ({"images": [url(png())], "model": "../../secret"}, 422, "'sketchpad' or 'classifier'"),
    ({"images": [url(png())], "model": "x" * 999}, 422, "'sketchpad' or 'classifier'"),
    ({"images": [url(png())], "model": "\ud800"}, 400, "not valid JSON"),
    ({"images": [url(png())], "model": 3}, 422, "“model”"),
    ({"images": [url(png())], "memory": "yes"}, 422, "“memory”"),
    ({"images": [url(png())], "memory": None}, 422, "“memory”"),
    ({"images": [url(png())], "path": "/etc/passwd"}, 422, "“path”"),
    ({"images": [url(png())], "p" * 999: 1}, 422, "“ppp"),
    ({str(number): 1 for number in range(2_000)}, 422, "“images”"),
    ({str(number): 1 for number in range(50_000)}, 413, "more values than 16 pictures need"),
    ({"images": [{}] * 5_000}, 413, "more values than 16 pictures need"),
    ({"images": [url(png())], "names": [",[{" * 600]}, 200, ""),
]


@pytest.mark.parametrize(("body", "status", "words"), WRONG)
def test_a_wrong_request_is_told_why_in_a_sentence(client: Asker, body: Any, status: int, words: str):
    answer = client.look(body if isinstance(body, bytes) else json.dumps(body).encode())
    assert answer.status == status
    if status != 200:
        assert words in answer.detail
        assert len(answer.detail) < 300


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({}, 415, "Content-Type"),
        ({"content-type": "text/html"}, 415, "not “text/html”"),
        (JSON | {"content-encoding": "gzip"}, 415, "compressed"),
        ({"content-type": "multipart/form-data; boundary=b"}, 415, "not “multipart/form-data”"),
        (JSON | {"content-length": "99999999999"}, 413, "longer than 20 MiB"),
    ],
)
def test_a_body_of_another_kind_is_refused(client: Asker, headers: dict[str, str], status: int, words: str):
    answer = client.look(b"whatever", headers)
    assert answer.status == status
    assert words in answer.detail


def test_broken_pictures_are_named(client: Asker):
    whole = png(200, size=(64, 64))
    answer = client.look(look_body(png(), whole[: len(whole) // 2], names=["good.png", "half.png"]))
    assert answer.status == 422
    assert "half.png" in answer.detail


def claiming(width: int, height: int) -> bytes:
    """A PNG whose head claims this size."""
    content = bytearray(png())
    content[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    content[29:33] = zlib.crc32(bytes(content[12:29])).to_bytes(4, "big")
    return bytes(content)


@pytest.mark.parametrize("size", [(10_000, 10_000), (100_000, 100_000), (2**31 - 1, 2**31 - 1)])
def test_decompression_bombs_are_refused_unopened(client: Asker, size: tuple[int, int]):
    answer = client.look(look_body(claiming(*size), names=["bomb.png"]))
    assert answer.status == 422
    assert "bomb.png" in answer.detail


def test_a_long_body_is_refused_before_it_is_read_whatever_its_head_says():
    part, most = b"x" * 65536, MIB
    with asking(settings=replace(QUIET, body=most)) as client:
        for headers in (JSON, JSON | {"content-length": "100"}, JSON | {"content-length": "none"}):
            answer = client.ask("POST", "/api/look", (part for _ in range(1000)), headers)
            assert answer.status == 413
            assert "longer than 1 MiB" in answer.detail
            assert answer.taken == most // len(part) + 1
        answer = client.ask("POST", "/api/look", (part for _ in range(1000)), JSON | {"content-length": str(most + 1)})
        assert (answer.status, answer.taken) == (413, 0)
        assert client.look(look_body(png())).status == 200


def test_bodies_that_arrive_are_limited_together_and_the_slowest_make_room():
    with asking(settings=replace(QUIET, body=100_000)) as client:
        slow = [b"x" * 99_000, 0.3, b"x"]
        askings = [client.asking("POST", "/api/look", iter(slow), JSON) for _ in range(6)]
        *answers, good = client.all([*askings, client.asking("POST", "/api/look", look_body(png()), JSON)])
        assert [answer.status for answer in answers] == [503, 503, 400, 400, 400, 400]
        assert "large requests" in answers[0].detail
        assert answers[0].headers["retry-after"] == "1"
        assert good.status == 200


def test_slow_bodies_take_no_place_from_those_that_have_arrived():
    with asking(settings=replace(QUIET, queue=1, pictures=1, batch=1, timeout=60)) as client:
        slow = [client.asking("POST", "/api/look", iter([b"{", 0.2, b"}"]), JSON) for _ in range(50)]
        *answers, good = client.all([*slow, client.asking("POST", "/api/look", look_body(png()), JSON)])
        assert good.status == 200
        assert {answer.status for answer in answers} <= {422, 503}


def test_a_full_queue_answers_503_and_when_to_come_again(monkeypatch: pytest.MonkeyPatch):
    own = looker()
    begun, go, real = threading.Event(), threading.Event(), own.look

    def look(*values: Any, **options: Any) -> Any:
        begun.set()
        assert go.wait(10)
        return real(*values, **options)

    monkeypatch.setattr(own, "look", look)
    with asking(own, settings=replace(QUIET, queue=4, pictures=4, batch=4)) as client:

        async def fill() -> list[Answer]:
            first = asyncio.ensure_future(client.asking("POST", "/api/look", look_body(png()), JSON))
            await until(begun.is_set)
            waiting = asyncio.ensure_future(client.asking("POST", "/api/look", look_body(*[png()] * 3), JSON))
            while (await client.asking("GET", "/api/health")).json()["queue"] < 3:
                await asyncio.sleep(0.005)
            refused = await client.asking("POST", "/api/look", look_body(png(), png()), JSON)
            go.set()
            return [refused, await first, await waiting]

        refused, first, waiting = client.loop.run_until_complete(fill())
        assert (first.status, waiting.status) == (200, 200)
        assert refused.status == 503
        assert refused.headers["retry-after"] == "1"
        assert "too many pictures" in refused.detail
        assert client.look(look_body(png())).status == 200


def test_a_slow_body_is_given_up_with_408():
    with asking(settings=replace(QUIET, timeout=0.2)) as client:
        answer = client.ask("POST", "/api/look", iter([b'{"images"', 5.0, b":[]}"]), JSON)
        assert answer.status == 408
        assert "within 0.2 s" in answer.detail
        assert client.get("/api/health").status == 200


def test_a_look_that_takes_too_long_is_given_up_and_not_done_later(monkeypatch: pytest.MonkeyPatch):
    own = looker()
    go, counts, real = threading.Event(), list[int](), own.look

    def look(prepared: Any, *values: Any, **options: Any) -> Any:
        counts.append(len(prepared))
        assert go.wait(10)
        return real(prepared, *values, **options)

    monkeypatch.setattr(own, "look", look)
    with asking(own, settings=replace(QUIET, timeout=0.3)) as client:
        askings = [client.asking("POST", "/api/look", look_body(*[png()] * count), JSON) for count in (1, 2)]
        for answer in client.all(askings):
            assert answer.status == 503
            assert answer.headers["retry-after"] == "1"
            assert "within 0.3 s" in answer.detail
        go.set()
        while client.look(look_body(*[png()] * 3)).status != 200:
            pass
    assert set(counts[1:]) == {3}
