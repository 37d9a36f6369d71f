"""The models of a server, each with the batcher that feeds it; names are a fixed list from the start on."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from stawm.data.prepare.prepared import Prepared
from stawm.errors import CheckpointError
from stawm.look.looker import Looker, shipped
from stawm.serve.batcher import Batcher
from stawm.serve.refusal import Refusal, told
from stawm.serve.settings import Settings
from stawm.store.weights import load_trained

Picture = tuple[Prepared, str]


@dataclass(frozen=True)
class Served:
    """A model that is being served."""

    looker: Looker
    batcher: Batcher[Picture, bytes]

    def about(self, default: bool) -> dict[str, Any]:
        """What /api/models tells of it."""
        looker, image = self.looker, self.looker.image
        return {
            "name": looker.name,
            "classes": list(looker.classes),
            "draws": looker.draws,
            "classifies": looker.classifies,
            "image": {"channels": image.channels, "height": image.height, "width": image.width},
            "glimpses": looker.glimpses,
            "default": default,
            "about": looker.experiment.about,
        }


class Models:
    """The models by name; the first is the default."""

    def __init__(self, lookers: Sequence[Looker], settings: Settings) -> None:
        self._served = {looker.name: Served(looker, _batcher(looker, settings)) for looker in lookers}

    def __iter__(self):
        return iter(self._served.values())

    @property
    def names(self) -> list[str]:
        """All names, the default first."""
        return list(self._served)

    @property
    def waiting(self) -> dict[str, int]:
        """How many pictures wait for each model."""
        return {name: served.batcher.waiting for name, served in self._served.items()}

    def about(self) -> list[dict[str, Any]]:
        """What /api/models answers."""
        return [served.about(default=place == 0) for place, served in enumerate(self)]

    def of(self, name: str | None) -> Served:
        """The model of that name, or the default; a name that is not in the list is refused."""
        if name is None:
            return next(iter(self))
        if name not in self._served:
            raise Refusal(422, f"there is no model {told(name)} here; there is {', '.join(self.names)}")
        return self._served[name]

    def close(self) -> None:
        """Finish what waits, and end."""
        for served in self:
            served.batcher.close()


def open_lookers(weights: Sequence[str]) -> list[Looker]:
    """A looker for each of these weights (all that come with the package if none), each under a name of its own."""
    names = list(dict.fromkeys(weights)) or list(shipped())
    if not names:
        raise CheckpointError("no weights come with this package; name a run or a folder of weights with --weights")
    lookers: list[Looker] = []
    for given in names:
        trained = load_trained(given)
        name = given if given in shipped() else trained.experiment.name
        taken, number, unique = {looker.name for looker in lookers}, 1, name
        while unique in taken:
            number += 1
            unique = f"{name}-{number}"
        lookers.append(Looker(trained, unique))
    return lookers


def _batcher(looker: Looker, settings: Settings) -> Batcher[Picture, bytes]:
    def look(pictures: list[Picture], memory: Hashable) -> list[bytes]:
        prepared, names = [one for one, _ in pictures], [name for _, name in pictures]
        seen = looker.look(prepared, names, memory=bool(memory))
        # Written out here, since one thread after the other is quicker than two that fight over the interpreter.
        return [json.dumps(one.payload(), separators=(",", ":")).encode() for one in seen]

    return Batcher(look, batch=settings.batch, queue=settings.queue, name=f"look-{looker.name}")
