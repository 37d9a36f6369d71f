"""What each head of a model adds to a look: a view for each head, found by the head's name.

A view is a function `view(head, answer, episode, classes)` that gives a `View` for each picture of the batch. A head of
your own gets one by `@VIEWS.add("its name")`; without one, the few numbers of its answer are told as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from torch import Tensor, nn

from stawm.model.stawm import Episode, Stawm
from stawm.registry import Registry

FEW = 32
"""A head without a view is told by those parts of its answer that have at most so many numbers a picture."""
UNTOLD = ("query", "recalls")
"""Parts that every answer has and that say nothing to people."""


@dataclass(frozen=True)
class View:
    """What a head adds to one look."""

    look: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the `Look`."""
    glimpses: Sequence[Mapping[str, Any]] = ()
    """Fields of each `Glimpse`."""
    answer: Any = None
    """Anything else, told under the head's name: numbers, words, lists, arrays, pictures."""


Viewer = Callable[[nn.Module, Any, Episode, tuple[str, ...]], list[View]]

VIEWS: Registry[Viewer] = Registry("view", home="stawm.look.views", group="stawm.views")


def views_of(model: Stawm, episode: Episode, classes: tuple[str, ...]) -> list[dict[str, View]]:
    """What the heads add to the look at each picture, by their names."""
    batch = episode.images.shape[0]
    views = {
        name: VIEWS[name](model.heads[name], answer, episode, classes) if name in VIEWS else plain(answer, batch)
        for name, answer in episode.answers.items()
    }
    return [{name: view[row] for name, view in views.items()} for row in range(batch)]


def plain(answer: Any, batch: int) -> list[View]:
    """The view of an answer about which nothing is known but that it is a tensor, or a dataclass that holds some."""
    parts = {"value": answer}
    if is_dataclass(answer):
        parts = {one.name: getattr(answer, one.name) for one in fields(answer) if one.name not in UNTOLD}
    told = {
        name: part.detach().cpu()
        for name, part in parts.items()
        if isinstance(part, Tensor) and part.dim() and len(part) == batch and part.numel() <= FEW * batch
    }
    return [View(answer={name: part[row].squeeze() for name, part in told.items()}) for row in range(batch)]
