"""Cells with as many parameters as another: one setting is chosen for each by bisection."""

from stawm.compare.task import Task
from stawm.errors import UsageError
from stawm.ranges import WIDTH

TOLERANCE = 0.02
"""The largest difference of parameters, as a share of those wanted."""


def matched_to(task: Task, setting: str, wanted: int, told: str) -> Task:
    """The task with `setting` chosen so that it has `wanted` parameters, as nearly as a whole number gets.

    One that has them already stays as it is. If the nearest is further off than `TOLERANCE`, it is a `UsageError`.
    """
    if task.parameters() == wanted:
        return task

    def sized(size: int) -> Task | None:
        try:
            return task.changed({setting: size})
        except UsageError:
            return None

    low = next((size for size in (1, 2) if sized(size) is not None), None)
    if low is None:
        raise UsageError(f"{setting} cannot be used to match parameters; name a setting that is a width (--match)")
    first = high = low
    while _count(task, setting, high) < wanted and high < WIDTH.high:
        low, high = high, min(2 * high, int(WIDTH.high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _count(task, setting, middle) < wanted else (low, middle)
    counts = {size: _count(task, setting, size) for size in (low, high)}
    best = min(counts, key=lambda size: abs(counts[size] - wanted))
    if abs(counts[best] - wanted) > TOLERANCE * wanted:
        why = f"even with {setting} = {first}" if best == first else f"at best, with {setting} = {best},"
        raise UsageError(
            f"the parameters of {told} cannot be matched: it has {counts[best]:,} {why} and {wanted:,} are wanted; "
            "match by another setting (--match), or leave it out"
        )
    return task.changed({setting: best})


def _count(task: Task, setting: str, size: int) -> int:
    return task.changed({setting: size}).parameters()
