"""Real servers for tests, in a process or a thread, and raw ways to talk to them."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from stawm.serve.app import create_app
from stawm.serve.run import OPTIONS, bound
from stawm.serve.settings import Settings
from tiny_server import JSON, QUIET, looker

STARTED = 120
"""Seconds that a server may take to start."""


@contextmanager
def process(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A real `stawm serve` and its port."""
    command = [sys.executable, "-m", "stawm", "serve", "--port", "0", "--threads", "1", *options]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert started.stdout is not None
    try:
        line = started.stdout.readline()
        found = re.search(r"serving mine on http://127\.0\.0\.1:(\d+)/", line)
        assert found, line + started.communicate()[1]
        yield started, int(found[1])
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate()


@contextmanager
def thread(settings: Settings = QUIET) -> Iterator[int]:
    """A server in a thread of this process, and its port."""
    server = uvicorn.Server(uvicorn.Config(create_app([looker()], settings), **OPTIONS))
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        running = threading.Thread(target=server.run, args=([listening],))
        running.start()
        deadline = time.monotonic() + STARTED
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        try:
            yield port
        finally:
            server.should_exit = True
            running.join(30)
    assert not running.is_alive()


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, JSON)
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content


def head(length: int | str) -> bytes:
    framing = "Transfer-Encoding: chunked" if length == "chunked" else f"Content-Length: {length}"
    return f"POST /api/look HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n\r\n".encode()


def all_of(connection: socket.socket) -> bytes:
    """Everything until the server closes, or cuts off."""
    told = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            told += part
    return told
