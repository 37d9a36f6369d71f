"""What stands before every handler: no pages of other origins, the headers of every answer, the log, the counts."""

import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stawm.serve.log import tell
from stawm.serve.metrics import Metrics
from stawm.serve.refusal import Refusal, told
from stawm.serve.settings import Settings

FAILED = Refusal(500, "the server failed at this; its log says more")
GONE = 499
"""Told in log and counts of a client that left before its answer."""
OTHER = "other"

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
}


class Guard:
    """Middleware around all else; a handler leaves the number of pictures and the batch in `request.state`."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever goes wrong in there, the client gets JSON and the server goes on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0
        state: dict[str, Any] = scope.setdefault("state", {})

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _protect(MutableHeaders(scope=message))
            await send(message)

        try:
            if self._settings.local:
                _check_origin(scope)
            await self._app(scope, receive, sending)
        except Refusal as refusal:
            await refusal.response()(scope, receive, sending)
        except ClientDisconnect:
            status = GONE
        except Exception:
            logging.getLogger("stawm.serve").exception("a request failed")
            if not status:
                await FAILED.response()(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.answered(getattr(scope.get("route"), "path", OTHER), status, seconds)
            looked = {name: state[name] for name in ("pictures", "batch") if name in state}
            line = {"method": scope["method"], "path": scope["path"], "status": status, "ms": 1000 * seconds}
            tell(self._settings.log, **line, **looked)


def _protect(headers: MutableHeaders) -> None:
    """Add the headers that protect a browser; only what has a tag may be kept, to be asked for again by it."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")


def _check_origin(scope: Scope) -> None:
    """Refuse what a page of another origin asks of us."""
    headers = Headers(scope=scope)
    own = f"http://{headers.get('host', '')}".lower()
    origins = headers.getlist("origin")
    if scope["method"] == "POST" and any(origin.lower() != own for origin in origins):
        raise Refusal(403, f"pages of {told(origins[0])} may not ask this server")
