"""Sequences of pairs, and a model that is little more than a memory: embeddings in, one linear layer out."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from stawm.compare.recall.settings import RecallConfig
from stawm.memory.protocol import build_memory


@dataclass(frozen=True)
class Sequences:
    """Pairs in the order in which they are written, and which of them are asked for."""

    keys: Int[Tensor, "batch pair"]
    values: Int[Tensor, "batch pair"]
    asked: Int[Tensor, "batch query"]
    """Places of pairs."""

    @property
    def wanted(self) -> Int[Tensor, "batch query"]:
        """The values that should come back."""
        return self.values.gather(1, self.asked)


def draw_sequences(config: RecallConfig, count: int, draw: Generator, *, queries: int = 0) -> Sequences:
    """`count` new sequences; of each, so many pairs are asked for, or all of them, oldest first, if `queries` is 0."""
    keys = torch.rand(count, config.keys, generator=draw).topk(config.pairs, dim=1).indices
    values = torch.randint(config.values, (count, config.pairs), generator=draw)
    if 0 < queries < config.pairs:
        asked = torch.rand(count, config.pairs, generator=draw).topk(queries, dim=1).indices
    else:
        asked = torch.arange(config.pairs).expand(count, -1)
    return Sequences(keys, values, asked)


class RecallModel(nn.Module):
    """Binds each pair as the paper binds a glimpse, writes it, and asks for values by their keys.

    A pair's code is ReLU6(what(value) ⊙ where(key)), a query ReLU6(ask(key)), and what it reads back from the terminal
    memory goes through one linear layer to the values. The rates and the rule are the memory's own.
    """

    def __init__(self, config: RecallConfig) -> None:
        super().__init__()
        self.memory = build_memory(config.memory)
        size = self.memory.size
        self.key, self.value = nn.Embedding(config.keys, config.width), nn.Embedding(config.values, config.width)
        self.what, self.where = nn.Linear(config.width, size), nn.Linear(config.width, size)
        self.ask, self.tell = nn.Linear(config.width, size), nn.Linear(size, config.values)

    def forward(self, given: Sequences) -> Float[Tensor, "batch query value"]:
        """Scores of all values for each pair that is asked for, once all pairs are written."""
        keys = self.key(given.keys)
        codes = F.relu6(self.what(self.value(given.values)) * self.where(keys))
        queries = F.relu6(self.ask(keys.gather(1, given.asked.unsqueeze(2).expand(-1, -1, keys.shape[2]))))
        return self.tell(self.memory.at_end(codes, queries).terminal)
