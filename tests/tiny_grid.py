"""Grids small enough for tests: recall tasks of a few steps, and comparisons as a grid would have made them."""

from collections.abc import Mapping, Sequence
from typing import Any

from stawm.compare.recall.settings import RecallConfig
from stawm.compare.recall.task import Recall
from stawm.ledger.comparison import Comparison, Side, Tried
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.store.sessions import Machine

QUICK = Recall(
    "recall",
    RecallConfig(
        pairs=2,
        keys=4,
        values=4,
        width=8,
        memory=HebbRosenblattConfig(size=8),
        steps=6,
        batch_size=4,
        test_sequences=20,
        checkpoint_every=2,
    ),
)
MACHINE = Machine("A CPU", 2, 1, 1, "2.13.0", "3.11.7")


def comparison(
    sides: Mapping[str, Sequence[str]],
    scores: Mapping[tuple[str, ...], Sequence[float]],
    *,
    lists: Mapping[tuple[str, ...], Sequence[Sequence[float]]] | None = None,
    **more: Any,
) -> Comparison:
    """A comparison with these errors of each cell, one for each seed; a cell without any was left."""
    cells: list[Tried] = []
    for labels, found in scores.items():
        values = dict(zip(sides, labels, strict=True))
        for seed, error in enumerate(found):
            places = {"error_by_age": tuple(lists[labels][seed])} if lists else {}
            name, measured = f"{'-'.join(labels)}-seed{seed}", {"error": error}
            cells.append(
                Tried(
                    name, values, seed, 100, {}, "finished", "", "new", 20, measured, places, 3.0, ("0" * 40,), MACHINE
                )
            )
    made = [Side(name, tuple(labels)) for name, labels in sides.items()]
    told: dict[str, Any] = {
        "name": "tiny",
        "task": "recall",
        "preset": "recall",
        "command": "stawm compare recall",
        "matched": "",
    }
    return Comparison(**told | {"sides": tuple(made), "seeds": (0, 1), "settings": {}, "cells": tuple(cells)} | more)
