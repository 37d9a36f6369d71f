"""Running sums of named measures, from which means are made: over steps, batches and processes (all-reduce)."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TERM, SCORE, HEALTH, AFTER, GAP, STOP = "term/", "score/", "health/", "after/", "gap/", "stop/"
"""What a measure is, as the first part of its name."""

Sums = dict[str, list[float]]
"""For each name the total and how often it was counted."""


def add(sums: Sums, measured: dict[str, float], count: float = 1) -> None:
    """Count each of `measured` so many times."""
    for name, value in measured.items():
        total = sums.setdefault(name, [0.0, 0.0])
        total[0] += value * count
        total[1] += count


def means(sums: Sums, prefix: str) -> dict[str, float]:
    """The means of the measures with this prefix, which is taken off."""
    found = {name: pair for name, pair in sums.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): total / count for name, (total, count) in found.items()}


def all_reduced(engine: "Fabric | None", sums: Sums) -> Sums:
    """The sums of all processes together."""
    if engine is None or engine.world_size == 1:
        return sums
    own = torch.tensor([sums[name] for name in sorted(sums)], dtype=torch.float64, device=engine.device)
    joined = engine.all_reduce(own, reduce_op="sum")
    assert isinstance(joined, Tensor)
    found = dict(zip(sorted(sums), joined.tolist(), strict=True))
    return {name: found[name] for name in sums}


def averaged(engine: "Fabric", sums: Sums) -> Sums:
    """The sums averaged over the processes (all-reduce), so that all hold the same."""
    return {name: [each / engine.world_size for each in pair] for name, pair in all_reduced(engine, sums).items()}
