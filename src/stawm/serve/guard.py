"""What stands before every handler: which hosts may be asked for, the headers of every answer, the log, the counts."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect

from stawm.serve.log import Entry, Log
from stawm.serve.metrics import Metrics
from stawm.serve.refusal import Refusal, told
from stawm.serve.settings import LOCAL, Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ENTRY = "stawm.entry"
HOST = re.compile(r"(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::\d{1,5})?", re.ASCII)
FAILED = Refusal(500, "the server failed at this; its log says more")
GONE = 499
"""Told in log and counts of a client that left before its answer."""

POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
RAW = {name.encode(): value.encode() for name, value in HEADERS.items()}
STATIC = "/static/"
OTHER = "other"


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: App, settings: Settings, metrics: Metrics, paths: frozenset[str]) -> None:
        """`paths` are those that are counted by name; all others are one."""
        self._app, self._settings, self._metrics, self._paths = app, settings, metrics, paths
        self._log = Log(settings.log)
        self._hosts = frozenset((*LOCAL, settings.host.lower()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever goes wrong in there, the client gets JSON and the server goes on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        entry = scope[ENTRY] = Entry(scope["method"], scope["path"])
        started = time.perf_counter()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
                given = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                message = {**message, "headers": given + [pair for pair in RAW.items() if pair[0] not in names]}
            await send(message)

        try:
            if self._settings.local:
                self._check_host(scope)
            await self._app(scope, receive, sending)
        except Refusal as refusal:
            await answer(refusal, sending)
        except ClientDisconnect:
            entry.status = GONE
        except Exception:
            logging.getLogger("stawm.serve").exception("a request failed")
            if not entry.status:
                await answer(FAILED, sending)
        finally:
            seconds = time.perf_counter() - started
            entry.ms = 1000 * seconds
            self._metrics.answered(self._label(entry), entry.status, seconds)
            self._log.tell(entry)

    def _label(self, entry: Entry) -> str:
        if entry.path in self._paths:
            return entry.path
        return STATIC if entry.path.startswith(STATIC) and entry.status in (200, 304) else OTHER

    def _check_host(self, scope: Scope) -> None:
        """Refuse what a foreign page asks of us: by a name of its own for this machine, or from its origin."""
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or host_of(hosts[0]) not in self._hosts:
            asked = told(hosts[0]) if hosts else "no host"
            raise Refusal(
                400, f"this server answers on localhost only, and was asked as {asked}; see stawm serve --host"
            )
        origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        if scope["method"] == "POST" and any(origin.lower() != f"http://{hosts[0]}".lower() for origin in origins):
            raise Refusal(403, f"pages of {told(origins[0])} may not ask this server")


def host_of(header: str) -> str | None:
    """The host in a Host header, without its port; none if it is not one."""
    found = HOST.fullmatch(header)
    return None if found is None else (found[1] or found[2]).lower()


async def answer(refusal: Refusal, send: Send) -> None:
    """Send a refusal."""
    body = refusal.body()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
