"""What stands before every handler: no pages of other origins, the headers of every answer, the log, the counts."""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stawm.serve.connection import current
from stawm.serve.refusal import Refusal, busy, told
from stawm.serve.settings import Settings

FAILED = Refusal(500, "the server failed at this; its log says more")
STOPPED = busy("the server stops; try again in a second")
PARTING = 0.5
"""Seconds for a client to take that answer."""
GONE = 499
"""Told in log and counts of a client that left before its answer."""
OTHER = "other"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
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


class Metrics:
    """What a process has done since it started."""

    def __init__(self, workers: int = 1) -> None:
        # Workers count on their own, and each scrape reaches one of them: the label keeps their series apart.
        self._own = {"process": str(os.getpid())} if workers > 1 else {}
        self._all = CollectorRegistry()
        by_path, by_model = [*self._own, "path"], [*self._own, "model"]
        told = "Time from a request's head to its answer."
        self._requests = Counter("stawm_requests", "Requests answered.", [*by_path, "status"], registry=self._all)
        self._seconds = Histogram("stawm_request_seconds", told, by_path, buckets=SECONDS, registry=self._all)
        told = "Pictures in the batch that a request's pictures were looked at in."
        self._batches = Histogram("stawm_batch_pictures", told, by_model, buckets=BATCHES, registry=self._all)
        self._queue = Gauge("stawm_queue_pictures", "Pictures that wait for a model.", by_model, registry=self._all)
        self._pictures = Counter("stawm_pictures", "Pictures looked at.", by_model, registry=self._all)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count one request; `path` is one of the server's own, never the client's text."""
        self._requests.labels(**self._own, path=path, status=str(status)).inc()
        self._seconds.labels(**self._own, path=path).observe(seconds)

    def looked(self, model: str, pictures: int, batch: int) -> None:
        """Count the pictures of one request, and the size of the batch they were in."""
        self._pictures.labels(**self._own, model=model).inc(pictures)
        self._batches.labels(**self._own, model=model).observe(batch)

    def watch(self, model: str, waiting: Callable[[], int]) -> None:
        """Tell how many pictures wait for a model whenever that is asked."""
        self._queue.labels(**self._own, model=model).set_function(waiting)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._all)


class Guard:
    """Middleware around all else; a handler leaves the number of pictures and the batch in `request.state`."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever goes wrong in there, the client gets JSON and the server goes on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, answer = time.perf_counter(), _Answer(send)
        state: dict[str, Any] = scope.setdefault("state", {})
        connection = current()

        async def receiving() -> Message:
            message = await receive()
            if connection and not message.get("more_body", False):
                connection.arrived()
            return message

        if connection:
            connection.begun()
        try:
            if self._settings.local:
                _check_origin(scope)
            await self._app(scope, receiving, answer)
        except Refusal as refusal:
            await refusal.response()(scope, receive, answer)
        except ClientDisconnect:
            answer.status = GONE
        except asyncio.CancelledError:
            if not answer.status:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PARTING):
                        await STOPPED.response()(scope, receive, answer)
        except Exception:
            logging.getLogger("stawm.serve").exception("a request failed")
            if not answer.status:
                await FAILED.response()(scope, receive, answer)
        finally:
            if connection:
                connection.answered()
            seconds = time.perf_counter() - started
            self._metrics.answered(getattr(scope.get("route"), "path", OTHER), answer.status, seconds)
            if self._settings.log != "none":
                line = {"method": scope["method"][:MOST], "path": scope["path"][:MOST], "status": answer.status}
                looked = {name: state.get(name, 0) for name in ("pictures", "batch")}
                sys.stderr.write(_line({**line, "ms": 1000 * seconds, **looked}, self._settings.log == "json") + "\n")
                sys.stderr.flush()


class _Answer:
    """What is sent of an answer: with all headers, and a refusal in the words of a library as a `Problem`."""

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send = send
        self._plain: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            # Only what has a tag may be kept, to be asked for again by it.
            headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
            if self.status >= 400 and headers.get("content-type", "").startswith("text/plain"):
                self._plain = message
                return
        elif self._plain:
            content = json.dumps({"detail": message.get("body", b"").decode(errors="replace")}).encode()
            MutableHeaders(scope=self._plain).update(
                {"content-type": "application/json", "content-length": str(len(content))}
            )
            start, self._plain, message = self._plain, None, {**message, "body": content}
            await self._send(start)
        await self._send(message)


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
