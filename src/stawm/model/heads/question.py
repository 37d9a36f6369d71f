"""What heads have in common that are asked after looking: question → query → recall → answer.

The pictures are scenes: a grid of cells with something in some of them. The memory is written before any question is
known, and nothing but the question goes into the query: the answer must come out of the memory. A head puts all of its
questions to the same memory at once; what is not known of a scene is not judged.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from stawm.errors import DataError
from stawm.model.dropout import Dropout
from stawm.model.heads.head import Answer, Batch, Head, HeadConfig, Host, Objective, Scene, Score
from stawm.ranges import WIDTH, Range

NOTHING = -1
"""The label of an empty cell, and the wanted answer where there is none."""


@dataclass(frozen=True)
class QuestionConfig(HeadConfig):
    """A head that is asked about a grid of places, each with one of several kinds of things or nothing."""

    rows: Annotated[int, Range(low=1, high=64)] = 2
    columns: Annotated[int, Range(low=1, high=64)] = 2
    classes: Annotated[int, WIDTH] = 10
    """Kinds of things."""
    query: Literal["question", "constant"] = "question"
    """What the query is made of; a constant is a control, for then the memory is not told what it is asked."""

    @property
    def cells(self) -> int:
        """Places that can be asked about."""
        return self.rows * self.columns


@dataclass(frozen=True)
class Told(Answer):
    """The answer to every question, from the terminal memory."""

    logits: Float[Tensor, "batch question answer"]
    looked: Int[Tensor, "batch seen"] | None
    """The cell in which the middle of each glimpse was; -1 if outside the picture."""

    @property
    def beliefs(self) -> Float[Tensor, "batch question answer"]:
        """How much each answer is believed."""
        return self.logits.float().softmax(-1)


class Questions(nn.Module):
    """A query for each question: ReLU6 of a learnt vector, whatever the picture; or one for all of them."""

    def __init__(self, count: int, memory: int, constant: bool = False) -> None:
        super().__init__()
        self.count = count
        self.embed = nn.Embedding(1 if constant else count, memory)

    def forward(self, context: Float[Tensor, "batch features"]) -> Float[Tensor, "batch question memory"]:
        """All questions, for each picture of a batch."""
        return F.relu6(self.embed.weight).expand(context.shape[0], self.count, -1)


class QuestionHead(Head, ABC):
    """Two layers from what a question recalls to the answer."""

    Config: ClassVar[type[HeadConfig]] = QuestionConfig
    places = True
    reads = "terminal"

    def __init__(self, config: QuestionConfig, memory: int, questions: int, answers: int, dropout: float) -> None:
        super().__init__()
        self.config = config
        self.query = Questions(questions, memory, constant=config.query == "constant")
        self.dropout = Dropout(dropout)
        self.read = nn.Linear(memory, memory)
        self.answer = nn.Linear(memory, answers)

    @classmethod
    def build(cls, config: QuestionConfig, host: Host) -> "QuestionHead":
        """The head of these settings."""
        return cls(config, host.memory, *cls.sizes(config), host.dropout)

    @staticmethod
    @abstractmethod
    def sizes(config: QuestionConfig) -> tuple[int, int]:
        """How many questions there are, and how many answers to each."""

    @staticmethod
    def check_data(config: Any, name: str, labels: Tensor | None, classes: Sequence[str]) -> None:
        """Refuse pictures that are no scenes, or scenes of another grid or of other things."""
        if labels is None or labels.dim() != 2:
            raise DataError(f"{name} has no cells to ask about; take scenes, as in --data.name scenes:2x2:4")
        if labels.shape[1] != config.cells or len(classes) != config.classes:
            raise DataError(
                f"{name} has {labels.shape[1]} cells and {len(classes)} classes, the model is asked about "
                f"{config.rows} × {config.columns} cells and {config.classes} classes; change one"
            )

    def forward(
        self,
        query: Float[Tensor, "batch question memory"],
        recalls: Float[Tensor, "batch question glimpse memory"],
        scene: Scene,
        generator: Generator | None = None,
    ) -> Told:
        """The answers, from what each question reads back at the end."""
        logits = self.answer(self.dropout(F.relu(self.read(recalls[:, :, -1]))))
        looked = None if scene.poses is None else cells_of(scene.poses, self.config.rows, self.config.columns)
        return Told(query, recalls, logits, looked)


class Asked(Objective):
    """Cross entropy of the answers, and the share of wrong ones, over all questions that have an answer."""

    def __init__(self, config: QuestionConfig, name: str) -> None:
        self.config, self.name = config, name

    def wanted(self, cells: Int[Tensor, "batch cell"]) -> Int[Tensor, "batch question"]:
        """The right answer to each question about scenes with these things in their cells; -1 where there is none."""
        raise NotImplementedError

    def terms(self, answer: Told, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The cross entropy, times the weight of the head."""
        wanted = self.wanted(cells_in(batch))
        return {f"{self.name}_entropy": self.config.weight * known_entropy(answer.logits, wanted)}

    def scores(self, answer: Told, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """The share of wrong answers; scenes count by how many questions about them have an answer."""
        return {name: _shares(wrong, judged) for name, (wrong, judged) in self.counted(answer, batch).items()}

    def judged(self, answer: Told, batch: Batch) -> dict[str, float]:
        """As many as questions have an answer."""
        return {name: float(judged.sum()) for name, (_, judged) in self.counted(answer, batch).items()}

    def counted(self, answer: Told, batch: Batch) -> dict[str, tuple[Int[Tensor, "batch"], Int[Tensor, "batch"]]]:
        """For each score: how many answers about a scene are wrong, and how many are judged."""
        wrong, known = self._wrong(answer, batch)
        return {f"{self.name}_error": (wrong.sum(1), known.sum(1))}

    def put(self, shown: Int[Tensor, "batch cell"], remembered: Int[Tensor, "batch cell"]) -> Int[Tensor, "batch cell"]:
        """What the answers are about when another scene than the one that was shown is in memory: that one."""
        return remembered

    def by_chance(self, cells: Int[Tensor, "batch cell"]) -> dict[str, float]:
        """For each score: the error of always giving the commonest answer to a question, whatever the scene."""
        right = judged = 0
        for answers in self.wanted(cells).unbind(1):
            known = answers[answers != NOTHING]
            right, judged = right + int(known.bincount(minlength=1).max()), judged + len(known)
        return {f"{self.name}_error": 1 - right / max(judged, 1)}

    def _wrong(self, answer: Told, batch: Batch) -> tuple[Tensor, Tensor]:
        wanted = self.wanted(cells_in(batch))
        known = wanted != NOTHING
        return (answer.logits.argmax(-1) != wanted) & known, known


class AskedAboutCells(Asked):
    """The same for questions about cells, with the error by the time at which a cell was looked at."""

    def after_each(self, answer: Told, batch: Batch) -> dict[str, Float[Tensor, "batch glimpse"]]:
        """`NAME_forgotten`: the share of wrong answers, at the end, about what was looked at in each glimpse."""
        return {name: _shares(wrong, judged) for name, (wrong, judged) in self._looked_at(answer, batch).items()}

    def judged_after_each(self, answer: Told, batch: Batch) -> dict[str, Float[Tensor, " glimpse"]]:
        """As many as cells with an answer were looked at in this glimpse."""
        return {name: judged.sum(0).float() for name, (_, judged) in self._looked_at(answer, batch).items()}

    def _looked_at(self, answer: Told, batch: Batch) -> dict[str, tuple[Bool[Tensor, "batch glimpse"], ...]]:
        """Whether the answer about what was looked at is wrong, and whether it is judged."""
        if answer.looked is None:
            return {}
        wrong, known = self._wrong(answer, batch)
        seen = answer.looked.clamp_min(0)
        inside = known.gather(1, seen) & (answer.looked >= 0)
        return {f"{self.name}_forgotten": (wrong.gather(1, seen) & inside, inside)}


def cells_of(poses: Float[Tensor, "batch glimpse 2 3"], rows: int, columns: int) -> Int[Tensor, "batch glimpse"]:
    """The cell of a grid over the picture in which the centre of each glimpse lies; -1 if it lies outside."""
    across, down = poses[..., 2].unbind(-1)
    column, row = ((torch.floor((place + 1) / 2 * count)).long() for place, count in ((across, columns), (down, rows)))
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    return torch.where(inside, row * columns + column, NOTHING)


def cells_in(batch: Batch) -> Int[Tensor, "batch cell"]:
    """What is in the cells of the scenes, which questions cannot do without."""
    if batch.labels is None or batch.labels.dim() != 2:
        raise DataError("questions are about scenes, and these pictures have no cells; take scenes, as scenes:2x2:4")
    return batch.labels


def score(name: str, title: str) -> Score:
    """How people read the error of a question head."""
    return Score(name, title, factor=100.0, unit="%", digits=2, halved=5e-4)


def known_entropy(
    logits: Float[Tensor, "batch question answer"], wanted: Int[Tensor, "batch question"]
) -> Float[Tensor, ""]:
    """The mean cross entropy of the questions that have an answer; 0, and not 0 / 0, if none has."""
    total = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=NOTHING, reduction="sum")
    return total / (wanted != NOTHING).sum().clamp_min(1)


def _shares(part: Tensor, whole: Tensor) -> Tensor:
    """Numbers whose mean over the batch is the sum of `part` over that of `whole`."""
    return part.float() * len(part) / whole.float().sum(0).clamp_min(1)
