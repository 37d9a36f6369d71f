"""POST /api/remember and POST /api/ask: a scene is looked at once; questions come later, with what was kept of it.

What was kept goes to the client as a token and comes back with each question, so the server holds no sessions, and an
answer cannot have come from the picture.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, conlist, create_model, model_validator
from starlette.requests import Request
from starlette.responses import Response

from stawm.data.picture_file import LIGHT, Heavy
from stawm.data.prepare.given import Given, open_given
from stawm.data.prepare.prepared import Prepared
from stawm.errors import DataError, UsageError
from stawm.look.asked import CellRecall, ClassRecall, Seen
from stawm.look.picture import Picture
from stawm.serve.guard import Metrics
from stawm.serve.looking import DESCRIBED, NAME_LENGTH, file_of, named, read_request, within_limits
from stawm.serve.models import ASK, REMEMBER, Models
from stawm.serve.refusal import Refusal, clean

NOBODY = "no model here can be asked about places; start stawm serve with --weights scenes-4-ask"
STRICT = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class RememberRequest(BaseModel):
    """A scene to look at: a picture of all of it, or one of a single digit for each cell."""

    model_config = STRICT

    scene: str | None = None
    """One picture in the proportions of the grid: a data URL or bare base64 of a PNG, JPEG, WebP or BMP file."""
    cells: Annotated[list[str | None] | None, FailFast()] = None
    """A picture of a digit for each cell, row by row; null is an empty cell."""
    name: str = ""
    """What to call it."""
    model: str | None = None
    """The name of a model that can be asked; the first of them if not given."""

    @model_validator(mode="after")
    def _one_of_them(self) -> "RememberRequest":
        if (self.scene is None) == (self.cells is None):
            raise ValueError("give one of scene and cells")
        return self


class AskRequest(BaseModel):
    """A question to a memory: about a cell, about a class, about both, or about all."""

    model_config = STRICT

    memory: str
    """What /api/remember gave."""
    at: int | None = None
    """The number of a cell, from 1, row by row: what was there?"""
    where: str | None = None
    """The name of a class: where was it?"""
    model: str | None = None
    """The name of the model that remembers; the first that can be asked if not given."""


@dataclass(frozen=True)
class Remembered(Seen):
    """One look at one scene, and what was kept of it."""

    memory: str | None
    """What was kept, to be sent with each question; null if there was nothing to see."""
    milliseconds: float

    __pydantic_config__ = DESCRIBED


@dataclass(frozen=True)
class Answered:
    """What a memory answers; what was not asked is not told."""

    model: str
    cells: list[CellRecall]
    classes: list[ClassRecall]
    drawing: Picture | None
    """The whole scene, redrawn from memory; only if all was asked."""
    milliseconds: float

    __pydantic_config__ = DESCRIBED


def remember_type(models: Models) -> type[RememberRequest]:
    """Requests for one of these models and at most as many cells as the largest grid has."""
    most = max((one.cells for one in models.rememberers.values()), default=1)
    about = RememberRequest.model_fields["cells"].description
    picture: Any = str | None
    some: Any = conlist(picture, min_length=1, max_length=most)
    cells = some | None
    own: Any = {"cells": (cells, Field(None, description=about)), "model": _one(RememberRequest, models)}
    return create_model("RememberRequest", __base__=RememberRequest, **own)


def ask_type(models: Models) -> type[AskRequest]:
    """Requests for one of these models."""
    about = AskRequest.model_fields["memory"].description
    longest = max((tokens.length for tokens in models.tokens.values()), default=4096)
    memory = (Annotated[str, Field(max_length=longest)], Field(description=about))
    own: Any = {"memory": memory, "model": _one(AskRequest, models)}
    return create_model("AskRequest", __base__=AskRequest, **own)


async def remember(request: Request, kind: type[RememberRequest], models: Models, metrics: Metrics) -> Response:
    """One look at the scene of a request, and the token of what was kept."""

    def understood(body: bytearray, ends: float) -> tuple[str, str, Any]:
        asked = read_request(kind, body)
        name, called = _model(asked.model, models), named(asked.name, "scene")
        if asked.scene is not None:
            return name, called, _light(asked.scene, called)
        cells = asked.cells or []
        if sum(cell is not None for cell in cells) > models.settings.pictures:
            raise Refusal(422, f"at most {models.settings.pictures} pictures are taken in one request")
        return name, called, [None if cell is None else _light(cell, f"cell {n}") for n, cell in enumerate(cells, 1)]

    async def worked(found: tuple[str, str, Any]) -> tuple[str, Any]:
        name, called, files = found
        given = [await _given(one, models) for one in files] if isinstance(files, list) else await _given(files, models)
        rememberer = models.rememberers[name]

        def prepared() -> Prepared:
            try:
                return rememberer.prepare(given)  # type: ignore[reportArgumentType]
            except DataError as failure:
                raise Refusal(422, " ".join(str(failure).split())) from None

        request.state.pictures = 1
        ready = await models.aside(0, prepared)
        return name, await asyncio.wrap_future(models.submit(name, [(ready, called)], REMEMBER))

    (name, done), milliseconds = await within_limits(request, models, understood, worked)
    request.state.batch = done.batch
    metrics.looked(name, 1, done.batch)
    return _joined(done.results[0], milliseconds=milliseconds)


async def ask(request: Request, kind: type[AskRequest], models: Models) -> Response:
    """What the memory of a request answers to its question."""

    def understood(body: bytearray, ends: float) -> tuple[str, Any]:
        asked = read_request(kind, body)
        name = _model(asked.model, models)
        rememberer = models.rememberers[name]
        try:
            at = None if asked.at is None else rememberer.check_cell(asked.at)
            where = None if asked.where is None else rememberer.check_class(clean(asked.where[:NAME_LENGTH]))
        except UsageError as failure:
            raise Refusal(422, " ".join(str(failure).split())) from None
        return name, (models.tokens[name].read(asked.memory), at, where)

    async def worked(found: tuple[str, Any]) -> tuple[str, Any]:
        name, question = found
        return name, await asyncio.wrap_future(models.submit(name, [question], ASK))

    (name, done), milliseconds = await within_limits(request, models, understood, worked)
    return _joined(done.results[0], model=name, milliseconds=milliseconds)


def _one(kind: type[BaseModel], models: Models) -> Any:
    names: Any = Literal[tuple(models.rememberers)] if models.rememberers else str
    return (names | None, Field(None, description=kind.model_fields["model"].description))


def _model(name: str | None, models: Models) -> str:
    if not models.rememberers:
        raise Refusal(422, NOBODY)
    return name or next(iter(models.rememberers))


def _light(picture: str, name: str) -> Given | tuple[bytes, str]:
    """The picture, decoded; or its file, where that is much work."""
    content = file_of(picture, name)
    try:
        return open_given(content, name, limits=LIGHT)
    except Heavy:
        return content, name
    except DataError as failure:
        raise Refusal(422, " ".join(str(failure).split())) from None


async def _given(one: Given | tuple[bytes, str] | None, models: Models) -> Given | None:
    return await models.apart(*one) if isinstance(one, tuple) else one


def _joined(content: bytes, **more: Any) -> Response:
    """The JSON of an object with more fields at its end."""
    return Response(content[:-1] + b"," + json.dumps(more)[1:].encode(), media_type="application/json")
