"""A small model behind the web application, asked without a network, so that any request can be put to it."""

import asyncio
import base64
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from PIL import Image

from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig
from stawm.look.looker import Looker
from stawm.serve.app import create_app
from stawm.serve.settings import Settings
from stawm.store.weights import Trained
from tiny_drawing import drawing_config, drawing_model
from tiny_model import SMALL, small

QUIET = Settings(log="none")
JSON = {"content-type": "application/json"}
LONGEST = 20.0
"""Seconds after which a request is said to hang."""


def looker(name: str = "sketchpad", *, draws: bool = True, size: int = 12) -> Looker:
    image = ImageConfig(1, size, size)
    config = drawing_config(image=image) if draws else replace(SMALL, image=image)
    model = (
        drawing_model(config) if draws else small(**{part.name: getattr(config, part.name) for part in fields(config)})
    )
    data = DataConfig(name="mnist-5k" if size == 28 else "folder:pictures")
    experiment = Experiment(name=name, about="small", model=config, data=data)
    return Looker(Trained(model.eval(), experiment, {}), name)


def png(value: int = 200, size: tuple[int, int] = (16, 16), kind: str = "PNG", mode: str = "L") -> bytes:
    """A picture with a bright corner whose place and shade tell it from others."""
    picture = Image.new(mode, size)
    picture.paste(tuple([value] * len(mode)) if len(mode) > 1 else value, (1, 2, 3 + value % 9, 4 + value % 7))
    written = io.BytesIO()
    picture.save(written, kind)
    return written.getvalue()


def url(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def look_body(*pictures: bytes, **more: Any) -> bytes:
    return json.dumps({"images": [url(picture) for picture in pictures], **more}).encode()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    taken: int
    """How many parts of the body were taken."""

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        """The one sentence of a refusal, which has nothing else."""
        [(name, sentence)] = self.json().items()
        assert name == "detail"
        assert sentence == " ".join(sentence.split())
        return sentence


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.005)


class Asker:
    """A client of an application in this process."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.app, self.loop = app, loop

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def look(self, body: bytes, headers: dict[str, str] | None = None) -> Answer:
        return self.ask("POST", "/api/look", body, JSON if headers is None else headers)

    def ask(
        self, method: str, path: str, body: bytes | Iterable[bytes | float] = b"", headers: dict[str, str] | None = None
    ) -> Answer:
        return self.all([self.asking(method, path, body, headers)])[0]

    def all(self, askings: Iterable[Any]) -> list[Answer]:
        """The answers to several requests at once."""

        async def together() -> list[Answer]:
            return await asyncio.gather(*(asyncio.wait_for(one, LONGEST) for one in askings))

        return self.loop.run_until_complete(together())

    async def asking(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes | float] = b"",
        headers: dict[str, str] | list[tuple[bytes, bytes]] | None = None,
    ) -> Answer:
        """One request; a number in its body is a pause."""
        given = {"host": "localhost", **(headers or {})} if not isinstance(headers, list) else {}
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in given.items()]
        parts, taken, ended, sent = iter([body] if isinstance(body, bytes) else body), 0, False, list[Any]()

        async def receive() -> dict[str, Any]:
            nonlocal taken, ended
            if ended:  # As of a client that stays and waits for its answer.
                await asyncio.Event().wait()
            for part in parts:
                if isinstance(part, bytes):
                    taken += 1
                    return {"type": "http.request", "body": part, "more_body": True}
                await asyncio.sleep(part)
            ended = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        plain, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": plain,
            "raw_path": plain.encode("utf-8", "surrogatepass"),
            "query_string": query.encode("utf-8", "surrogatepass"),
            "root_path": "",
            "headers": headers if isinstance(headers, list) else raw,
            "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 50000),
        }
        await self.app(scope, receive, send)
        start, *rest = sent
        told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        return Answer(start["status"], told, b"".join(message.get("body", b"") for message in rest), taken)


@contextmanager
def asking(*lookers: Looker, settings: Settings = QUIET) -> Iterator[Asker]:
    """A client of an application that is started and stopped as a server would."""
    app = create_app(lookers or [looker()], settings)
    loop = asyncio.new_event_loop()
    events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    told: list[str] = []

    async def send(message: Any) -> None:
        told.append(message["type"])

    events.put_nowait({"type": "lifespan.startup"})
    life = loop.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, events.get, send))
    loop.run_until_complete(asyncio.sleep(0.01))
    try:
        yield Asker(app, loop)
    finally:
        events.put_nowait({"type": "lifespan.shutdown"})
        loop.run_until_complete(asyncio.wait_for(life, LONGEST))
        loop.close()
    assert told == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
