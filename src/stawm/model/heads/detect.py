"""Was anything here? Asked after looking, about each cell of a scene."""

from jaxtyping import Int
from torch import Tensor

from stawm.model.heads.head import HEADS
from stawm.model.heads.question import NOTHING, AskedAboutCells, QuestionConfig, QuestionHead, score


class Detected(AskedAboutCells):
    """Whether a cell holds anything."""

    def wanted(self, cells: Int[Tensor, "batch cell"]) -> Int[Tensor, "batch question"]:
        """1 where there is something, 0 where there is nothing."""
        return (cells != NOTHING).long()


@HEADS.add("detect")
class Detect(QuestionHead):
    """A question for each cell; the answers are no and yes."""

    measured = (score("detect_error", "error: was anything here"),)

    @staticmethod
    def sizes(config: QuestionConfig) -> tuple[int, int]:
        """Cells, no and yes."""
        return config.cells, 2

    @staticmethod
    def objective(config: QuestionConfig) -> Detected:
        """Its cross entropy."""
        return Detected(config, "detect")
