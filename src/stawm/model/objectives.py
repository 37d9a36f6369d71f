"""What an episode is judged by: named loss terms, and named scores for people."""

from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from stawm.model.stawm import Episode


@dataclass(frozen=True)
class Batch:
    """Pictures in [0, 1], and their classes where these are known."""

    images: Float[Tensor, "batch channel height width"]
    labels: Int[Tensor, "batch"] | None


@dataclass(frozen=True)
class Classification:
    """Cross entropy of the terminal answer."""

    label_smoothing: float = 0.0

    def terms(self, episode: Episode, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The named terms whose sum is the loss."""
        smoothing = self.label_smoothing
        return {"cross_entropy": F.cross_entropy(episode.logits[:, -1], _labels(batch), label_smoothing=smoothing)}

    def scores(self, episode: Episode, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """Numbers for each image, to be averaged by the caller: `error` is 1 where the answer is wrong."""
        return {"error": (episode.logits[:, -1].argmax(-1) != _labels(batch)).float()}


Objective = Classification


def _labels(batch: Batch) -> Int[Tensor, "batch"]:
    """The labels, which classification cannot do without."""
    if batch.labels is None:
        raise ValueError("classification needs labels, but this batch has none")
    return batch.labels
