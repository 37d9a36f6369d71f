"""A server process: its socket, its signals, its workers, and patience with clients that has an end."""

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import HANDLED_SIGNALS

from stawm.errors import UsageError
from stawm.serve.app import create_app, settle
from stawm.serve.models import open_lookers
from stawm.serve.settings import Settings

BACKLOG = 512
STOPPING = 5.0
"""Seconds beyond the time for one request that a stopping server waits for its clients."""
BROKEN = b'{"detail": "this is not an HTTP request that can be understood"}'


class Patient(H11Protocol):
    """HTTP/1.1 with an end to waiting: for a request's head, for a client to take its answer, for an unwanted body."""

    head, taking, rest = 20.0, 20.0, 2.0
    """Seconds for each of these."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self._wait("head", self.head)

    def data_received(self, data: bytes) -> None:
        """A head must become whole in time, however slowly it drips."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait("head", self.head)
        else:
            self._end("head")
        if self.conn.their_state not in (h11.SEND_BODY, h11.ERROR):
            self._end("rest")

    def on_response_complete(self) -> None:
        """A client that still sends the body of a request that was refused may go on for a moment, unheard.

        Closing at once would reset the connection, and the client might lose the answer.
        """
        if self.conn.their_state is h11.SEND_BODY:
            self._wait("rest", self.rest)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """A client that does not take its answer is left."""
        super().pause_writing()
        self._wait("taking", self.taking)

    def resume_writing(self) -> None:
        """It took some."""
        super().resume_writing()
        self._end("taking")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        for name in list(self._timers):
            self._end(name)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Tell in JSON, as everywhere, that this was not HTTP, and leave the client a moment to read it."""
        if "rest" in self._timers:
            return
        headers = [("content-type", "application/json"), ("connection", "close")]
        try:
            for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=BROKEN), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # An answer to something else is under way.
            self.transport.close()
            return
        self.transport.write_eof()
        self._wait("rest", self.rest)

    def _wait(self, name: str, seconds: float) -> None:
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _end(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


class Server(uvicorn.Server):
    """A server for which being told to stop is a good end."""

    told: str = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say so."""
        await super().startup(sockets)
        print(self.told, flush=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the serving; uvicorn's own would raise them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run_server(settings: Settings) -> None:
    """Serve until told to stop by SIGINT or SIGTERM; what was asked before that is still answered."""
    with bound(settings.host, settings.port) as listening:
        port = listening.getsockname()[1]
        lookers = open_lookers(settings.weights)
        told = f"serving {', '.join(looker.name for looker in lookers)} on {_address(settings.host, port)}"
        if not settings.local:
            about = "others can reach this server, and it asks nobody who they are"
            print(f"stawm: warning: {about}; leave out --host {settings.host} if that is not meant", file=sys.stderr)
        if settings.workers == 1:
            settle(settings)
            server = Server(_config(settings, app=create_app(lookers, settings)))
            server.told = f"{told}; stop with Ctrl-C"
            server.run([listening])
            return
    del lookers
    print(f"{told} with {settings.workers} workers; stop with Ctrl-C", flush=True)
    settings.to_environment()
    config = {"app": "stawm.serve.app:application", "factory": True, "workers": settings.workers}
    try:
        uvicorn.run(**_options(settings), **config, host=settings.host, port=port, timeout_worker_healthcheck=60)
    except SystemExit as failure:
        if failure.code:
            raise UsageError("the workers could not be started; their messages are above") from failure


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket bound to this address; one that cannot be had is a `UsageError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as failure:
        raise UsageError(f"--host {host} is not an address of this machine ({failure.strerror})") from failure
    with listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
        except PermissionError as failure:
            raise UsageError(
                f"port {port} may not be used by this user; choose one above 1023 with --port"
            ) from failure
        except OSError as failure:
            reason = f"cannot listen on {host} port {port} ({failure.strerror})"
            raise UsageError(f"{reason}; choose another with --port, or --port 0 for any") from failure
        yield listening


def _config(settings: Settings, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(**_options(settings), **more)


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "http": Patient,
        "ws": "none",
        "loop": "asyncio",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "backlog": BACKLOG,
        "timeout_graceful_shutdown": int(settings.timeout + STOPPING),
    }


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
