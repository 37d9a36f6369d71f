"""What all tables share: things grouped over seeds, means with deviations, and the drawing of rows."""

import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from stawm.experiments.facts import told_score
from stawm.model.heads.head import known_scores

Thing = TypeVar("Thing")
Cells = tuple[str, ...]


@dataclass(frozen=True)
class Mean:
    """The mean of a score over runs and its standard deviation, which takes two; shares, not per cent."""

    mean: float
    deviation: float | None


def grouped(
    things: Iterable[Thing], key: Callable[[Thing], Hashable], seed: Callable[[Thing], int]
) -> list[tuple[Thing, ...]]:
    """Things that differ in nothing but the seed, together; groups in the order of their first, each by seed."""
    groups: dict[Hashable, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return [tuple(sorted(group, key=seed)) for group in groups.values()]


def means_of(found: Sequence[Mapping[str, float]]) -> dict[str, Mean]:
    """The mean over all of `found` of each score that is in all of them."""
    names = sorted(found[0], key=[*known_scores(), *found[0]].index) if found else []
    shared = [name for name in names if all(name in scores for scores in found)]
    return {name: _mean([float(scores[name]) for scores in found]) for name in shared}


def told_means(means: Mapping[str, Mean]) -> str:
    """Scores as people read them: error 0.44 % ± 0.01, mse 0.0121."""
    return ", ".join(told_score(name, score.mean, score.deviation) for name, score in means.items())


def markdown(head: Cells, rows: Sequence[Cells]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [head, ("---",) * len(head), *(tuple(part.replace("|", "\\|") for part in line) for line in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def aligned(head: Cells, rows: Sequence[Cells]) -> list[str]:
    """The lines of a table for a terminal."""
    widths = [max(len(line[place]) for line in (head, *rows)) for place in range(len(head))]
    lines = [head, tuple("-" * width for width in widths), *rows]
    return ["  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _mean(values: Sequence[float]) -> Mean:
    return Mean(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)
