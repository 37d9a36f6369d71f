"""A connection as uvicorn has it, but one that slow clients cannot hold against others.

A client may be slow to send a head, to send a body or to take an answer, and thousands may be so at once. Connections
that wait for their client have time limits; and where too many wait, the one that has waited longest makes room for a
new one. Requests whose body has arrived are never given up for others.
"""

import asyncio
from contextvars import ContextVar
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from uvicorn.protocols.http.h11_impl import H11Protocol

WAITING = 2048
"""Most connections that wait for their client, or half of the files that this process may open."""
SECONDS = 20.0
"""Time for a client to send the head of a request, or to take what was written."""
HALF_CLOSED = 0.2
"""Seconds after which a client that sends no more, and has asked nothing that can be answered, is left."""

_waiting: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Connection, None]]" = WeakKeyDictionary()
_open: "WeakSet[Connection]" = WeakSet()
_current: "ContextVar[Connection | None]" = ContextVar("connection", default=None)


@cache
def most_waiting() -> int:
    """How many connections may wait, once the operating system was asked for more files."""
    try:
        import resource
    except ImportError:
        return WAITING // 8
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * WAITING:
        soft = 2 * WAITING if hard == resource.RLIM_INFINITY else min(hard, 2 * WAITING)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(WAITING, soft // 2)


def current() -> "Connection | None":
    """The connection that the request in this task came by; none where there is no network."""
    return _current.get()


def leave_all() -> None:
    """End every connection of this process at once: their clients have had their time."""
    for connection in list(_open):
        connection.leave()


class Connection(asyncio.Protocol):
    """What asyncio tells of a connection, passed on to uvicorn; with the limits on the way."""

    def __init__(self, **given: Any) -> None:
        self._http = H11Protocol(**given)
        self._loop = given.get("_loop") or asyncio.get_running_loop()
        self._others = _waiting.setdefault(self._loop, {})
        self._requests, self._half_closed = 0, False
        self._head: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, if need be that of the connection that has waited longest."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        _open.add(self)
        if len(self._others) >= most_waiting():
            oldest = next(iter(self._others))
            del self._others[oldest]
            oldest._transport.abort()
        self._wait()
        self._http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Let the requests that these bytes begin know their connection: a task inherits the context."""
        _current.set(self)
        self._http.data_received(data)

    def eof_received(self) -> bool:
        """Keep the way to a client that has sent all that it will, if it has asked something."""
        self._half_closed = True
        self._loop.call_later(HALF_CLOSED, self._leave)
        return True

    def pause_writing(self) -> None:
        """Give a client that does not read some time."""
        self._reading = self._loop.call_later(SECONDS, self._transport.abort)
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """Be content with a client that reads."""
        if self._reading:
            self._reading.cancel()
        self._http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._others.pop(self, None)
        for timer in (self._head, self._reading):
            if timer:
                timer.cancel()
        self._http.connection_lost(exc)

    def leave(self) -> None:
        """End the connection, whatever is still to be written."""
        self._transport.abort()

    def begun(self) -> None:
        """Note that the head of a request is here."""
        self._requests += 1
        if self._head:
            self._head.cancel()

    def arrived(self) -> None:
        """Note that all of a request is here: from now on its client waits for the server."""
        self._others.pop(self, None)

    def answered(self) -> None:
        """Note that a request has its answer."""
        self._requests -= 1
        if not self._requests and not self._transport.is_closing():
            self._wait()
            if self._half_closed:
                self._loop.call_later(HALF_CLOSED, self._leave)

    def _wait(self) -> None:
        self._others.pop(self, None)
        self._others[self] = None
        self._head = self._loop.call_later(SECONDS, self._transport.abort)

    def _leave(self) -> None:
        if self in self._others:
            self._transport.close()
