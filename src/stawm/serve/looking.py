"""POST /api/look, from the bytes of a body to the bytes of the answer; nothing slow happens on the event loop."""

import asyncio
import base64
import binascii
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError, create_model, model_validator
from starlette.requests import Request
from starlette.responses import Response

from stawm.data.prepare.given import MOST_PIXELS, open_given
from stawm.errors import DataError
from stawm.look.answer import Look
from stawm.look.looker import Looker
from stawm.serve.guard import Metrics
from stawm.serve.models import Models, Picture
from stawm.serve.refusal import Refusal, busy, clean, told
from stawm.serve.settings import MIB

NAME_LENGTH = 100
DATA_URI = re.compile(r"data:[\w.+/-]{0,100}(?:;[\w.+=-]{1,100})*;base64,", re.ASCII | re.IGNORECASE)
SPACE = re.compile(r"[ \t\r\n]+")
DESCRIBED = ConfigDict(use_attribute_docstrings=True, json_schema_serialization_defaults_required=True)
"""In OpenAPI the fields of an answer, and of all that it holds, are described by the docstrings below them."""


class LookRequest(BaseModel):
    """Pictures to look at, what to call them, with which model, and whether memory is wanted."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    images: Annotated[list[str], FailFast()]
    """The pictures: each a data URL (data:image/png;base64,…) or bare base64 of a PNG, JPEG, WebP or BMP file."""
    names: Annotated[list[str] | None, FailFast()] = None
    """What to call each picture."""
    model: str | None = None
    """The name of a model; the default if not given."""
    memory: bool = False
    """Whether to tell what the memory held."""

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, values: Any) -> Any:
        """A request with a million fields would get a million complaints, and only the first is told."""
        if isinstance(values, dict) and len(values) > 2 * len(cls.model_fields):
            raise ValueError(f"there are {len(values):,} fields; the fields are {', '.join(cls.model_fields)}")
        return values

    @model_validator(mode="after")
    def _names_fit(self) -> "LookRequest":
        if self.names is not None and len(self.names) != len(self.images):
            raise ValueError(f"there are {len(self.images)} images and {len(self.names)} names; give as many or none")
        return self

    def pictures(self) -> Iterator[tuple[str, bytes]]:
        """The name and the file of each picture."""
        names = self.names or [""] * len(self.images)
        for number, (image, given) in enumerate(zip(self.images, names, strict=True), 1):
            name = clean(given[: 10 * NAME_LENGTH])[:NAME_LENGTH].strip() or f"picture {number}"
            yield name, _file(image, name)


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


def request_type(pictures: int, models: list[str]) -> type[LookRequest]:
    """Requests for 1 to `pictures` pictures and one of these models."""
    one: Any = Literal[tuple(models)] | None  # type: ignore[reportOperatorIssue]
    images, model = (LookRequest.model_fields[name].description for name in ("images", "model"))
    some = Annotated[list[str], FailFast(), Field(min_length=1, max_length=pictures, description=images)]
    own: Any = {"images": (some, ...), "model": (one, Field(None, description=model))}
    return create_model("LookRequest", __base__=LookRequest, **own)


def read_request(kind: type[LookRequest], content_type: str, body: bytes) -> LookRequest:
    """What `body` asks; a `Refusal` says what is wrong with it."""
    given = content_type.partition(";")[0].strip().lower()
    if given != "application/json":
        what = f"not {told(given)}" if given else "and there is no Content-Type"
        raise Refusal(415, f"POST application/json with base64 pictures; {what}")
    try:
        return kind.model_validate_json(body)
    except ValidationError as failure:
        raise _refusal(failure.errors(include_url=False, include_context=False, include_input=False)[0]) from None


def _refusal(error: Any) -> Refusal:
    if error["type"] == "json_invalid":
        return Refusal(400, "the body is not valid JSON")
    where, wrong = ".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")
    about = f"{told(where)}: " if where else ""
    status = 413 if error["type"] == "too_long" else 422
    return Refusal(status, f"{about}{wrong[0].lower()}{wrong[1:]}; /api/docs describes a request")


def _file(image: str, name: str) -> bytes:
    start = DATA_URI.match(image)
    if image.startswith("data:") and not start:
        raise Refusal(422, f"{told(name)} is a data URI without base64; begin it with data:image/png;base64,")
    encoded = SPACE.sub("", image[start.end() :] if start else image)
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(422, f"{told(name)} is neither a data URI nor base64 of a picture file") from None
    if not decoded:
        raise Refusal(422, f"{told(name)} is empty; give the base64 of a picture file")
    return decoded
