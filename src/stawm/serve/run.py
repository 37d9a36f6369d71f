"""A server process: its socket, its signals and its workers."""

import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from stawm.errors import UsageError
from stawm.look.looker import Looker
from stawm.serve.app import settle, settled_app
from stawm.serve.models import open_lookers
from stawm.serve.settings import Settings

BACKLOG = 512
STOPPING = 2
"""Seconds that a stopping server waits for its clients."""
OPTIONS: dict[str, Any] = {
    "http": "stawm.serve.connection:Connection",
    "ws": "none",
    "loop": "asyncio",
    "lifespan": "on",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "backlog": BACKLOG,
    "timeout_graceful_shutdown": STOPPING,
}
"""What uvicorn is told."""


def run_server(settings: Settings) -> None:
    """Serve until told to stop by SIGINT or SIGTERM; what was asked before that is still answered.

    The clients then have a few seconds to send the rest of what they ask.
    """
    with bound(settings.host, settings.port) as listening:
        port = listening.getsockname()[1]
        settle(settings)  # Engines have as many threads as torch has when they are opened.
        lookers = open_lookers(settings.weights, settings.engine, lambda line: print(line, file=sys.stderr))
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        told = f"serving {', '.join(map(_named, lookers))} on http://{host}:{port}/"
        if not settings.local:
            about = "others can reach this server, and it asks nobody who they are"
            print(f"stawm: warning: {about}; leave out --host {settings.host} if that is not meant", file=sys.stderr)
        if settings.workers == 1:
            server = uvicorn.Server(uvicorn.Config(settled_app(lookers, settings), **OPTIONS))
            listening.listen(BACKLOG)  # From here on whoever asks is answered, if after a moment.
            print(f"{told}; stop with Ctrl-C", flush=True)
            with _stopped_by_signals():
                server.run([listening])
            return
    del lookers
    told = f"{told} with {settings.workers} workers; stop with Ctrl-C"
    threading.Thread(target=_tell_when_answered, args=(told, settings.host, port), daemon=True).start()
    settings.to_environment()
    config = {"app": "stawm.serve.app:application", "factory": True, "workers": settings.workers}
    try:
        uvicorn.run(**OPTIONS, **config, host=settings.host, port=port, timeout_worker_healthcheck=60)
    except SystemExit as failure:
        if failure.code:
            raise UsageError("the workers could not be started; their messages are above") from failure


def _named(looker: Looker) -> str:
    """The name of a model, and what runs it if that is not torch."""
    return looker.name if looker.engine.name == "torch" else f"{looker.name} ({looker.engine.name})"


def _tell_when_answered(told: str, host: str, port: int) -> None:
    """Print a line once a worker listens."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    while True:
        with suppress(OSError), socket.create_connection((address, port), timeout=60):
            print(told, flush=True)
            return
        time.sleep(0.1)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let a signal that stops the server be a good end: uvicorn raises it once more when all is answered."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
