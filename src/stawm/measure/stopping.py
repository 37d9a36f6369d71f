"""Stopping early: a glimpse is the last one if the belief after it passes a threshold."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from stawm.errors import UsageError
from stawm.measure.sums import STOP

THRESHOLDS = (0.5, 0.7, 0.9, 0.95, 0.99, 0.999)
"""Beliefs whose cost and error are told beside the one that was asked for."""


def check_until(until: float) -> float:
    """The threshold; one that no belief can be, or that every belief is, is a `UsageError`."""
    if not 0 < until <= 1:
        raise UsageError(f"--until takes a belief above 0 and up to 1, as 0.99, not {until:g}")
    return until


def sure(logits: Float[Tensor, "*rest classes"], until: float) -> Bool[Tensor, "*rest"]:
    """Whether the class that is believed most is believed at least so much."""
    return logits.float().softmax(-1).amax(-1) >= until


def last_glimpse(logits: Float[Tensor, "batch glimpse classes"], until: float) -> Int[Tensor, "batch"]:
    """The glimpse (from 0) after which each picture is looked at no further: the first that is sure, else the last."""
    passed = sure(logits, until)
    passed[:, -1] = True
    return passed.int().argmax(1)


def stops(
    logits: Float[Tensor, "batch glimpse classes"], labels: Int[Tensor, "batch"], thresholds: Sequence[float]
) -> dict[str, Float[Tensor, ""]]:
    """For each threshold the mean number of glimpses until it is passed, and the error of the answers then given."""
    found: dict[str, Tensor] = {}
    for until in thresholds:
        last = last_glimpse(logits, until)
        answers = logits[torch.arange(len(logits), device=logits.device), last].argmax(-1)
        found[f"{STOP}{until!r}/glimpses"] = (last + 1).double().mean()
        found[f"{STOP}{until!r}/error"] = (answers != labels).double().mean()
    return found


def told(means: dict[str, float]) -> list[dict[str, float]]:
    """What `stops` gave, averaged over all pictures: a record for each threshold, the lowest first."""
    rows: dict[float, dict[str, float]] = {}
    for name, value in means.items():
        until, _, what = name.partition("/")
        rows.setdefault(float(until), {})[what] = value
    return [{"until": until, **rows[until]} for until in sorted(rows)]
