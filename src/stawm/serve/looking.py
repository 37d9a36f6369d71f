"""POST /api/look, from the bytes of a body to the bytes of the answer; nothing slow happens on the event loop."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from stawm.data.prepare.given import MOST_PIXELS, open_given
from stawm.errors import DataError
from stawm.look.answer import Look
from stawm.look.looker import Looker
from stawm.serve.metrics import Metrics
from stawm.serve.models import Models, Picture
from stawm.serve.refusal import Refusal, busy
from stawm.serve.request import LookRequest, read_request
from stawm.serve.settings import MIB

DESCRIBED = ConfigDict(use_attribute_docstrings=True, json_schema_serialization_defaults_required=True)
"""In OpenAPI the fields of an answer, and of all that it holds, are described by the docstrings below them."""


@dataclass(frozen=True)
class Looks:
    """A look at each picture, in the order of the request."""

    looks: list[Look]
    model: str
    milliseconds: float

    __pydantic_config__ = DESCRIBED


async def answer(request: Request, kind: type[LookRequest], models: Models, metrics: Metrics) -> Response:
    """The looks at the pictures of a request of this kind, within the limits."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise Refusal(415, "the body is compressed; send it as it is")
    started, timeout, read = time.perf_counter(), models.settings.timeout, False

    def understood(body: bytes) -> tuple[str, bool, list[Picture]]:
        asked = read_request(kind, request.headers.get("content-type", ""), body)
        name = asked.model or models.names[0]
        return name, asked.memory, prepared(asked, models.lookers[name], started + timeout)

    with models.admitted():
        try:
            async with asyncio.timeout(timeout):
                with models.holding() as hold:
                    body = await body_of(request, models.settings.body, hold)
                    read = True
                    aside = asyncio.get_running_loop().run_in_executor(models.preparing, understood, body)
                    name, memory, pictures = await aside
                request.state.pictures = len(pictures)
                done = await asyncio.wrap_future(models.submit(name, pictures, memory))
        except TimeoutError:
            if not read:
                raise Refusal(408, f"the body did not come within {timeout:g} s; send it again") from None
            raise busy(f"the answer was not there within {timeout:g} s; try again later") from None
    request.state.batch = done.batch
    metrics.looked(name, len(pictures), done.batch)
    end = json.dumps({"model": name, "milliseconds": round(1000 * (time.perf_counter() - started), 1)})
    content = b'{"looks":[' + b",".join(done.results) + b"]," + end[1:].encode()
    return Response(content, media_type="application/json")


async def body_of(request: Request, most: int, hold: Callable[[int], None]) -> bytes:
    """The body, refused as soon as it is known to be too long, whatever its head says."""
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
    return b"".join(parts)


def prepared(asked: LookRequest, looker: Looker, ends: float) -> list[Picture]:
    """The pictures of a request, decoded and as the model takes them; a `TimeoutError` when it is too late for that."""
    pictures: list[Picture] = []
    pixels = 0
    for name, content in asked.pictures():
        if time.perf_counter() > ends:
            raise TimeoutError
        try:
            given = open_given(content, name)
            pixels += given.picture.width * given.picture.height
            if pixels > MOST_PIXELS:
                raise Refusal(413, f"the pictures have more than {MOST_PIXELS:,} pixels together; send fewer at a time")
            pictures.append((looker.prepare(given), name))
        except DataError as failure:
            raise Refusal(422, " ".join(str(failure).split())) from None
    return pictures
