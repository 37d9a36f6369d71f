"""The settings of a recall task: how many pairs, of what, in which memory, and how long it learns."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import record_from_dict
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.memory.protocol import MemoryConfig
from stawm.ranges import ABOVE_0, COUNT, WIDTH, Range, check_ranges

PAIRS = Range(low=1, high=4096)
STEPS = Range(low=1, high=1_000_000_000)


@dataclass(frozen=True)
class RecallConfig:
    """Associative recall: `pairs` of a key and a value are written one after the other, then values are asked for.

    The keys of a sequence differ; its values are drawn with replacement.
    """

    pairs: Annotated[int, PAIRS] = 8
    """Pairs in a sequence."""
    keys: Annotated[int, WIDTH] = 64
    """Keys that there are."""
    values: Annotated[int, WIDTH] = 64
    """Values that there are."""
    queries: Annotated[int, COUNT] = 8
    """How many of the pairs of a sequence are asked for in training, at most (0: all); tests ask for all."""
    width: Annotated[int, WIDTH] = 64
    """Of the embeddings of keys and values."""
    memory: MemoryConfig = field(default_factory=lambda: HebbRosenblattConfig(size=64))
    steps: Annotated[int, STEPS] = 3000
    """Of training, each on a batch of new sequences."""
    batch_size: Annotated[int, Range(low=1, high=65_536)] = 64
    learning_rate: Annotated[float, ABOVE_0] = 1e-2
    """Its peak: it rises over the first twentieth of the steps and then falls to nothing."""
    test_sequences: Annotated[int, Range(low=1, high=1_000_000)] = 2000
    """Measured on at the end."""
    checkpoint_every: Annotated[int, COUNT] = 500
    """Steps between checkpoints (0: none)."""


def recall_from_dict(values: dict[str, Any]) -> RecallConfig:
    """The settings that `asdict` wrote; those that do not fit are a `UsageError`."""
    try:
        config = record_from_dict(RecallConfig, values)
    except CheckpointError as failure:
        raise UsageError(str(failure)) from failure
    check_ranges(config)  # Not whether they go together: of a grid, the base alone need not.
    return config


def check_recall(config: RecallConfig) -> None:
    """Refuse settings that are out of range or do not go together."""
    check_ranges(config)
    if config.pairs > config.keys:
        raise UsageError(f"pairs={config.pairs} need as many keys, and there are {config.keys}; give more keys")
