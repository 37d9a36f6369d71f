"""The web application: the page, the JSON API and its description."""

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import torch
from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from stawm import __version__
from stawm.look.answer import to_json
from stawm.look.examples import Example, example_digits
from stawm.look.looker import Looker
from stawm.serve.connection import leave_all
from stawm.serve.guard import Guard, Metrics
from stawm.serve.looking import DESCRIBED, Looks, answer, request_type
from stawm.serve.models import Model, Models, open_lookers
from stawm.serve.refusal import Problem, Refusal, told
from stawm.serve.remembering import Answered, Remembered, ask, ask_type, remember, remember_type
from stawm.serve.settings import LOCAL, Settings

ABOUT = "Pictures in; where a STAWM model looked, what it saw, drew and believed out."
REFUSED = {
    400: "Not HTTP as it should be, or not JSON.",
    403: "Asked from a page of another origin.",
    408: "The body was too slow.",
    413: "Too long, or full of more values than a request needs.",
    415: "Not JSON, or compressed.",
    422: "A field that is wrong or unknown, too many pictures, a model that is not here, no picture, or no memory.",
    503: "Too much to do; Retry-After says when to ask again.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": about} for status, about in REFUSED.items()
}
SWITCH = 0.0005
"""Seconds after which one thread of Python lets another go on, at the latest."""
PAGES = {"/": "index.html", "/api/docs": "docs.html"}


@dataclass(frozen=True)
class Health:
    """Whether the server answers, and how much waits."""

    status: str
    version: str
    models: list[str]
    queue: int
    """Pictures that wait for a model."""

    __pydantic_config__ = DESCRIBED


def create_app(lookers: Sequence[Looker], settings: Settings) -> FastAPI:
    """The application over these models, the first of which is the default."""
    metrics, models = Metrics(settings.workers), Models(lookers, settings)
    for name, batcher in models.batchers.items():
        metrics.watch(name, lambda batcher=batcher: batcher.waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        leave_all()
        models.close()

    api = FastAPI(
        title="STAWM",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
        exception_handlers={HTTPException: _unrouted},
        redirect_slashes=False,
        responses={400: PROBLEMS[400]},
    )
    if settings.local:
        allowed = [f"[{host}]" if ":" in host else host for host in (*LOCAL, settings.host)]
        api.add_middleware(TrustedHostMiddleware, allowed_hosts=allowed, www_redirect=False)
    api.add_middleware(Guard, settings=settings, metrics=metrics)
    _add_answers(api, models, metrics)
    _add_facts(api, models, metrics)
    _add_pages(api)
    return api


def _add_answers(api: FastAPI, models: Models, metrics: Metrics) -> None:
    looks = request_type(models.settings.pictures, models.names)
    scenes, questions = remember_type(models), ask_type(models)

    def post(path: str, summary: str, kind: type[BaseModel], told: type) -> Callable[..., Any]:
        content = {"application/json": {"schema": kind.model_json_schema()}}
        body = {"requestBody": {"required": True, "content": content}}
        return api.post(path, summary=summary, response_model=told, responses=PROBLEMS, openapi_extra=body)

    @post("/api/look", "Look at pictures", looks, Looks)
    async def look(request: Request) -> Response:
        """Pictures that come at the same time, in one request or several, go through the model together."""
        return await answer(request, looks, models, metrics)

    @post("/api/remember", "Look at a scene once, and keep what was seen", scenes, Remembered)
    async def remember_(request: Request) -> Response:
        """No question is known yet. What is kept comes back as a token, with which questions are asked."""
        return await remember(request, scenes, models, metrics)

    @post("/api/ask", "Ask what was where", questions, Answered)
    async def ask_(request: Request) -> Response:
        """The answer comes out of the memory that the token holds, and of nothing else."""
        return await ask(request, questions, models)


def _add_facts(api: FastAPI, models: Models, metrics: Metrics) -> None:
    about, examples = to_json(models.about()), to_json(example_digits())

    @api.get("/api/models", response_model=list[Model], summary="The models that can be asked")
    async def models_() -> Response:
        return JSONResponse(about)

    @api.get("/api/examples", response_model=list[Example], summary="Digits to try")
    async def examples_() -> Response:
        return JSONResponse(examples)

    @api.get("/api/health", response_model=Health, summary="Whether the server answers")
    async def health() -> Response:
        return JSONResponse(to_json(Health("ok", __version__, models.names, models.waiting)))

    @api.get(
        "/api/metrics",
        summary="Counts and times, for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics_() -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE_LATEST})


def _add_pages(api: FastAPI) -> None:
    files = StaticFiles(packages=[("stawm.page", "static")])

    async def page(request: Request) -> Response:
        path = request.scope["route"].path
        return await files.get_response(PAGES.get(path) or request.path_params["name"], request.scope)

    for path in (*PAGES, "/static/{name:path}"):
        api.add_api_route(path, page, methods=["GET", "HEAD"], include_in_schema=False)


def application() -> FastAPI:
    """The application of a worker process, whose settings are in its environment, and which ends with its parent."""
    settings = Settings.from_environment()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    settle(settings)  # Engines have as many threads as torch has when they are opened.
    return settled_app(open_lookers(settings.weights, settings.engine), settings)


def settled_app(lookers: Sequence[Looker], settings: Settings) -> FastAPI:
    """The application of a process that does nothing else."""
    settle(settings)
    app = create_app(lookers, settings)
    gc.collect()
    gc.freeze()  # All this stays: without it, collecting garbage takes a moment now and then, and the end a second.
    return app


def settle(settings: Settings) -> None:
    """Set up this process: threads of torch as asked for (else its share of the cores), and a quiet uvicorn."""
    logging.basicConfig(level=logging.WARNING, format="stawm: %(message)s")
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # Requests have lines of their own.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Else a thread that computes keeps the loop of requests waiting for 5 ms at each system call, of which a burst of
    # slow clients makes a thousand.
    sys.setswitchinterval(SWITCH)
    torch.set_num_threads(settings.threads or max(1, cores // settings.workers))


def _end_with_parent() -> None:
    """Stop this process when the one that started it is no more, however that ended."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


async def _unrouted(request: Request, failure: Any) -> Response:
    sentences = {
        404: f"there is nothing at {told(request.url.path)}; /api/docs lists what there is",
        405: f"{told(request.method)} is not for {told(request.url.path)}; /api/docs lists what is",
    }
    detail = sentences.get(failure.status_code, str(failure.detail))
    return Refusal(failure.status_code, detail, failure.headers or {}).response()
