"""The models of a server, each with the batcher that feeds it; names are a fixed list from the start on."""

import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count

from stawm.data.prepare.prepared import Prepared
from stawm.experiments.experiment import ImageConfig
from stawm.look.answer import to_json
from stawm.look.looker import Looker, preferred, shipped
from stawm.serve.batcher import Batcher, Closed, Done, Full
from stawm.serve.refusal import busy
from stawm.serve.settings import Settings
from stawm.store.weights import load_trained

DECODERS = 2
Picture = tuple[Prepared, str]


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
        self.preparing = ThreadPoolExecutor(DECODERS, thread_name_prefix="prepare")
        self._requests = self._bytes = 0

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

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """A place among the requests that are worked on, which are counted before anything of them is read."""
        if self._requests >= self.settings.requests:
            raise busy("too many requests are waiting already; try again in a second")
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """A count of the bytes of a body, which are given back at the end."""
        own = 0

        def hold(more: int) -> None:
            nonlocal own
            if self._bytes + more > self.settings.held:
                raise busy("too many large requests are waiting already; try again in a second")
            own += more
            self._bytes += more

        try:
            yield hold
        finally:
            self._bytes -= own

    def close(self) -> None:
        """Finish what waits, and end."""
        for batcher in self.batchers.values():
            batcher.close()
        self.preparing.shutdown()


def open_lookers(weights: Sequence[str]) -> list[Looker]:
    """A looker for each of these weights (all that come with the package if none), each under a name of its own."""
    lookers: dict[str, Looker] = {}
    for given in dict.fromkeys(weights) or shipped() or [preferred()]:
        trained = load_trained(given)
        name = given if given in shipped() else trained.experiment.name
        unique = next(one for one in chain([name], (f"{name}-{number}" for number in count(2))) if one not in lookers)
        lookers[unique] = Looker(trained, unique)
    return list(lookers.values())


def _batcher(looker: Looker, settings: Settings) -> Batcher[Picture, bytes]:
    def look(pictures: list[Picture], memory: Hashable) -> list[bytes]:
        prepared, names = [one for one, _ in pictures], [name for _, name in pictures]
        seen = looker.look(prepared, names, memory=bool(memory))
        # Written out here, since one thread after the other is quicker than two that fight over the interpreter.
        return [json.dumps(to_json(one), separators=(",", ":")).encode() for one in seen]

    return Batcher(look, batch=settings.batch, queue=settings.queue, name=f"look-{looker.name}")
