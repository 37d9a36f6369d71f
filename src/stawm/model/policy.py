"""Where to look next: the emission and aggregator RNNs and the emitter of poses."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.model.cell import Cell
from stawm.precision import exact
from stawm.vision.glimpse import identity_pose

Starts = Literal["one", "grid", "random"]
"""Where glimpses are before training: all at one place, spread evenly, or anywhere."""
ANYWHERE = 0.6
"""How far from the centre glimpses start that start anywhere (the edge of the image is at 1)."""


@dataclass(frozen=True)
class PolicyState:
    """All that the next pose depends on."""

    message: Float[Tensor, "batch hidden"]
    """The next input of the emission RNN: the context at first, then what the aggregator makes of each glimpse."""
    emission: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]
    aggregate: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]
    number: int = 0
    """Of the next glimpse."""


def start_centres(count: int, starts: Starts, aspect: float = 1.0) -> Float[Tensor, "glimpse 2"]:
    """Where each of `count` glimpses starts, (across, down) in [-1, 1]²; `aspect` is width over height of the image."""
    if starts == "random":
        return ANYWHERE * (2 * torch.rand(count, 2) - 1)
    rows = max(1, round(math.sqrt(count / aspect))) if starts == "grid" else 1
    columns = math.ceil(count / rows) if starts == "grid" else 1
    cell = torch.arange(count) % (rows * columns)
    across, down = ((2 * place + 1) / side - 1 for place, side in ((cell % columns, columns), (cell // columns, rows)))
    return torch.stack([across, down], 1)


class Emitter(nn.Module):
    """A pose from the output of the emission RNN; it starts at the identity, as spatial transformers do, or scaled.

    With `starts`, each glimpse has a learnt shift of its own to begin with: nothing else tells the first poses of a
    sequence apart, and glimpses that start at one place tend to stay there.
    """

    def __init__(
        self, hidden: int, dropout: float, scale: float = 1.0, starts: Float[Tensor, "glimpse 2"] | None = None
    ) -> None:
        """Two linear layers, the first `hidden`/2 wide; poses start at the identity times `scale`."""
        super().__init__()
        self.narrow = nn.Linear(hidden, hidden // 2)
        self.dropout = nn.Dropout(dropout)
        self.pose = nn.Linear(hidden // 2, 6)
        nn.init.zeros_(self.pose.weight)
        with torch.no_grad():
            self.pose.bias.copy_(scale * identity_pose().flatten())
        self.starts = None if starts is None else nn.Parameter(starts.clone())

    def forward(self, emission: Float[Tensor, "batch hidden"], number: int = 0) -> Float[Tensor, "batch 2 3"]:
        """The pose A of glimpse `number`; those after the last that has a start begin again with the first."""
        narrow = self.dropout(F.relu(self.narrow(emission)))
        with exact(narrow):
            pose = self.pose(narrow.to(self.pose.weight.dtype)).unflatten(1, (2, 3))
            if self.starts is None:
                return pose
            return pose + F.pad(self.starts[number % len(self.starts)].unsqueeze(1), (2, 0))


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
    ) -> None:
        """A policy for `features` context features whose glimpses start by covering `scale` of each side of the image.

        One that draws has a second emitter, for inverse poses. `starts` are the centres at which glimpses start.
        """
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.dropout = nn.Dropout(dropout)
        self.emission = Cell(hidden, hidden)
        self.aggregator = Cell(hidden, hidden)
        self.emitter = Emitter(hidden, dropout, scale, starts)
        undone = None if starts is None else -starts / scale
        self.inverse = Emitter(hidden, dropout, 1 / scale, undone) if draws else None

    def start(self, context: Float[Tensor, "batch features"], picture: int = 0) -> PolicyState:
        """The state before the first glimpse: the context is first input and first hidden state of the emission RNN.

        Of several pictures in turn (`picture`) each is looked at in the same way.
        """
        first = F.relu(self.dropout(self.first(context)))
        nothing = torch.zeros_like(first)
        return PolicyState(message=first, emission=(first, nothing), aggregate=(nothing, nothing))

    def emit(self, state: PolicyState) -> tuple[PolicyState, Float[Tensor, "batch hidden"], Float[Tensor, "batch 2 3"]]:
        """The next state, the output of the emission RNN, and the pose of the next glimpse."""
        emission = self.emission(state.message, state.emission)
        pose = self.emitter(emission[0], state.number)
        return replace(state, emission=emission, number=state.number + 1), emission[0], pose

    def pasted(
        self, state: PolicyState, emission: Float[Tensor, "batch hidden"], pose: Float[Tensor, "batch 2 3"]
    ) -> Float[Tensor, "batch 2 3"] | None:
        """Where a sketch of the glimpse just emitted is pasted: the emitted inverse pose; none if nothing is drawn."""
        return None if self.inverse is None else self.inverse(emission, state.number - 1)

    def gather(self, state: PolicyState, glimpse: Float[Tensor, "batch hidden"]) -> PolicyState:
        """The state after a glimpse was seen: its features join the aggregate, which is the next message."""
        aggregate = self.aggregator(glimpse, state.aggregate)
        return replace(state, aggregate=aggregate, message=aggregate[0])
