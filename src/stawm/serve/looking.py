"""POST /api/look, from the bytes of a body to the bytes of the answer; nothing slow happens on the event loop."""

import asyncio
import binascii
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError, create_model, model_validator
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from stawm.data.picture_file import LIGHT, Heavy
from stawm.data.prepare.given import open_given
from stawm.errors import DataError
from stawm.look.answer import Look
from stawm.look.looker import Looker
from stawm.serve.batcher import Done
from stawm.serve.guard import Metrics
from stawm.serve.models import File, Models, Picture
from stawm.serve.refusal import Refusal, busy, clean, told
from stawm.serve.settings import MIB

NAME_LENGTH = 100
Found = TypeVar("Found")
Result = TypeVar("Result")
Asked = TypeVar("Asked", bound=BaseModel)
DATA_URI = re.compile(r"data:[\w.+/-]{0,100}(?:;[\w.+=-]{1,100})*;base64,", re.ASCII | re.IGNORECASE)
LONGEST_HEAD = 500
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

    @model_validator(mode="after")
    def _names_fit(self) -> "LookRequest":
        if self.names is not None and len(self.names) != len(self.images):
            raise ValueError(f"there are {len(self.images)} images and {len(self.names)} names; give as many or none")
        return self

    def pictures(self) -> Iterator[tuple[str, bytes]]:
        """The name and the file of each picture."""
        names = self.names or [""] * len(self.images)
        for number, (image, given) in enumerate(zip(self.images, names, strict=True), 1):
            name = named(given, f"picture {number}")
            yield name, file_of(image, name)


@dataclass(frozen=True)
class Looks:
    """A look at each picture, in the order of the request."""

    looks: list[Look]
    model: str
    milliseconds: float

    __pydantic_config__ = DESCRIBED


async def answer(request: Request, kind: type[LookRequest], models: Models, metrics: Metrics) -> Response:
    """The looks at the pictures of a request of this kind, within the limits."""

    def understood(body: bytearray, ends: float) -> tuple[str, bool, list[Picture | File]]:
        asked = read_request(kind, body)
        name = asked.model or models.names[0]
        return name, asked.memory, list(prepared(asked, models.lookers[name], ends))

    async def worked(found: tuple[str, bool, list[Picture | File]]) -> tuple[str, Done[bytes]]:
        name, memory, given = found
        pictures = [await ready(one, models, models.lookers[name]) for one in given]
        request.state.pictures = len(pictures)
        return name, await asyncio.wrap_future(models.submit(name, pictures, memory))

    (name, done), milliseconds = await within_limits(request, models, understood, worked)
    request.state.batch = done.batch
    metrics.looked(name, len(done.results), done.batch)
    end = json.dumps({"model": name, "milliseconds": milliseconds})
    content = b'{"looks":[' + b",".join(done.results) + b"]," + end[1:].encode()
    return Response(content, media_type="application/json")


async def within_limits(
    request: Request,
    models: Models,
    understood: Callable[[bytearray, float], Found],
    worked: Callable[[Found], Awaitable[Result]],
) -> tuple[Result, float]:
    """What is worked out of a body, and the milliseconds that it took; refused where it is too much or too late.

    `understood` is called in a thread with the body and the time at which it is too late.
    """
    check_kind(request.headers)
    started, timeout = time.perf_counter(), models.settings.timeout
    body = await body_of(request, models)
    size, left = len(body), timeout - (time.perf_counter() - started)
    with models.admitted(size):
        try:
            async with asyncio.timeout(left):
                found = await models.aside(size, partial(understood, body, started + timeout))
                del body
                result = await worked(found)
        except TimeoutError:
            raise busy(f"the answer was not there within {timeout:g} s; try again later") from None
    return result, round(1000 * (time.perf_counter() - started), 1)


async def body_of(request: Request, models: Models) -> bytearray:
    """The body, refused as soon as it is known to be too long or to hold too much, whatever its head says."""
    most, marks, body = models.settings.body, models.settings.marks, bytearray()
    too_long = Refusal(413, f"the body is longer than {most / MIB:g} MiB; send fewer or smaller pictures")
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > most):
        raise too_long
    async with models.arriving() as hold:
        async for part in request.stream():
            marks -= sum(part.count(mark) for mark in b"{[,")
            if marks < 0:
                pictures = models.settings.pictures
                raise Refusal(
                    413, f"the body has more values than {pictures} pictures need; /api/docs describes a request"
                )
            if len(body) + len(part) > most:
                raise too_long
            hold(len(part))
            body += part
    return body


def prepared(asked: LookRequest, looker: Looker, ends: float) -> Iterator[Picture | File]:
    """The pictures of a request as the model takes them, or their files where they are much work.

    A `TimeoutError` when it is too late for that.
    """
    for name, content in asked.pictures():
        if time.perf_counter() > ends:
            raise TimeoutError
        try:
            yield looker.prepare(open_given(content, name, limits=LIGHT)), name
        except Heavy:
            yield content, name
        except DataError as failure:
            raise Refusal(422, " ".join(str(failure).split())) from None


async def ready(picture: Picture | File, models: Models, looker: Looker) -> Picture:
    """A picture as the model takes it, decoded apart if it is still a file."""
    one, name = picture
    if not isinstance(one, bytes):
        return one, name
    given = await models.apart(one, name)
    return await models.aside(0, lambda: looker.prepare(given)), name


def request_type(pictures: int, models: list[str]) -> type[LookRequest]:
    """Requests for 1 to `pictures` pictures and one of these models."""
    one: Any = Literal[tuple(models)] | None  # type: ignore[reportOperatorIssue]
    images, model = (LookRequest.model_fields[name].description for name in ("images", "model"))
    some = Annotated[list[str], FailFast(), Field(min_length=1, max_length=pictures, description=images)]
    own: Any = {"images": (some, ...), "model": (one, Field(None, description=model))}
    return create_model("LookRequest", __base__=LookRequest, **own)


def check_kind(headers: Headers) -> None:
    """Refuse a body that is not plain JSON, before it is read."""
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise Refusal(415, "the body is compressed; send it as it is")
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        what = f"not {told(given)}" if given else "and there is no Content-Type"
        raise Refusal(415, f"POST application/json with base64 pictures; {what}")


def read_request(kind: type[Asked], body: bytes | bytearray) -> Asked:
    """What `body` asks; a `Refusal` says what is wrong with it."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as failure:
        raise _refusal(failure.errors(include_url=False, include_context=False, include_input=False)[0]) from None


def _refusal(error: Any) -> Refusal:
    if error["type"] == "json_invalid":
        return Refusal(400, "the body is not valid JSON")
    where, wrong = ".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")
    about = f"{told(where)}: " if where else ""
    return Refusal(422, f"{about}{wrong[0].lower()}{wrong[1:]}; /api/docs describes a request")


def named(given: str, otherwise: str) -> str:
    """What a client calls a picture, fit to be shown; `otherwise` if nothing is left of that."""
    return clean(given[: 10 * NAME_LENGTH])[:NAME_LENGTH].strip() or otherwise


def file_of(image: str, name: str) -> bytes:
    """The picture file that a data URL or base64 holds."""
    start = DATA_URI.match(image, 0, LONGEST_HEAD)
    if image.startswith("data:") and not start:
        raise Refusal(422, f"{told(name)} is a data URI without base64; begin it with data:image/png;base64,")
    try:
        encoded = image.encode("ascii")[start.end() if start else 0 :].translate(None, b" \t\r\n")
        decoded = binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        raise Refusal(422, f"{told(name)} is neither a data URI nor base64 of a picture file") from None
    if not decoded:
        raise Refusal(422, f"{told(name)} is empty; give the base64 of a picture file")
    return decoded
