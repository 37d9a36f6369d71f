"""What was at this place? Asked after looking, about each cell of a scene that has something in it."""

from jaxtyping import Int
from torch import Tensor

from stawm.model.heads.head import HEADS
from stawm.model.heads.question import AskedAboutCells, QuestionConfig, QuestionHead, score


class Identified(AskedAboutCells):
    """The class of what is in a cell; nothing is wanted of an empty one."""

    def wanted(self, cells: Int[Tensor, "batch cell"]) -> Int[Tensor, "batch question"]:
        """What is in each cell."""
        return cells


@HEADS.add("identify")
class Identify(QuestionHead):
    """A question for each cell, an answer for each class."""

    measured = (score("identify_error", "error: what was at this place"),)

    @staticmethod
    def sizes(config: QuestionConfig) -> tuple[int, int]:
        """Cells, classes."""
        return config.cells, config.classes

    @staticmethod
    def objective(config: QuestionConfig) -> Identified:
        """Its cross entropy."""
        return Identified(config, "identify")
