import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from stawm.serve.settings import Settings
from tiny_server import JSON, QUIET, Asker, asking, look_body, looker, png


@pytest.fixture(scope="module")
def client() -> Iterator[Asker]:
    with asking(looker("sketchpad"), looker("classifier", draws=False)) as client:
        yield client


def test_metrics_count_requests_pictures_and_times():
    with asking(looker()) as client:
        client.look(look_body(png(1), png(2)))
        client.look(b"{}")
        client.get("/nothing/here?x=1")
        told = client.get("/api/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=")
    lines = told.body.decode().splitlines()
    for line in (
        'stawm_requests_total{path="/api/look",status="200"} 1.0',
        'stawm_requests_total{path="/api/look",status="422"} 1.0',
        'stawm_requests_total{path="other",status="404"} 1.0',
        'stawm_request_seconds_count{path="/api/look"} 2.0',
        'stawm_request_seconds_bucket{le="+Inf",path="/api/look"} 2.0',
        'stawm_queue_pictures{model="sketchpad"} 0.0',
        'stawm_pictures_total{model="sketchpad"} 2.0',
        "# TYPE stawm_request_seconds histogram",
    ):
        assert line in lines
    buckets = [line for line in lines if line.startswith("stawm_request_seconds_bucket") and "/api/look" in line]
    counts = [float(line.split()[-1]) for line in buckets]
    assert len(counts) == 13
    assert counts == sorted(counts)


def test_every_answer_has_the_headers_that_protect_a_browser(client: Asker):
    answers = [client.get("/"), client.get("/nothing"), client.get("/api/models"), client.look(b"")]
    answers += [client.get("/", host="evil.example"), client.ask("DELETE", "/api/look")]
    assert [answer.status for answer in answers] == [200, 404, 200, 400, 400, 405]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; img-src 'self' data: blob:;")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert "server" not in answer.headers
    assert [answer.headers["cache-control"] for answer in answers[:3]] == ["no-cache", "no-store", "no-store"]
    assert "“/nothing”" in answers[1].detail
    assert "“DELETE” is not for “/api/look”" in answers[-1].detail
    assert answers[-1].headers["allow"] == "POST"


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_names_of_this_machine_are_answered(client: Asker, host: str):
    assert client.get("/api/health", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil@localhost", "localhost/x", "", "localhost:x", "[::1", "10.0.0.1"],
)
def test_other_names_are_not_when_bound_to_this_machine(client: Asker, host: str):
    answer = client.get("/api/health", host=host)
    assert answer.status == 400
    assert answer.headers["x-frame-options"] == "DENY"
    with asking(settings=replace(QUIET, host="0.0.0.0")) as open_to_all:
        assert open_to_all.get("/api/health", host=host).status == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://localhost", 200), ("http://evil.example", 403), ("null", 403), ("https://localhost", 403)],
)
def test_pages_of_other_origins_may_not_ask(client: Asker, origin: str, status: int):
    assert client.look(look_body(png()), JSON | {"origin": origin}).status == status


def test_a_websocket_is_turned_away(client: Asker):
    sent: list[Any] = []

    async def knock() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost")]
        await client.app({"type": "websocket", "path": "/", "headers": headers}, None, send)

    client.loop.run_until_complete(knock())
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_a_failure_of_ours_is_told_without_its_details_and_the_server_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    own = looker()
    with asking(own) as client:
        with monkeypatch.context() as broken:
            broken.setattr(own, "look", lambda *_, **__: 1 / 0)
            answer = client.look(look_body(png()))
        assert answer.status == 500
        assert "failed" in answer.detail
        assert b"division" not in answer.body
        assert "ZeroDivisionError" in caplog.text
        assert client.look(look_body(png())).status == 200


def test_each_request_is_one_line_of_json_that_a_client_cannot_break(capfd: pytest.CaptureFixture[str]):
    with asking(settings=Settings()) as client:
        client.look(look_body(png(), png()))
        client.get('/a\n{"fake": 1}' + "x" * 999)
    first, second = map(json.loads, capfd.readouterr().err.splitlines())
    assert first["time"].endswith("+00:00")
    assert first["ms"] > 0
    told = {name: first[name] for name in ("method", "path", "status", "pictures", "batch")}
    assert told == {"method": "POST", "path": "/api/look", "status": 200, "pictures": 2, "batch": 2}
    assert (second["status"], second["pictures"], len(second["path"])) == (404, 0, 200)
    assert second["path"].startswith("/a\n{")


def test_lines_for_people_are_lines_too(capfd: pytest.CaptureFixture[str]):
    with asking(settings=Settings(log="text")) as client:
        client.look(look_body(png()))
        client.get("/a\nb\x1b[31m")
    first, second = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d POST /api/look 200 \d+ ms, 1 picture in a batch of 1", first)
    assert re.fullmatch(r"\d\d:\d\d:\d\d GET /a\\nb\\u001b\[31m 404 \d+ ms", second)
