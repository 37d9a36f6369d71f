"""Sums of measures over processes."""

from types import SimpleNamespace
from typing import Any

from stawm.measure.sums import Sums, all_reduced, averaged, means


def test_sums_of_two_processes_are_joined_and_keep_their_order():
    """Twelve glimpses: by name, the tenth comes before the second."""
    sums: Sums = {f"after/error/{glimpse}": [float(glimpse), 2.0] for glimpse in range(1, 13)}
    two: Any = SimpleNamespace(world_size=2, device="cpu", all_reduce=lambda own, reduce_op: 2 * own)
    joined = all_reduced(two, sums)
    assert list(joined.items()) == [(name, [2 * total, 4.0]) for name, (total, _) in sums.items()]
    assert list(means(joined, "after/error/").values()) == [glimpse / 2 for glimpse in range(1, 13)]
    assert averaged(two, sums) == sums
