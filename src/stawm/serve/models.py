"""The models of a server, each with the batcher that feeds it; names are a fixed list from the start on."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TypeVar

from stawm.data.prepare.given import Given, open_given
from stawm.data.prepare.prepared import Prepared
from stawm.experiments.experiment import ImageConfig
from stawm.look.answer import to_json
from stawm.look.engine import Kind, open_engine
from stawm.look.looker import Looker, preferred, shipped
from stawm.serve.apart import lightened
from stawm.serve.batcher import Batcher, Closed, Done, Full
from stawm.serve.refusal import Refusal, busy
from stawm.serve.settings import Settings
from stawm.store.weights import load_trained

DECODERS = 2
SMALL = 2**18
"""Bytes of a body that is understood at once; larger ones are so one after the other, beside the small ones."""
LARGE = 8
"""Most pictures that wait to be decoded apart."""
Result = TypeVar("Result")
Picture = tuple[Prepared, str]
File = tuple[bytes, str]


@dataclass(frozen=True)
class Model:
    """A model that can be asked for."""

    name: str
    classes: tuple[str, ...]
    draws: bool
    classifies: bool
    image: ImageConfig
    glimpses: int
    default: bool
    about: str


class Models:
    """The models by name, the first of which is the default; and how much may be under way for them together."""

    def __init__(self, lookers: Sequence[Looker], settings: Settings) -> None:
        self.settings = settings
        self.lookers = {looker.name: looker for looker in lookers}
        self.batchers = {name: _batcher(looker, settings) for name, looker in self.lookers.items()}
        self._small = ThreadPoolExecutor(DECODERS, thread_name_prefix="small")
        self._large = ThreadPoolExecutor(1, thread_name_prefix="large")
        self._under_way: Counter[str] = Counter()
        self._apart = asyncio.Semaphore(1)
        self._arriving: dict[asyncio.Timeout, int] = {}

    @property
    def names(self) -> list[str]:
        """All names, the default first."""
        return list(self.lookers)

    @property
    def waiting(self) -> int:
        """How many pictures wait."""
        return sum(batcher.waiting for batcher in self.batchers.values())

    def about(self) -> list[Model]:
        """What /api/models answers."""
        return [
            Model(
                *(name, looker.classes, looker.draws, looker.classifies, looker.image, looker.glimpses),
                default=name == self.names[0],
                about=looker.experiment.about,
            )
            for name, looker in self.lookers.items()
        ]

    def submit(self, name: str, pictures: Sequence[Picture], memory: bool) -> "Future[Done[bytes]]":
        """The looks of a model at these pictures, each as JSON."""
        try:
            return self.batchers[name].submit(pictures, memory)
        except Full:
            raise busy("too many pictures are waiting already; try again in a second") from None
        except Closed:
            raise busy("the server is about to stop; try again in a second") from None

    async def aside(self, size: int, work: Callable[[], Result]) -> Result:
        """The result of work that a body of this size asks for, done in a thread."""
        pool = self._small if size <= SMALL else self._large
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    async def apart(self, content: bytes, name: str) -> Given:
        """A picture that is much work, reduced; one after the other is decoded."""
        with self._counted("large pictures", 1, LARGE):
            async with self._apart:
                made, size = await lightened(content, name)
        return replace(await self.aside(0, lambda: open_given(made, name)), before=size)

    def admitted(self, size: int) -> AbstractContextManager[None]:
        """A place among the requests that are worked on, for one whose body of this size has arrived."""
        if size <= SMALL:
            return self._counted("requests", 1, self.settings.requests)
        return self._counted("large requests", size, self.settings.held)

    @contextmanager
    def _counted(self, kind: str, more: int, most: int) -> Iterator[None]:
        if self._under_way[kind] + more > most:
            raise busy(f"too many {kind} are waiting already; try again in a second")
        self._under_way[kind] += more
        try:
            yield
        finally:
            self._under_way[kind] -= more

    @asynccontextmanager
    async def arriving(self) -> AsyncIterator[Callable[[int], None]]:
        """A count of the bytes of a body that arrives, within the time for that.

        Where all that arrive are too many, those that began first are given up: others are done in a moment.
        """
        limit = asyncio.timeout(self.settings.timeout)

        def hold(more: int) -> None:
            if limit in self._arriving:
                self._arriving[limit] += more
            while sum(self._arriving.values()) > self.settings.held:
                first = next(iter(self._arriving))
                del self._arriving[first]
                if not first.expired():
                    first.reschedule(0)

        try:
            async with limit:
                self._arriving[limit] = 0
                yield hold
        except TimeoutError:
            if limit in self._arriving:
                told = f"the body did not come within {self.settings.timeout:g} s; send it again"
                raise Refusal(408, told) from None
            raise busy("too many large requests are waiting already; try again in a second") from None
        finally:
            self._arriving.pop(limit, None)

    def close(self) -> None:
        """Finish what waits, and end."""
        for batcher in self.batchers.values():
            batcher.close()
        for pool in (self._small, self._large):
            pool.shutdown()


def open_lookers(
    weights: Sequence[str], engine: Kind = "torch", tell: Callable[[str], None] = lambda line: None
) -> list[Looker]:
    """A looker for each of these weights (all that come with the package if none), each under a name of its own."""
    lookers: dict[str, Looker] = {}
    for given in dict.fromkeys(weights) or shipped() or [preferred()]:
        trained = load_trained(given)
        name = given if given in shipped() else trained.experiment.name
        unique = next(one for one in chain([name], (f"{name}-{number}" for number in count(2))) if one not in lookers)
        lookers[unique] = Looker(trained, unique, open_engine(trained, engine, tell))
    return list(lookers.values())


def _batcher(looker: Looker, settings: Settings) -> Batcher[Picture, bytes]:
    def look(pictures: list[Picture], memory: Hashable) -> list[bytes]:
        prepared, names = [one for one, _ in pictures], [name for _, name in pictures]
        seen = looker.look(prepared, names, memory=bool(memory))
        # Written out here, since one thread after the other is quicker than two that fight over the interpreter.
        return [json.dumps(to_json(one), separators=(",", ":")).encode() for one in seen]

    return Batcher(look, batch=settings.batch, queue=settings.queue, name=f"look-{looker.name}")
