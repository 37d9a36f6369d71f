"""Masks beside the truth, and beside the picture alone."""

from jaxtyping import Bool, Float
from torch import Tensor

HALF = 0.5
"""A pixel belongs to a mask from this alpha on."""


def overlap(
    masks: Bool[Tensor, "*masks height width"], truths: Bool[Tensor, "*masks height width"]
) -> Float[Tensor, "*masks"]:
    """Intersection over union of each mask and its truth: 1 if they are the same (or both empty), 0 if apart."""
    both, either = (part.flatten(-2).sum(-1) for part in (masks & truths, masks | truths))
    return (both.double() / either.clamp(min=1)).masked_fill(either == 0, 1.0).float()
