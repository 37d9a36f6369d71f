"""What stands before every handler: no pages of other origins, the headers of every answer, the log, the counts."""

import json
import logging
import sys
import time
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stawm.serve.metrics import Metrics
from stawm.serve.refusal import Refusal, told
from stawm.serve.settings import Settings

FAILED = Refusal(500, "the server failed at this; its log says more")
GONE = 499
"""Told in log and counts of a client that left before its answer."""
OTHER = "other"
MOST = 200
"""Letters of a client's text in the log."""

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
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                # Only what has a tag may be kept, to be asked for again by it.
                headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
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
            if self._settings.log != "none":
                line = {"method": scope["method"][:MOST], "path": scope["path"][:MOST], "status": status}
                looked = {name: state.get(name, 0) for name in ("pictures", "batch")}
                sys.stderr.write(_line({**line, "ms": 1000 * seconds, **looked}, self._settings.log == "json") + "\n")
                sys.stderr.flush()


def _line(told: dict[str, Any], for_machines: bool) -> str:
    """One line about a request, which nothing that a client wrote can break: JSON escapes it."""
    now = datetime.now(UTC)
    if for_machines:
        return json.dumps({"time": now.isoformat(timespec="milliseconds"), **told, "ms": round(told["ms"], 1)})
    method, path, status, ms, pictures, batch = told.values()
    more = f", {pictures} picture{'s' if pictures > 1 else ''} in a batch of {batch}" if batch else ""
    clock = now.astimezone().strftime("%H:%M:%S")
    return f"{clock} {json.dumps(method)[1:-1]} {json.dumps(path)[1:-1]} {status} {ms:.0f} ms{more}"


def _check_origin(scope: Scope) -> None:
    headers = Headers(scope=scope)
    own = f"http://{headers.get('host', '')}".lower()
    origins = headers.getlist("origin")
    if scope["method"] == "POST" and any(origin.lower() != own for origin in origins):
        raise Refusal(403, f"pages of {told(origins[0])} may not ask this server")
