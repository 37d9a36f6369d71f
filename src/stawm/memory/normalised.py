"""A memory told by its equations alone: codes and queries come normalised, several queries at a time, and are checked.

A rule says what it holds (`holds`), how a code is written (`written`) and what queries read (`read`); where all writes
or all recalls of a sequence can be had at once, `stored` and `read_each` say how.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.memory.normalise import Normalise, Normaliser
from stawm.memory.protocol import Memory, MemoryConfig, Recalls
from stawm.ranges import Range

DECAY, RATE = Range(high=1.0), Range(high=1000, open_low=True)
Decay = Annotated[float, DECAY]
Rate = Annotated[float, RATE]


@dataclass(frozen=True)
class NormalisedConfig(MemoryConfig):
    """The settings of a rule whose codes, queries and recalls may be normalised."""

    normalise: Normalise = "fixed"
    """Unit codes and queries, and a layer norm of what is recalled: none, fixed, or learnt (with a gain)."""


@dataclass(frozen=True)
class Codes:
    """The codes written so far, oldest first."""

    codes: Float[Tensor, "batch count memory"]


class NormalisedMemory(Memory):
    """A memory of width `size` whose units, before a layer norm, are at most `units`."""

    holds: ClassVar[str]
    """The tensor of a state whose batch, precision and device codes and queries must fit."""
    place: Tensor

    def __init__(self, size: int, normalise: Normalise, units: float = math.inf) -> None:
        super().__init__()
        self.check_size(size)
        self.size, self.units = size, units
        self.normalise = Normaliser(size, normalise)
        self.bound = self.normalise.bound(units)
        self.register_buffer("place", torch.empty(0), persistent=False)

    @abstractmethod
    def written(self, state: Any, code: Float[Tensor, "batch memory"]) -> Any:
        """The state after a code that is normalised already."""

    @abstractmethod
    def read(self, state: Any, queries: Float[Tensor, "batch query memory"]) -> Float[Tensor, "batch query memory"]:
        """What queries that are normalised already read, before the layer norm."""

    def stored(self, codes: Float[Tensor, "batch count memory"]) -> Any:
        """The state after all of these codes, which are normalised already; here one by one."""
        state = self.start(codes.shape[0], device=codes.device, dtype=codes.dtype)
        for code in codes.unbind(1):
            state = self.written(state, code)
        return state

    def read_each(
        self, codes: Float[Tensor, "batch count memory"], queries: Float[Tensor, "batch query memory"]
    ) -> tuple[Float[Tensor, "batch query count memory"], Any]:
        """What queries read after each write, before the layer norm, and the last state; here one by one."""
        state, units = self.start(codes.shape[0], device=codes.device, dtype=codes.dtype), []
        for code in codes.unbind(1):
            state = self.written(state, code)
            units.append(self.read(state, queries))
        return torch.stack(units, 2), state

    def blank(
        self, batch: int, *shape: int, device: torch.device | str | None, dtype: torch.dtype | None
    ) -> Float[Tensor, "batch *shape"]:
        """Zeros where and as precise as the module is, unless told otherwise."""
        self.check_batch(batch)
        return torch.zeros(batch, *shape, device=device or self.place.device, dtype=dtype or self.place.dtype)

    def write(self, state: Any, code: Float[Tensor, "batch memory"]) -> Any:
        """The state after `code` is written; the state given stays as it was."""
        return self.written(state, self._fitted(code, state))

    def recall(self, state: Any, query: Float[Tensor, "batch memory"]) -> Float[Tensor, "batch memory"]:
        """What `query` reads back; the memory is only read."""
        return self.normalise(self._units(state, query))

    def unnormalised(
        self, state: Any, query: Float[Tensor, "batch memory"]
    ) -> tuple[Float[Tensor, "batch memory"], float] | None:
        """The units that a recall is a layer norm of, and their bound; none if it is no layer norm."""
        return (self._units(state, query), self.units) if self.normalise else None

    def forward(
        self, codes: Float[Tensor, "batch count memory"], query: Float[Tensor, "batch *query memory"]
    ) -> Recalls:
        """What `query` reads back after each of `codes` is written to an empty memory, and the state at the end."""
        self.check_codes(codes, query)
        queries = self.normalise.unit(query).reshape(codes.shape[0], -1, self.size)
        units, state = self.read_each(self.normalise.unit(codes), queries)
        return Recalls(self.normalise(units).reshape(*query.shape[:-1], *codes.shape[1:]), state)

    def at_end(
        self, codes: Float[Tensor, "batch count memory"], query: Float[Tensor, "batch *query memory"]
    ) -> Recalls:
        """What `query` reads back from the terminal memory alone, and the state."""
        self.check_codes(codes, query)
        queries = self.normalise.unit(query).reshape(codes.shape[0], -1, self.size)
        state = self.stored(self.normalise.unit(codes))
        return Recalls(self.normalise(self.read(state, queries)).reshape(query.shape).unsqueeze(-2), state)

    def _units(self, state: Any, query: Tensor) -> Tensor:
        return self.read(state, self._fitted(query, state).unsqueeze(1)).squeeze(1)

    def _fitted(self, vector: Tensor, state: Any) -> Tensor:
        return self.normalise.unit(self.fitted(vector, getattr(state, self.holds, None)))


def added(
    held: Float[Tensor, "batch count *rest"], new: Float[Tensor, "batch *rest"]
) -> Float[Tensor, "batch more *rest"]:
    """What is held, and one more; in the precision of what is held, which autocast may not keep."""
    return torch.cat([held, new.unsqueeze(1).to(held.dtype)], 1)


def decays(count: int, delta: float, like: Tensor) -> Float[Tensor, "count count"]:
    """(1 − δ)^{t−i}, how strongly write i still counts after write t; zero for writes to come."""
    places = torch.arange(count, device=like.device, dtype=like.dtype)
    return torch.tril((1 - delta) ** (places[:, None] - places).clamp_min(0))


def mixed(
    rows: Float[Tensor, "batch query #step memory"],
    keys: Float[Tensor, "batch count memory"],
    values: Float[Tensor, "batch count memory"],
    strengths: Float[Tensor, "*#batch step count"],
) -> Float[Tensor, "batch query step memory"]:
    """Σ_i strengths[t, i] (row · key_i) value_i for the rows of each step t; rows of one step are those of all."""
    batch, queries, steps, size = rows.shape
    matches = torch.bmm(rows.flatten(1, 2), keys.mT).reshape(batch, queries, steps, keys.shape[1])
    # A write to come counts nothing, even where its match is beyond half precision.
    shares = torch.where(strengths > 0, matches * strengths, 0.0)
    return torch.bmm(shares.flatten(1, 2), values.to(shares.dtype)).reshape(batch, queries, shares.shape[2], size)


def pair_norm(
    inputs: Float[Tensor, "batch count memory"], outputs: Float[Tensor, "batch count memory"]
) -> Float[Tensor, "batch"]:
    """The Frobenius norm of W = Σ_i inputs_i ⊗ outputs_i from the pairs alone: ‖W‖² = Σ_ij (k_i·k_j)(u_i·u_j)."""
    overlap = torch.bmm(inputs, inputs.mT) * torch.bmm(outputs, outputs.mT)
    return overlap.sum(dim=(1, 2)).clamp_min(0).sqrt()


def linear(layer: nn.Linear, vector: Float[Tensor, "*rest width"]) -> Float[Tensor, "*rest wide"]:
    """The layer's map in the precision of `vector`, as precise as the memory was started."""
    bias = None if layer.bias is None else layer.bias.to(vector.dtype)
    return F.linear(vector, layer.weight.to(vector.dtype), bias)
