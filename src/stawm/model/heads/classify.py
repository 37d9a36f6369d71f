"""What is it? One linear layer from recall to classes, on the terminal memory or on any intermediate one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from stawm.errors import DataError
from stawm.model.heads.head import (
    HEADS,
    Answer,
    Batch,
    ConstantQuery,
    Head,
    HeadConfig,
    Host,
    Objective,
    Order,
    Query,
    Scene,
    Score,
)
from stawm.precision import single
from stawm.ranges import AT_LEAST_0, SHARE, WIDTH


@dataclass(frozen=True)
class ClassifyConfig(HeadConfig):
    """The classifier, and its cross entropy."""

    classes: Annotated[int, WIDTH] = 10
    """Classes to tell apart."""
    anytime: Annotated[float, AT_LEAST_0] = 0.0
    """What the answers before the last one count (0: only the last counts, as in the paper)."""
    label_smoothing: Annotated[float, SHARE] = 0.0
    query_dropout: Order = "before"
    """Dropout of the query: before its ReLU6, so that it stays within 6; after: it reaches 6/(1 - dropout); or none."""
    query: Literal["context", "constant"] = "context"
    """What the query is made of: the context (paper), or one learnt vector, so that all of the answer is remembered."""

    free = ("weight", "anytime", "label_smoothing", "query_dropout")


@dataclass(frozen=True)
class Belief:
    """What a model, or a baseline, takes pictures for."""

    logits: Float[Tensor, "batch glimpse classes"]
    """The answer after each glimpse; the last is the model's."""


@dataclass(frozen=True)
class Classified(Belief, Answer):
    """What the model believes, from what it recalls."""


@dataclass(frozen=True)
class Classification(Objective):
    """Cross entropy of the terminal answer, times `weight`.

    `anytime` weighs the mean cross entropy of the answers before it, which the paper does not judge.
    """

    label_smoothing: float = 0.0
    weight: float = 1.0
    anytime: float = 0.0

    def terms(self, answer: Belief, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The cross entropy, and that of the earlier answers where they count."""
        logits, labels = answer.logits, _labels(batch)
        terms = {"cross_entropy": self.weight * self._entropy(logits[:, -1:], labels)}
        if self.anytime and logits.shape[1] > 1:
            terms["anytime_entropy"] = self.weight * self.anytime * self._entropy(logits[:, :-1], labels)
        return terms

    def _entropy(
        self, logits: Float[Tensor, "batch glimpse classes"], labels: Int[Tensor, "batch"]
    ) -> Float[Tensor, ""]:
        wanted = labels[:, None].expand(logits.shape[:2])
        return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), label_smoothing=self.label_smoothing)

    def scores(self, answer: Belief, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """`error` is 1 where the answer is wrong."""
        return {"error": (answer.logits[:, -1].argmax(-1) != _labels(batch)).float()}

    def after_each(self, answer: Belief, batch: Batch) -> dict[str, Float[Tensor, "batch glimpse"]]:
        """`error` after each glimpse."""
        return {"error": (answer.logits.argmax(-1) != _labels(batch)[:, None]).float()}


@HEADS.add("classify")
class ClassificationHead(Head):
    """One linear layer from recall to classes."""

    Config = ClassifyConfig
    measured = (Score("error", "error", factor=100.0, unit="%", digits=2, halved=2e-4),)

    def __init__(self, query: Query | ConstantQuery, memory: int, classes: int) -> None:
        """A head for `classes` classes that asks with `query`."""
        super().__init__()
        self.query = query
        self.classify = nn.Linear(memory, classes)

    @classmethod
    def build(cls, config: ClassifyConfig, host: Host) -> "ClassificationHead":
        """The classifier of these settings."""
        if config.query == "constant":
            return cls(ConstantQuery(host.memory), host.memory, config.classes)
        query = Query(host.features, host.memory, host.dropout, config.query_dropout)
        return cls(query, host.memory, config.classes)

    @staticmethod
    def objective(config: ClassifyConfig) -> Classification:
        """Its cross entropy."""
        return Classification(config.label_smoothing, config.weight, config.anytime)

    @staticmethod
    def check_data(config: ClassifyConfig, name: str, labels: Tensor | None, classes: Sequence[str]) -> None:
        """Refuse pictures without labels, or of other classes than the model answers."""
        if labels is None:
            raise DataError(f"{name} has no labels, and classification needs them; sort the images into class folders")
        if len(classes) == 1:
            raise DataError(
                f"{name} has one class only ({classes[0]}), so there is nothing to tell apart; give one sub-folder for "
                "each class, or no sub-folders, and what is learnt is to draw"
            )
        highest = int(labels.max())
        if len(classes) != config.classes or highest >= config.classes:
            found = max(len(classes), highest + 1)
            raise DataError(
                f"{name} has {found} classes, the model answers {config.classes}; "
                f"set model.heads.classify.classes={found}"
            )

    def forward(
        self,
        query: Float[Tensor, "batch memory"],
        recalls: Float[Tensor, "batch glimpse memory"],
        scene: Scene,
        generator: Generator | None = None,
    ) -> Classified:
        """The belief after each glimpse."""
        return Classified(query, recalls, single(self.classify(recalls)))


def _labels(batch: Batch) -> Int[Tensor, "batch"]:
    """The labels, which classification cannot do without."""
    if batch.labels is None:
        raise DataError("classification needs labels, but this batch has none; sort the images into class folders")
    return batch.labels
