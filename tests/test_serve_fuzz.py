"""Requests that nobody should send, and some that are not even HTTP: none makes the server fail, hang or stop.

`benchmarks/siege.py` sends 5,000 of them to a real server.
"""

import asyncio
import json
import random
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from fuzzed_requests import FAMILIES, fuzzed
from live_server import ask, thread
from stawm.serve.guard import HEADERS
from stawm.serve.looking import Looks
from tiny_server import QUIET, Answer, Asker, asking, look_body, looker, png

SETTINGS = replace(QUIET, body=500_000, pictures=8)
LOOKS = TypeAdapter(Looks)
COUNT, BY_SCHEMA, RAW = 400, 80, 80


@pytest.fixture(scope="module")
def client() -> Iterator[Asker]:
    with asking(looker("digits", size=28), looker("sketchpad"), settings=SETTINGS) as client:
        yield client


def assert_sound(answer: Answer, asked: object) -> None:
    """An answer that a server gives on purpose: never 5xx, and a refusal is one sentence."""
    assert answer.status < 500, (answer, asked)
    assert HEADERS.items() <= answer.headers.items()
    if answer.status >= 400:
        assert 3 < len(answer.detail) < 1000, asked
    elif answer.body.startswith(b'{"looks"'):
        LOOKS.validate_python(answer.json())


def test_no_request_makes_the_server_fail_or_hang(client: Asker):
    told: Counter[tuple[str, int]] = Counter()
    for request in fuzzed(0, COUNT):
        [answer] = client.all([client.asking(request.method, request.path, iter(request.parts), request.headers)])
        if request.method != "HEAD":
            assert_sound(answer, request)
        told[request.family, answer.status] += 1
    assert {family for family, _ in told} == set(FAMILIES)
    # The requests reach what they aim at: whole pictures the models, the others each its own refusal.
    for family, status in (
        ("whole pictures", 200),
        ("broken pictures", 422),
        ("bombs", 422),
        ("broken JSON", 400),
        ("deep JSON", 413),
        ("too long", 413),
    ):
        assert told[family, status] > 5, told
    assert client.look(look_body(png())).status == 200
    assert client.get("/api/health").json()["queue"] == 0


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def test_bodies_made_from_its_own_description_are_answered_as_it_says(client: Asker):
    described = client.get("/api/openapi.json").json()["paths"]["/api/look"]["post"]
    shape = described["requestBody"]["content"]["application/json"]["schema"]
    statuses = {int(status) for status in described["responses"]}
    kinds = {
        "images": st.lists(
            st.sampled_from([png(40), png(90, kind="JPEG"), b"x"]).map(lambda one: one.hex()), max_size=9
        ),
        "names": st.lists(st.text(), max_size=3),
        "model": st.sampled_from(shape["properties"]["model"]["anyOf"][0]["enum"]) | st.text(),
        "memory": st.booleans(),
    }
    assert set(kinds) == set(shape["properties"])
    fields = {name: kind | JSON_VALUES for name, kind in kinds.items()}
    bodies = st.fixed_dictionaries({}, optional=fields) | JSON_VALUES

    @settings(max_examples=BY_SCHEMA, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(bodies)
    def try_body(body: object) -> None:
        answer = client.look(json.dumps(body).encode())
        assert_sound(answer, body)
        assert answer.status in statuses

    try_body()
    assert client.look(look_body(png())).status == 200


def test_requests_that_come_at_once_are_answered_too(client: Asker):
    async def together() -> list[Answer]:
        requests = [client.asking(one.method, one.path, iter(one.parts), one.headers) for one in fuzzed(99, 60)]
        return await asyncio.wait_for(asyncio.gather(*requests), 60)

    answers = client.loop.run_until_complete(together())
    assert {answer.status for answer in answers if answer.status >= 500} <= {503}
    assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status == 503)
    assert client.look(look_body(png())).status == 200


def test_bytes_that_are_hardly_http_do_not_stop_a_real_server():
    body = look_body(png())
    sound = b"POST /api/look HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sound += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    chance, statuses = random.Random(5), Counter[str]()
    with thread(replace(QUIET, timeout=0.3)) as port:
        for _ in range(RAW):
            sent = bytearray(sound)
            for _ in range(chance.choice([1, 2, 8])):
                at = chance.randrange(min(len(sent), 160))
                sent[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                try:
                    statuses[connection.recv(65536)[9:12].decode()] += 1
                except ConnectionResetError:
                    statuses["reset"] += 1
        assert not [status for status in statuses if status.startswith("5")], statuses
        assert statuses["400"] > RAW // 4
        assert ask(port, "POST", "/api/look", body)[0] == 200
