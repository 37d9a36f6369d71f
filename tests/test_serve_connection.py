import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from live_server import all_of, ask, head, thread
from stawm.serve import connection


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with thread() as port:
        yield port


def slow(port: int, sent: bytes) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port), timeout=30)
    opened.sendall(sent)
    return opened


def test_where_too_many_wait_those_that_waited_longest_make_room(monkeypatch: pytest.MonkeyPatch, port: int):
    monkeypatch.setattr(connection, "most_waiting", lambda: 4)
    with ExitStack() as stack:
        waiting = [stack.enter_context(slow(port, sent)) for sent in (head(9), b"GET / HT") * 3]
        assert ask(port, "GET", "/api/health")[0] == 200
        assert [all_of(one) for one in waiting[:3]] == [b""] * 3


def test_a_head_has_its_time(monkeypatch: pytest.MonkeyPatch, port: int):
    monkeypatch.setattr(connection, "SECONDS", 0.2)
    with slow(port, b"GET / HT") as waiting:
        assert all_of(waiting) == b""


def test_the_operating_system_is_asked_for_enough_files():
    connection.most_waiting.cache_clear()
    assert 100 < connection.most_waiting() <= connection.WAITING


def test_without_a_network_there_is_no_connection():
    async def asked() -> object:
        return connection.current()

    assert asyncio.run(asked()) is None
