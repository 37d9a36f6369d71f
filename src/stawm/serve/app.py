"""The web application: the page, the JSON API and its description."""

import ctypes
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import torch
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stawm import __version__
from stawm.look.answer import to_json
from stawm.look.examples import example_digits
from stawm.look.looker import Looker
from stawm.serve import schema
from stawm.serve.guard import FAILED, Guard
from stawm.serve.looking import Looking
from stawm.serve.metrics import TYPE, Metrics
from stawm.serve.models import Models, open_lookers
from stawm.serve.refusal import Refusal, told
from stawm.serve.settings import Settings
from stawm.serve.static import Files

ARENAS = -8
"""M_ARENA_MAX of glibc's mallopt."""
SWITCH = 0.0005
"""Seconds for which a thread keeps the interpreter while another wants it."""
ABOUT = "Pictures in; where a STAWM model looked, what it saw, drew and believed out."
REFUSED = {
    400: "Not HTTP as it should be, not JSON, or not a form.",
    403: "Asked from a page of another origin.",
    408: "The body was too slow.",
    413: "Too long, too many pictures, or too many pixels.",
    415: "Neither JSON nor a form, or compressed.",
    422: "A field that is wrong or unknown, a model that is not here, or not a picture.",
    503: "Too much to do; Retry-After says when to ask again.",
}


def create_app(lookers: Sequence[Looker], settings: Settings) -> Guard:
    """The application over these models, the first of which is the default."""
    metrics = Metrics(settings.workers)
    models = Models(lookers, settings)
    looking = Looking(models, settings, metrics)
    page, docs = Files("page"), Files("serve", "docs")
    shown = _json(to_json(example_digits()))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        models.close()
        looking.close()

    api = FastAPI(
        title="STAWM",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
        exception_handlers={
            HTTPException: _unrouted,
            RequestValidationError: _misfit,
            Refusal: _refused,
            Exception: _failed,
        },
        redirect_slashes=False,
        responses={400: _described(400)},
    )

    @api.post(
        "/api/look",
        summary="Look at pictures",
        description="Pictures that come at the same time, in one request or several, go through the model together.",
        response_model=schema.Looks,
        responses={status: _described(status) for status in REFUSED},
        openapi_extra=schema.look_request(settings, models.names),
    )
    async def look(request: Request) -> Response:
        return await looking.answer(request)

    @api.get("/api/models", response_model=list[schema.Model], summary="The models that can be asked")
    async def models_() -> Response:
        return _json(models.about())

    @api.get("/api/examples", response_model=list[schema.Example], summary="Digits to try")
    async def examples_() -> Response:
        return shown

    @api.get("/api/health", response_model=schema.Health, summary="Whether the server answers")
    async def health() -> Response:
        queue = sum(models.waiting.values())
        return _json({"status": "ok", "version": __version__, "models": models.names, "queue": queue})

    @api.get(
        "/api/metrics",
        summary="Counts and times, for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics_() -> Response:
        return Response(metrics.text(models.waiting), headers={"content-type": TYPE})

    async def index(request: Request) -> Response:
        return page.answer("index.html", request)

    async def static(request: Request) -> Response:
        return page.answer(request.path_params["name"], request)

    async def icon(request: Request) -> Response:
        return page.answer("favicon.ico", request) if "favicon.ico" in page else Response(status_code=204)

    async def docs_page(request: Request) -> Response:
        return docs.answer("docs.html", request)

    async def docs_file(request: Request) -> Response:
        return docs.answer(request.path_params["name"], request)

    api.router.routes.extend(
        [
            Route("/", index),
            Route("/favicon.ico", icon),
            Route("/static/{name:path}", static),
            Route("/api/docs", docs_page),
            Route("/api/docs/{name}", docs_file),
        ]
    )
    paths = frozenset(
        {"/", "/api/docs", "/api/openapi.json", *(route.path for route in api.routes if isinstance(route, Route))}
    )
    return Guard(api, settings, metrics, paths)


def application() -> Guard:
    """The application of a worker process, whose settings are in its environment."""
    settings = Settings.from_environment()
    settle(settings)
    return create_app(open_lookers(settings.weights), settings)


def settle(settings: Settings) -> None:
    """Set up this process: threads of torch as asked for (else its share of the cores), quick turns, a quiet uvicorn.

    One arena for all threads: with one for each, glibc keeps some 0.4 MiB more for every 1,000 requests. Quick turns:
    torch lets go of the interpreter at each operation, and with Python's 5 ms a look would wait that long, many times
    over, whenever another thread prepares a picture.
    """
    logging.basicConfig(level=logging.WARNING, format="stawm: %(message)s")
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # Requests have lines of their own.
    with suppress(OSError, AttributeError, TypeError):  # Where the C library is another, it has no such setting.
        ctypes.CDLL(None).mallopt(ARENAS, 1)
    sys.setswitchinterval(SWITCH)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(settings.threads or max(1, cores // settings.workers))


def _json(values: Any) -> Response:
    return Response(json.dumps(values), media_type="application/json")


def _described(status: int) -> dict[str, Any]:
    return {"model": schema.Problem, "description": REFUSED[status]}


async def _refused(_: Request, refusal: Any) -> Response:
    return Response(refusal.body(), refusal.status, dict(refusal.headers), "application/json")


async def _unrouted(request: Request, failure: Any) -> Response:
    sentences = {
        404: f"there is nothing at {told(request.url.path)}; /api/docs lists what there is",
        405: f"{told(request.method)} is not for {told(request.url.path)}; /api/docs lists what is",
    }
    detail = sentences.get(failure.status_code, str(failure.detail))
    return await _refused(request, Refusal(failure.status_code, detail, failure.headers or {}))


async def _misfit(request: Request, _: Any) -> Response:
    return await _refused(request, Refusal(422, "the request does not fit; /api/docs says what does"))


async def _failed(request: Request, _: Any) -> Response:
    return await _refused(request, FAILED)
