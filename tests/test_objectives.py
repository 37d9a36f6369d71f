"""Named loss terms and scores."""

from dataclasses import replace
from math import log

import pytest
import torch

from stawm.model.objectives import Batch, Classification
from tiny_model import small


def test_classification_judges_the_terminal_answer() -> None:
    images = torch.rand(2, 1, 12, 12)
    episode = small()(images)
    logits = torch.zeros_like(episode.logits)
    logits[:, -1, 1] = 100.0
    episode = replace(episode, logits=logits)
    batch = Batch(images, torch.tensor([1, 2]))
    assert Classification().terms(episode, batch)["cross_entropy"].item() == pytest.approx(50.0)
    assert Classification().scores(episode, batch)["error"].tolist() == [0.0, 1.0]
    even = replace(episode, logits=torch.zeros_like(logits))
    assert Classification(0.1).terms(even, batch)["cross_entropy"].item() == pytest.approx(log(4))


def test_classification_needs_labels() -> None:
    images = torch.rand(2, 1, 12, 12)
    with pytest.raises(ValueError, match="needs labels"):
        Classification().terms(small()(images), Batch(images, None))
