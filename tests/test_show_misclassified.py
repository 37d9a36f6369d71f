from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from stawm.errors import UsageError
from stawm.experiments.experiment import ImageConfig
from stawm.model.heads.classify import Classified
from stawm.model.heads.draw import Drawn
from stawm.model.heads.head import Batch
from stawm.model.stawm import Episode
from stawm.show.figures.misclassified import misclassified
from stawm.show.grid import EDGE
from stawm.show.sheet import WRONG
from tiny_drawing import LIME, PINK, TEAL, box_of, canvas_pose, drawing_config, drawing_model, drawn_by, flat, where


def answered(images: Tensor, answers: list[int], drawn: Drawn | None) -> Episode:
    episode = drawing_model(drawing_config(image=ImageConfig(3, *images.shape[-2:])))(images)
    logits = torch.nn.functional.one_hot(torch.tensor(answers), 4).float()[:, None]
    other = logits.roll(1, -1)  # what it believed before: only the last answer counts
    believed = Classified(episode.codes[:, 0], episode.codes, torch.cat([other, other, logits], 1))
    return replace(episode, answers={"classify": believed} | ({} if drawn is None else {"draw": drawn}))


def test_misclassified_shows_only_mistakes_with_what_was_drawn_above_what_was_seen():
    images = torch.stack([flat(LIME), flat((200, 200, 0))])
    drawn = drawn_by(torch.stack([flat(TEAL), flat(PINK)])[:, None], torch.stack([canvas_pose(0.5)[None]] * 2))
    episode = answered(images, [1, 2], drawn)
    sheet = misclassified(episode, Batch(images, torch.tensor([1, 3])))
    drew, saw = box_of(sheet, PINK), box_of(sheet, (200, 200, 0))
    assert drew.left == saw.left
    assert drew.bottom < saw.top
    assert not where(sheet, TEAL)[0].size
    assert not where(sheet, LIME)[0].size
    red = where(sheet, WRONG, 60)[0]
    assert drew.bottom < red.min() <= red.max() < saw.top, "the prediction is written, in red, under the drawing"
    dark = where(sheet.crop((saw.left, saw.bottom + 2, saw.right, sheet.height)), (38, 42, 48), 60)[0]
    assert dark.size, "the true class is written under the input"


def test_misclassified_without_drawing_has_one_row():
    images = flat(LIME, 8, 16)[None].expand(3, 3, 8, 16)
    sheet = misclassified(answered(images, [0, 1, 2], None), Batch(images, torch.tensor([1, 1, 1])), list("abcd"))
    assert box_of(sheet, LIME).size[1] == EDGE // 2
    columns = np.unique(where(sheet, LIME)[1])
    assert np.flatnonzero(np.diff(columns) > 1).size + 1 == 2, "two of three are wrong"


def test_nothing_misclassified_is_said():
    images = flat(LIME)[None]
    with pytest.raises(UsageError, match="none of these 1"):
        misclassified(answered(images, [2], None), Batch(images, torch.tensor([2])))
