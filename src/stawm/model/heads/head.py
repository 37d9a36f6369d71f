"""What every head is: a question put to the memory, what is made of the answer, and what that is judged by.

A head is one file: its settings (a `HeadConfig`), its answer (an `Answer`), its objective and the head (a `Head`),
which enters itself in `HEADS` by name. A model keeps its heads by these names, and so does `Episode.answers`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from stawm.errors import UsageError
from stawm.model.dropout import Dropout
from stawm.ranges import AT_LEAST_0
from stawm.registry import Registry
from stawm.vision.decoders import ConvDecoder

HEADS: "Registry[type[Head]]" = Registry("head", home="stawm.model.heads", group="stawm.heads")
"""The heads by name."""


Order = Literal["before", "after", "none"]
"""Whether dropout of a query comes before its ReLU6 or after it, if there is any."""


@dataclass(frozen=True)
class HeadConfig:
    """The settings that every head has; a head adds its own in a record derived from this one."""

    weight: Annotated[float, AT_LEAST_0] = 1.0
    """What its loss counts beside those of the other heads."""

    free: ClassVar[tuple[str, ...]] = ("weight",)
    """Settings in which a run may differ from the weights that it starts from."""


@dataclass(frozen=True)
class Score:
    """A number by which people judge a head, and how they read it."""

    name: str
    title: str
    factor: float = 1.0
    unit: str = ""
    digits: int = 4
    halved: float = 0.0
    """How far it may move when weights are rounded to float16."""

    def told(self, value: float, spread: float | None = None) -> str:
        """0.0041 as 0.41 %, with its deviation if it has one."""
        around = "" if spread is None else f" ± {self.factor * spread:.{self.digits}f}"
        return f"{self.factor * value:.{self.digits}f}{f' {self.unit}' if self.unit else ''}{around}"


@dataclass(frozen=True)
class Batch:
    """Pictures in [0, 1], or the features of them that a frozen model made; and their classes where these are known."""

    images: Float[Tensor, "batch *picture"]
    labels: Int[Tensor, "batch *cell"] | None
    """The class of each picture; of a scene, that of what is in each of its cells (-1: nothing)."""
    masks: Bool[Tensor, "batch height width"] | None = None
    """Where the foreground truly is; only in batches that are measured, and only if it is known."""


@dataclass(frozen=True)
class Answer:
    """What a head asked of the memory, and what came back; a head adds what it made of it."""

    query: Float[Tensor, "batch *question memory"]
    """One query, or one for each question of a head that asks several."""
    recalls: Float[Tensor, "batch *question glimpse memory"]
    """What the query reads back from the intermediate memory after each write; the last is the terminal memory's."""


@dataclass(frozen=True)
class Scene:
    """What a head may know of the episode besides the recalls: the size of the picture, and where sketches go."""

    height: int
    width: int
    inverses: Float[Tensor, "batch glimpse 2 3"] | None
    """The emitted inverse poses; none if no head of the model pastes."""
    poses: Float[Tensor, "batch glimpse 2 3"] | None = None
    """Where the model looked, if that is known."""
    again: Float[Tensor, "batch seen 2 3"] | None = None
    """Where it looked in the second of two pictures, which is compared with what is remembered of the first."""


@dataclass(frozen=True)
class Host:
    """The model that a head is built into, as far as a head needs to know it."""

    features: int
    """Context features, from which queries are made."""
    memory: int
    channels: int
    glimpses: int
    dropout: float
    decoder: Callable[[int], ConvDecoder]
    """The mirror of the glimpse network that draws sketches of so many channels."""


@dataclass(frozen=True)
class Answered:
    """What a model made of a batch: an `Episode`, or the answers of a baseline that does the same task."""

    answers: Mapping[str, Any]
    """The answer of each head, by its name."""


class Objective(ABC):
    """What the answers of a head are judged by."""

    @abstractmethod
    def terms(self, answer: Any, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The named terms whose sum is the loss, each a mean over the batch."""

    def scores(self, answer: Any, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """Numbers for each image, to be averaged by the caller."""
        return {}

    def judged(self, answer: Any, batch: Batch) -> dict[str, float]:
        """How much a batch counts in the mean of a score, if not by its pictures: the answers that were judged."""
        return {}

    def after_each(self, answer: Any, batch: Batch) -> dict[str, Float[Tensor, "batch glimpse"]]:
        """Scores for each image after each glimpse, where the answer has them."""
        return {}

    def judged_after_each(self, answer: Any, batch: Batch) -> dict[str, Float[Tensor, " glimpse"]]:
        """How much a batch counts in the mean of such a score after each glimpse, if not by its pictures."""
        return {}


class Query(nn.Module):
    """A query of the memory from the context; the context learns nothing from it (its gradient is stopped)."""

    def __init__(self, features: int, memory: int, dropout: float = 0.0, order: Order = "before") -> None:
        """A query of `memory` numbers from `features` context features; `order` says when some are dropped."""
        super().__init__()
        self.project = nn.Linear(features, memory)
        self.dropout = Dropout(0.0 if order == "none" else dropout)
        self.order: Order = order

    def forward(self, context: Float[Tensor, "batch features"]) -> Float[Tensor, "batch memory"]:
        """ReLU6 of a linear map of the context."""
        projected = self.project(context.detach())
        return F.relu6(self.dropout(projected)) if self.order == "before" else self.dropout(F.relu6(projected))


class ConstantQuery(nn.Module):
    """One learnt query for all pictures: what is recalled depends on the memory alone, not on the context."""

    def __init__(self, memory: int) -> None:
        """A query of `memory` numbers, none of which begins below zero, where it would learn nothing."""
        super().__init__()
        self.vector = nn.Parameter(torch.randn(memory).abs())

    def forward(self, context: Float[Tensor, "batch features"]) -> Float[Tensor, "batch memory"]:
        """ReLU6 of the learnt vector, for each picture of a batch."""
        return F.relu6(self.vector).expand(context.shape[0], -1)


class Head(nn.Module, ABC):
    """A question put to the memory, and what is made of what comes back.

    A head has a `query`, any module from context to memory width; `Query` is the paper's.
    """

    Config: ClassVar[type[HeadConfig]] = HeadConfig
    """The record of the head's settings."""
    measured: ClassVar[Sequence[Score]] = ()
    """The scores of its objective, and how people read them."""
    pastes: ClassVar[bool] = False
    """Whether it needs inverse poses, by which sketches are pasted."""
    compares: ClassVar[bool] = False
    """Whether a second picture is shown, and its codes are the queries: an image is then two pictures, one above the
    other."""
    places: ClassVar[bool] = False
    """Whether labels tell it what is where in a picture, in which nothing may then be moved."""
    reads: ClassVar[Literal["intermediate", "terminal"]] = "intermediate"
    """Whether it is asked after every glimpse, or once at the end: its `recalls` may then be the last one alone."""
    query: nn.Module

    @classmethod
    @abstractmethod
    def build(cls, config: Any, host: Host) -> "Head":
        """The head of these settings, for this model."""

    @staticmethod
    @abstractmethod
    def objective(config: Any) -> Objective:
        """What its answers are judged by, with these settings."""

    @staticmethod
    def check_data(config: Any, name: str, labels: Tensor | None, classes: Sequence[str]) -> None:
        """Refuse pictures, of the data set `name`, that cannot teach or measure this head, with a `DataError`."""
        return None

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "batch memory"],
        recalls: Float[Tensor, "batch glimpse memory"],
        scene: Scene,
        generator: Generator | None = None,
    ) -> Answer:
        """The answer, from what the query read back after each glimpse."""


@dataclass(frozen=True)
class Judge:
    """The objectives of several heads, by name: their terms are summed (the visual sketchpad), their scores told."""

    objectives: Mapping[str, Objective]

    def terms(self, episode: Answered, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The terms of all heads."""
        return _joined(part.terms(episode.answers[name], batch) for name, part in self.objectives.items())

    def scores(self, episode: Answered, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """The scores of all heads."""
        return _joined(part.scores(episode.answers[name], batch) for name, part in self.objectives.items())

    def judged(self, episode: Answered, batch: Batch) -> dict[str, float]:
        """How much the batch counts in those scores that are not means over pictures."""
        parts = (part.judged(episode.answers[name], batch) for name, part in self.objectives.items())
        return {name: count for part in parts for name, count in part.items()}

    def after_each(self, episode: Answered, batch: Batch) -> dict[str, Float[Tensor, "batch glimpse"]]:
        """The scores of all heads after each glimpse."""
        return _joined(part.after_each(episode.answers[name], batch) for name, part in self.objectives.items())

    def judged_after_each(self, episode: Answered, batch: Batch) -> dict[str, Float[Tensor, " glimpse"]]:
        """How much the batch counts in those of these scores that are not means over pictures."""
        return _joined(part.judged_after_each(episode.answers[name], batch) for name, part in self.objectives.items())


def known_scores() -> dict[str, Score]:
    """The scores of all heads that are known, by name."""
    return {score.name: score for head in HEADS.values() for score in head.measured}


def _joined(parts: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    joined: dict[str, Tensor] = {}
    for part in parts:
        if twice := joined.keys() & part.keys():
            raise UsageError(f"two heads have a term or score called {min(twice)!r}; rename that of your own head")
        joined |= part
    return joined
