"""Same or different, and where? A second picture is looked at, and what is seen is compared with the memory of a first.

Each code of the second picture is a query; nothing of it is written. What the query recalls and the code itself
together tell whether something else was at this place. The picture is different if any place is, and the change is
where the difference is largest.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from stawm.errors import DataError, UsageError
from stawm.model.heads.head import HEADS, Batch, Host, Scene
from stawm.model.heads.question import (
    NOTHING,
    Asked,
    QuestionConfig,
    QuestionHead,
    Told,
    cells_in,
    cells_of,
    known_entropy,
    score,
)

NAME = "change"


class Changed(Asked):
    """Cross entropy of same and different at each glimpse; the errors of the whole, and of where if it is different.

    Labels are what is in the cells of the first picture, then in those of the second.
    """

    def terms(self, answer: Told, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The cross entropy of all glimpses within the picture, times the weight of the head."""
        seen, inside = _places(answer)
        wanted = changes(cells_in(batch)).gather(1, seen).long().masked_fill(~inside, NOTHING)
        return {f"{self.name}_entropy": self.config.weight * known_entropy(answer.logits, wanted)}

    def counted(self, answer: Told, batch: Batch) -> dict[str, tuple[Int[Tensor, "batch"], Int[Tensor, "batch"]]]:
        """The pictures that are wrongly called same or different, and of those that differ the wrong places."""
        seen, inside = _places(answer)
        differs = (answer.logits[..., 1] - answer.logits[..., 0]).masked_fill(~inside, -torch.inf)
        most, place = differs.max(1)
        changed = changes(cells_in(batch))
        different = changed.any(1)
        found = changed.gather(1, seen.gather(1, place[:, None]))[:, 0] & (most > -torch.inf)
        return {
            f"{self.name}_error": (((most > 0) != different).long(), torch.ones_like(place)),
            f"{self.name}_where_error": ((different & ~found).long(), different.long()),
        }

    def put(self, shown: Int[Tensor, "batch cell"], remembered: Int[Tensor, "batch cell"]) -> Int[Tensor, "batch cell"]:
        """The first picture of the pair in memory, and the second of the pair that was shown."""
        cells = shown.shape[1] // 2
        return torch.cat([remembered[:, :cells], shown[:, cells:]], 1)

    def by_chance(self, cells: Int[Tensor, "batch cell"]) -> dict[str, float]:
        """The errors of always saying the commoner of same and different, and the commonest place."""
        changed = changes(cells)
        share, where = float(changed.any(1).double().mean()), changed.sum(0)
        commonest = float(where.max()) / max(int(changed.any(1).sum()), 1)
        return {f"{self.name}_error": min(share, 1 - share), f"{self.name}_where_error": 1 - commonest}


@HEADS.add(NAME)
class Change(QuestionHead):
    """A question for each glimpse of the second picture; the answers are same and different."""

    measured = (
        score(f"{NAME}_error", "error: same or different"),
        score(f"{NAME}_where_error", "error: where it changed"),
    )
    compares = True

    def __init__(self, config: QuestionConfig, memory: int, questions: int, answers: int, dropout: float) -> None:
        super().__init__(config, memory, questions, answers, dropout)
        self.query = nn.Identity()
        self.read = nn.Linear(3 * memory, memory)

    @classmethod
    def build(cls, config: QuestionConfig, host: Host) -> "QuestionHead":
        """The head of these settings; its queries cannot be constant."""
        if config.query != "question":
            raise UsageError(
                f"model.heads.{NAME}.query is {config.query!r}, but this head asks with what it sees; give question"
            )
        return super().build(config, host)

    @staticmethod
    def sizes(config: QuestionConfig) -> tuple[int, int]:
        """As many questions as cells if each is looked at once; same and different."""
        return config.cells, 2

    @staticmethod
    def objective(config: QuestionConfig) -> Changed:
        """Its cross entropy."""
        return Changed(config, NAME)

    @staticmethod
    def check_data(config: Any, name: str, labels: Tensor | None, classes: Sequence[str]) -> None:
        """Refuse what is no pair of scenes, or scenes of another grid or of other things."""
        if labels is None or labels.dim() != 2:
            raise DataError(f"{name} has no two scenes to compare; take --data.name changes:2x2:4")
        if labels.shape[1] != 2 * config.cells or len(classes) != config.classes:
            raise DataError(
                f"{name} has labels for {labels.shape[1]} cells and {len(classes)} classes, the model compares two "
                f"pictures of {config.rows} × {config.columns} cells and {config.classes} classes; change one"
            )

    def forward(
        self,
        query: Float[Tensor, "batch question memory"],
        recalls: Float[Tensor, "batch question glimpse memory"],
        scene: Scene,
        generator: Generator | None = None,
    ) -> Told:
        """Same or different at each glimpse of the second picture, from its code and what this reads back."""
        if scene.again is None:
            raise UsageError("no second picture was looked at; give the model two, one above the other")
        recall = recalls[:, :, -1]
        both = torch.cat([recall, query, recall * query], -1)
        logits = self.answer(self.dropout(F.relu(self.read(both))))
        return Told(query, recalls, logits, cells_of(scene.again, self.config.rows, self.config.columns))


def changes(cells: Int[Tensor, "batch cell"]) -> Bool[Tensor, "batch place"]:
    """Which cells of two pictures hold different things."""
    first, second = cells.chunk(2, 1)
    return first != second


def _places(answer: Told) -> tuple[Int[Tensor, "batch glimpse"], Bool[Tensor, "batch glimpse"]]:
    """The cell of each glimpse (0 if it is outside the picture), and whether it is inside."""
    assert answer.looked is not None, "a head that compares knows where it looked"
    return answer.looked.clamp_min(0), answer.looked >= 0
