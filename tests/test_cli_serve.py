import http.client
import json
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn

from live_server import all_of, ask, head, process, thread
from stawm.cli import main
from stawm.serve.settings import MIB, Settings
from stawm.store.weights import export
from tiny_server import QUIET, look_body, looker, png


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = looker()
    return export(own.model, own.experiment, tmp_path_factory.mktemp("weights") / "mine")


def test_a_signal_stops_it_gently_with_code_0(weights: Path):
    body = look_body(png())
    with process("--weights", str(weights), "--log", "json") as (server, port):
        assert ask(port, "GET", "/api/health")[1]["models"] == ["mine"]
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(head(len(body)) + body[:20])
            time.sleep(0.3)
            server.send_signal(signal.SIGTERM)
            with pytest.raises(OSError):
                while True:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    time.sleep(0.05)
            connection.sendall(body[20:])
            told = all_of(connection)
        assert told.startswith(b"HTTP/1.1 200")
        assert len(json.loads(told.partition(b"\r\n\r\n")[2])["looks"]) == 1
        output, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    assert output == ""
    lines = [json.loads(line) for line in errors.splitlines()]
    assert [(line["path"], line["status"]) for line in lines] == [("/api/health", 200), ("/api/look", 200)]


def test_workers_answer_once_they_say_so_and_end_with_their_parent(weights: Path):
    with process("--weights", str(weights), "--workers", "2", "--log", "none") as (server, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/api/metrics")
        told = connection.getresponse().read().decode()
        [worker] = set(re.findall(r'process="(\d+)"', told))
        connection.close()
        assert int(worker) != server.pid
        server.kill()
        server.communicate()
        deadline = time.monotonic() + 60
        with pytest.raises(OSError):
            while time.monotonic() < deadline:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                time.sleep(0.05)


def test_a_port_in_use_is_one_line_and_code_2(weights: Path, capsys: pytest.CaptureFixture[str]):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", "--weights", str(weights), "--port", str(port)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("stawm: ") and f"127.0.0.1 port {port}" in line
    assert "--port" in line


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--port", "70000"], 2, "65535"),
        (["--port", "-1"], 2, "--port"),
        (["--batch", "0"], 2, "--batch is 0"),
        (["--workers", "0"], 2, "--workers is 0"),
        (["--timeout", "nan"], 2, "--timeout is nan"),
        (["--queue", "3"], 2, "--queue"),
        (["--host", "no.such.host.invalid"], 2, "no.such.host.invalid"),
        (["--host", "192.0.2.1"], 2, "cannot listen on 192.0.2.1"),
        (["--weights", "no-such-weights"], 4, "no-such-weights"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    options: list[str], code: int, words: str, weights: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["serve", "--port", "0", "--weights", str(weights), *options]) == code
    [line] = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delitem(sys.modules, "stawm.serve.run", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "uvicorn" in line
    assert 'pip install "stawm[serve]"' in line


def test_the_settings_are_those_of_the_command_line(monkeypatch: pytest.MonkeyPatch):
    given: list[Settings] = []
    monkeypatch.setattr("stawm.serve.run.run_server", given.append)
    many = "--host 0.0.0.0 --port 9 --weights a b --workers 3 --batch 4 --queue 50 --timeout 1.5"
    for options in ("", many, "--threads 2 --pictures 5 --body 7 --log text"):
        assert main(["serve", *options.split()]) == 0
    assert given[0] == Settings()
    assert given[0].local
    assert given[1] == Settings("0.0.0.0", 9, ("a", "b"), 3, 4, 50, 1.5)
    assert not given[1].local
    assert given[2] == Settings(threads=2, pictures=5, body=7 * MIB, log="text")


def test_settings_reach_a_worker_through_its_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STAWM_SERVE", "")
    settings = Settings(weights=("a", "b"), timeout=2.5, log="text", workers=4)
    settings.to_environment()
    assert Settings.from_environment() == settings


def test_being_bound_to_the_world_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, weights: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True)):
        assert main(["serve", "--weights", str(weights), "--port", "0", "--host", host, "--threads", "1"]) == 0
        told = capsys.readouterr()
        assert re.match(rf"serving mine on http://{host}:\d+/", told.out)
        assert ("warning" in told.err) is warned


def test_whoever_asks_once_it_says_so_is_answered(
    monkeypatch: pytest.MonkeyPatch, weights: Path, capsys: pytest.CaptureFixture[str]
):
    def run(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        found = re.search(r":(\d+)/", capsys.readouterr().out)
        assert found is not None
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=5):
            connected.append(found[1])

    connected: list[str] = []
    monkeypatch.setattr(uvicorn.Server, "run", run)
    assert main(["serve", "--weights", str(weights), "--port", "0", "--threads", "1"]) == 0
    assert connected


def test_a_body_that_is_too_long_is_refused_and_the_connection_goes_on():
    part = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with (
        thread(replace(QUIET, body=MIB)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
    ):
        connection.sendall(head("chunked") + part * 20 + b"0\r\n\r\n" + head(2) + b"{}")
        told = b""
        while told.count(b"HTTP/1.1 ") < 2 or not told.endswith(b"}"):
            told += connection.recv(65536)
        first, second = told.split(b"HTTP/1.1 ")[1:]
        assert first.startswith(b"413")
        assert b"longer than 1 MiB" in first
        assert second.startswith(b"422")
        assert ask(port, "POST", "/api/look", look_body(png()))[0] == 200


def test_a_slow_body_is_given_up():
    with thread(replace(QUIET, timeout=0.4)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
            slow.sendall(head(100) + b"{")
            assert slow.recv(65536).startswith(b"HTTP/1.1 408")
        assert ask(port, "GET", "/api/health")[0] == 200


def test_a_client_that_sends_no_more_has_its_answer_if_it_asked_something(port: int):
    body = look_body(png())
    for sent, status in ((head(len(body)) + body, b"HTTP/1.1 200"), (head(len(body)) + body[:9], b""), (b"GET", b"")):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            assert all_of(connection)[:12] == status


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 300_000 + b"\r\n\r\n",
        b"POST /api/look HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/look HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_answered_400(raw: bytes, port: int):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(raw)
        told = connection.recv(65536)
    assert told.startswith(b"HTTP/1.1 400")
    assert ask(port, "GET", "/api/health")[0] == 200


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with thread() as port:
        yield port
