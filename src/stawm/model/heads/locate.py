"""Where was this? Asked after looking, about each class of which a scene holds exactly one."""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from stawm.model.heads.head import HEADS
from stawm.model.heads.question import NOTHING, Asked, QuestionConfig, QuestionHead, score


class Located(Asked):
    """The cell that holds a class; nothing is wanted of a class that is nowhere, or in two places."""

    def wanted(self, cells: Int[Tensor, "batch cell"]) -> Int[Tensor, "batch question"]:
        """Where each class is."""
        holds = F.one_hot(cells.clamp_min(0), self.config.classes) * (cells != NOTHING).long().unsqueeze(-1)
        return torch.where(holds.sum(1) == 1, holds.argmax(1), NOTHING)


@HEADS.add("locate")
class Locate(QuestionHead):
    """A question for each class, an answer for each cell."""

    measured = (score("locate_error", "error: where was this"),)

    @staticmethod
    def sizes(config: QuestionConfig) -> tuple[int, int]:
        """Classes, cells."""
        return config.classes, config.cells

    @staticmethod
    def objective(config: QuestionConfig) -> Located:
        """Its cross entropy."""
        return Located(config, "locate")
