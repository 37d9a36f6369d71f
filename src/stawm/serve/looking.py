"""POST /api/look, from the bytes of a body to the bytes of the answer."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from stawm.data.prepare.given import MOST_PIXELS, open_given
from stawm.errors import DataError
from stawm.serve.asked import Asked, read_asked
from stawm.serve.batcher import Closed, Done, Full
from stawm.serve.guard import ENTRY
from stawm.serve.metrics import Metrics
from stawm.serve.models import Models, Picture, Served
from stawm.serve.refusal import Refusal, busy
from stawm.serve.settings import MIB, Settings

Made = TypeVar("Made")
DECODERS = 2


@dataclass(frozen=True)
class Order:
    """A request that has been understood: whom to ask, and the pictures as that model takes them."""

    served: Served
    pictures: tuple[Picture, ...]
    memory: bool


class Looking:
    """Looks for requests, within the limits; nothing slow happens on the event loop."""

    def __init__(self, models: Models, settings: Settings, metrics: Metrics) -> None:
        self._models, self._settings, self._metrics = models, settings, metrics
        self._pool = ThreadPoolExecutor(DECODERS, thread_name_prefix="prepare")
        self._requests = self._bytes = 0

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    async def answer(self, request: Request) -> Response:
        """The looks at the pictures of a request."""
        if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise Refusal(415, "the body is compressed; send it as it is")
        started, entry, read = time.perf_counter(), request.scope[ENTRY], False
        within = f"within {self._settings.timeout:g} s"
        with self._admitted():
            try:
                async with asyncio.timeout(self._settings.timeout):
                    with self._held() as hold:
                        body = await self._body(request, hold)
                        read = True
                        order = await self._aside(
                            self._understood, request.headers.get("content-type", ""), body, started
                        )
                    entry.pictures = len(order.pictures)
                    done = await asyncio.wrap_future(_submitted(order))
            except TimeoutError:
                if not read:
                    raise Refusal(408, f"the body did not come {within}; send it again") from None
                raise busy(f"the answer was not there {within}; try again later") from None
        entry.batch = done.batch
        name = order.served.looker.name
        self._metrics.looked(name, len(order.pictures), done.batch)
        milliseconds = round(1000 * (time.perf_counter() - started), 1)
        end = json.dumps({"model": name, "milliseconds": milliseconds})
        content = b'{"looks":[' + b",".join(done.results) + b"]," + end[1:].encode()
        return Response(content, media_type="application/json")

    def _understood(self, content_type: str, body: bytes, started: float) -> Order:
        """What the request asks, all pictures decoded and prepared."""
        asked = read_asked(content_type, body, self._settings.pictures)
        served = self._models.of(asked.model)
        return Order(served, tuple(_prepared(asked, served, started + self._settings.timeout)), asked.memory)

    async def _body(self, request: Request, hold: Callable[[int], None]) -> bytes:
        """The body, refused as soon as it is known to be too long, whatever its head says."""
        most = self._settings.body
        too_long = Refusal(413, f"the body is longer than {most / MIB:g} MiB; send fewer or smaller pictures")
        declared = request.headers.get("content-length", "0")
        if declared.isdecimal() and (len(declared) > 18 or int(declared) > most):
            raise too_long
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise too_long
            hold(len(part))
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _aside(self, work: Callable[..., Made], *values: Any) -> Made:
        """The result of some work, done in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *values)

    @contextmanager
    def _admitted(self) -> Iterator[None]:
        """A place among the requests that are worked on, which are counted before anything of them is read."""
        if self._requests >= self._settings.requests:
            raise busy("too many requests are waiting already; try again in a second")
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    @contextmanager
    def _held(self) -> Iterator[Callable[[int], None]]:
        """A count of the bytes of this body, which are given back at the end."""
        own = 0

        def hold(more: int) -> None:
            nonlocal own
            if self._bytes + more > self._settings.held:
                raise busy("too many large requests are waiting already; try again in a second")
            own += more
            self._bytes += more

        try:
            yield hold
        finally:
            self._bytes -= own


def _submitted(order: Order) -> "Future[Done[bytes]]":
    try:
        return order.served.batcher.submit(order.pictures, order.memory)
    except Full:
        raise busy("too many pictures are waiting already; try again in a second") from None
    except Closed:
        raise busy("the server is about to stop; try again in a second") from None


def _prepared(asked: Asked, served: Served, ends: float) -> Iterator[Picture]:
    pixels = 0
    for content, name in zip(asked.files, asked.names, strict=True):
        if time.perf_counter() > ends:
            raise TimeoutError
        try:
            given = open_given(content, name)
            pixels += given.picture.width * given.picture.height
            if pixels > MOST_PIXELS:
                raise Refusal(413, f"the pictures have more than {MOST_PIXELS:,} pixels together; send fewer at a time")
            yield served.looker.prepare(given), name
        except DataError as failure:
            raise Refusal(422, " ".join(str(failure).split())) from None
