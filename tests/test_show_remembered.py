"""The sheet of scenes, redrawings and answers."""

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.model.heads.question import QuestionConfig
from stawm.show.figures.remembered import EDGE, GAP, HEAD, remembered
from stawm.show.sheet import RIGHT, WRONG, Colour

LABELS = torch.tensor([[1, -1, 2, 3], [0, 0, -1, -1]])
CONFIG = QuestionConfig(rows=2, columns=2, classes=4)


def sheet(logits: torch.Tensor, canvas: torch.Tensor | None = None) -> Image.Image:
    poses = torch.eye(2, 3).expand(2, 3, 2, 3) * 0.5
    return remembered(torch.zeros(2, 1, 20, 20), poses, canvas, logits, LABELS, CONFIG, tuple("abcd"))


def holds(picture: Image.Image, colour: Colour) -> bool:
    return bool((np.abs(np.asarray(picture.convert("RGB")).astype(int) - colour).max(-1) < 8).any())


def last_column(picture: Image.Image) -> Image.Image:
    return picture.crop((GAP + EDGE + GAP, HEAD, *picture.size))


def test_right_answers_are_green_and_wrong_ones_red() -> None:
    right = torch.nn.functional.one_hot(LABELS.clamp_min(0), 4).float()
    answers = last_column(sheet(right))
    assert holds(answers, RIGHT) and not holds(answers, WRONG)
    wrong = last_column(sheet(right.roll(1, -1)))
    assert holds(wrong, WRONG) and not holds(wrong, RIGHT)


@pytest.mark.parametrize(("canvas", "columns"), [(None, 2), (torch.ones(2, 1, 20, 20), 3)])
def test_a_drawing_has_its_own_column(canvas: torch.Tensor | None, columns: int) -> None:
    picture = sheet(torch.zeros(2, 4, 4), canvas)
    assert picture.size == (GAP + columns * (EDGE + GAP), HEAD + 2 * (EDGE + GAP))
