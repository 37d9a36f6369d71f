"""Where to look next: the emission and aggregator RNNs and the emitter of poses."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.model.cell import Cell
from stawm.model.dropout import Dropout
from stawm.model.emitters import Emitter, SalientEmitter
from stawm.vision.glimpse import inverse

Starts = Literal["one", "grid", "outward", "random", "inward"]
"""Where glimpses are before training: all at one place; spread evenly, row by row or from the middle out; anywhere; or
all in the middle, each smaller."""
Poses = Literal["affine", "salient"]
"""What a learnt pose may be: any affine map, or an upright window at what stands out in the overview."""
ANYWHERE = 0.6
"""How far from the centre glimpses start that start anywhere (the edge of the image is at 1)."""


@dataclass(frozen=True)
class PolicyState:
    """All that the next pose depends on."""

    message: Float[Tensor, "batch hidden"]
    """The next input of the emission RNN: the context at first, then what the aggregator makes of each glimpse."""
    emission: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]
    aggregate: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]] | None = None
    """Of what was seen so far; none before the first glimpse."""
    keys: Float[Tensor, "batch cell key"] | None = None
    """What there is at each place of the overview, if poses are chosen among these."""
    number: int = 0
    """Of the next glimpse."""


def start_centres(count: int, starts: Starts, aspect: float = 1.0) -> Float[Tensor, "glimpse 2"]:
    """Where each of `count` glimpses starts, (across, down) in [-1, 1]²; `aspect` is width over height of the image."""
    if starts == "random":
        return ANYWHERE * (2 * torch.rand(count, 2) - 1)
    spread = starts in ("grid", "outward")
    rows = max(1, round(math.sqrt(count / aspect))) if spread else 1
    columns = math.ceil(count / rows) if spread else 1
    cell = torch.arange(count) % (rows * columns)
    across, down = ((2 * place + 1) / side - 1 for place, side in ((cell % columns, columns), (cell // columns, rows)))
    centres = torch.stack([across, down], 1)
    if starts == "outward":  # Of places equally far away, which rounding would mix up, the first row's come first.
        return centres[centres.norm(dim=1).round(decimals=4).argsort(stable=True)]
    return centres


def start_sizes(count: int, scale: float) -> Float[Tensor, " glimpse"]:
    """The share of each side that each of `count` glimpses covers that start inward: all of it, and less by and by."""
    return torch.linspace(1.0, scale, count)


def far_first(points: Float[Tensor, "glimpse number"]) -> list[int]:
    """An order of these points that begins with the first, each being as far as can be from all before it."""
    if points.is_meta:  # Only shapes are asked for.
        return list(range(len(points)))
    away = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    order = [0] if len(points) else []
    while len(order) < len(points):
        nearest = away[order].amin(0)
        nearest[order] = -1.0
        order.append(int(nearest.argmax()))
    return order


class Policy(nn.Module):
    """The two RNNs: one gathers what was seen, the other decides from it, and from the context, where to look."""

    def __init__(
        self,
        features: int,
        hidden: int,
        dropout: float,
        *,
        draws: bool = False,
        scale: float = 1.0,
        starts: Float[Tensor, "glimpse 2"] | None = None,
        sizes: Float[Tensor, " glimpse"] | None = None,
        cells: Float[Tensor, "cell 2"] | None = None,
    ) -> None:
        """A policy for `features` context features whose glimpses start by covering `scale` of each side of the image.

        One that draws has a second emitter, for inverse poses. `starts` are the centres at which glimpses start, and
        `sizes` what they cover, if not all the same. With `cells`, the places of the overview's maps, glimpses go to
        what stands out among these, and what is drawn goes to where it was seen.
        """
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.dropout = Dropout(dropout)
        self.emission = Cell(hidden, hidden)
        self.aggregator = Cell(hidden, hidden)
        self.draws = draws
        self.inverse: Emitter | None = None
        if cells is not None:
            self.emitter = SalientEmitter(hidden, dropout, scale, starts, cells, features // len(cells))
            return
        self.emitter = Emitter(hidden, dropout, scale, starts, sizes)
        covered = torch.tensor(scale) if sizes is None else sizes
        undone = None if starts is None else -starts / covered.unsqueeze(-1)
        grown = None if sizes is None else 1 / sizes
        self.inverse = Emitter(hidden, dropout, 1 / scale, undone, grown) if draws else None

    def start(self, context: Float[Tensor, "batch features"], picture: int = 0) -> PolicyState:
        """The state before the first glimpse: the context is first input and first hidden state of the emission RNN.

        Of several pictures in turn (`picture`) each is looked at in the same way.
        """
        first = F.relu(self.dropout(self.first(context)))
        emission = (first, torch.zeros_like(first))
        return PolicyState(message=first, emission=emission, keys=self.emitter.keys(context))

    def emit(self, state: PolicyState) -> tuple[PolicyState, Float[Tensor, "batch hidden"], Float[Tensor, "batch 2 3"]]:
        """The next state, the output of the emission RNN, and the pose of the next glimpse."""
        emission = self.emission(state.message, state.emission)
        pose = self.emitter(emission[0], state.number, state.keys)
        return replace(state, emission=emission, number=state.number + 1), emission[0], pose

    def pasted(
        self, state: PolicyState, emission: Float[Tensor, "batch hidden"], pose: Float[Tensor, "batch 2 3"]
    ) -> Float[Tensor, "batch 2 3"] | None:
        """Where a sketch of the glimpse just emitted is pasted: by the emitted inverse pose; none if nothing is drawn.

        What was seen through an upright window is pasted where it was seen.
        """
        if self.inverse is None:
            return inverse(pose) if self.draws else None
        return self.inverse(emission, state.number - 1)

    def gather(self, state: PolicyState, glimpse: Float[Tensor, "batch hidden"]) -> PolicyState:
        """The state after a glimpse was seen: its features join the aggregate, which is the next message."""
        aggregate = self.aggregator(glimpse, state.aggregate)
        return replace(state, aggregate=aggregate, message=aggregate[0])
