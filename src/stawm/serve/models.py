"""The models of a server, each with the batcher that feeds it; names are a fixed list from the start on."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, TypeVar

from stawm.data.prepare.given import Given, open_given
from stawm.data.prepare.prepared import Prepared
from stawm.experiments.experiment import ImageConfig
from stawm.files import real
from stawm.look.answer import to_json
from stawm.look.asked import Kept, Recollection
from stawm.look.engine import Kind, open_engine
from stawm.look.looker import Looker, preferred, shipped
from stawm.look.rememberer import Rememberer, only
from stawm.serve.apart import lightened
from stawm.serve.batcher import Batcher, Closed, Done, Full
from stawm.serve.refusal import Refusal, busy
from stawm.serve.settings import Settings
from stawm.serve.token import Tokens
from stawm.store.weights import WEIGHTS, load_trained

DECODERS = 2
SMALL = 2**18
"""Bytes of a body that is understood at once; larger ones are so one after the other, beside the small ones."""
LARGE = 8
"""Most pictures that wait to be decoded apart."""
Result = TypeVar("Result")
Picture = tuple[Prepared, str]
File = tuple[bytes, str]
Question = tuple[Kept, int | None, str | None]
"""A memory, and the cell and the class that are asked about."""
REMEMBER, ASK = "remember", "ask"
"""Kinds of work beside looks."""


@dataclass(frozen=True)
class Grid:
    """Cells that can be asked about."""

    rows: int
    columns: int


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
    grid: Grid | None
    """The cells of a scene that it can be asked about; null for a model that looks at single things."""


class Models:
    """The models by name, the first of which is the default; and how much may be under way for them together."""

    def __init__(self, lookers: Sequence[Looker], settings: Settings) -> None:
        self.settings = settings
        self.lookers = {looker.name: looker for looker in lookers}
        found = {name: Rememberer.of(looker) for name, looker in self.lookers.items()}
        self.rememberers = {name: one for name, one in found.items() if one is not None}
        self.tokens = {name: Tokens(one) for name, one in self.rememberers.items()}
        self.batchers = {name: self._batcher(name) for name in self.lookers}
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
                grid=self._grid(name),
            )
            for name, looker in self.lookers.items()
        ]

    def _grid(self, name: str) -> Grid | None:
        one = self.rememberers.get(name)
        return one and Grid(one.rows, one.columns)

    def submit(self, name: str, items: Sequence[Any], kind: Hashable) -> "Future[Done[bytes]]":
        """What a model makes of these items, each as JSON.

        Looks at pictures (the kind says whether with their memory), what is kept of scenes, or answers to questions.
        """
        try:
            return self.batchers[name].submit(items, kind)
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

    def _batcher(self, name: str) -> Batcher[Any, bytes]:
        looker = self.lookers[name]

        def work(items: list[Any], kind: Hashable) -> list[bytes]:
            if kind == REMEMBER:
                made = self._remembered(name, items)
            elif kind == ASK:
                made = _answered(self.rememberers[name], items)
            else:
                prepared, names = [one for one, _ in items], [called for _, called in items]
                made = looker.look(prepared, names, memory=bool(kind))
            # Written out here, since one thread after the other is quicker than two that fight over the interpreter.
            return [json.dumps(to_json(one), separators=(",", ":")).encode() for one in made]

        return Batcher(work, batch=self.settings.batch, queue=self.settings.queue, name=f"look-{name}")

    def _remembered(self, name: str, scenes: list[Picture]) -> list[dict[str, Any]]:
        """What was seen of each scene, and the token of what was kept."""
        found = self.rememberers[name].remember([one for one, _ in scenes], [called for _, called in scenes])
        tokens = [None if kept is None else self.tokens[name].of(kept) for _, kept in found]
        return [{**to_json(seen), "memory": token} for (seen, _), token in zip(found, tokens, strict=True)]

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
        name = _called(given) or trained.experiment.name
        unique = next(one for one in chain([name], (f"{name}-{number}" for number in count(2))) if one not in lookers)
        lookers[unique] = Looker(trained, unique, open_engine(trained, engine, tell))
    return list(lookers.values())


def _called(given: str) -> str:
    """The name of weights that were given by name or by folder; that of the run, where they lie in its `weights`."""
    path = real(given)
    return path.parent.name if path.name == WEIGHTS else path.name


def _answered(rememberer: Rememberer, questions: list[Question]) -> list[Recollection]:
    """The answer of each memory to its question."""
    recalled = rememberer.ask([kept for kept, _, _ in questions])
    return [only(one, at, where) for one, (_, at, where) in zip(recalled, questions, strict=True)]
