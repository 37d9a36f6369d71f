"""Where to look next: the emission and aggregator RNNs and the emitter of poses."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.model.cell import Cell
from stawm.precision import exact
from stawm.vision.glimpse import identity_pose


@dataclass(frozen=True)
class PolicyState:
    """All that the next pose depends on."""

    message: Float[Tensor, "batch hidden"]
    """The next input of the emission RNN: the context at first, then what the aggregator makes of each glimpse."""
    emission: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]
    aggregate: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]


class Emitter(nn.Module):
    """A pose from the output of the emission RNN; it starts at the identity, as spatial transformers do, or scaled."""

    def __init__(self, hidden: int, dropout: float, scale: float = 1.0) -> None:
        """Two linear layers, the first `hidden`/2 wide; poses start at the identity times `scale`."""
        super().__init__()
        self.narrow = nn.Linear(hidden, hidden // 2)
        self.dropout = nn.Dropout(dropout)
        self.pose = nn.Linear(hidden // 2, 6)
        nn.init.zeros_(self.pose.weight)
        with torch.no_grad():
            self.pose.bias.copy_(scale * identity_pose().flatten())

    def forward(self, emission: Float[Tensor, "batch hidden"]) -> Float[Tensor, "batch 2 3"]:
        """The pose A of the next glimpse."""
        narrow = self.dropout(F.relu(self.narrow(emission)))
        with exact(narrow):
            return self.pose(narrow.to(self.pose.weight.dtype)).unflatten(1, (2, 3))


class Policy(nn.Module):
    """The two RNNs: one gathers what was seen, the other decides from it, and from the context, where to look."""

    def __init__(self, features: int, hidden: int, dropout: float, *, draws: bool = False, scale: float = 1.0) -> None:
        """A policy for `features` context features whose glimpses start by covering `scale` of each side of the image.

        One that draws has a second emitter, for inverse poses.
        """
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.dropout = nn.Dropout(dropout)
        self.emission = Cell(hidden, hidden)
        self.aggregator = Cell(hidden, hidden)
        self.emitter = Emitter(hidden, dropout, scale)
        self.inverse = Emitter(hidden, dropout, 1 / scale) if draws else None

    def start(self, context: Float[Tensor, "batch features"]) -> PolicyState:
        """The state before the first glimpse: the context is first input and first hidden state of the emission RNN."""
        first = F.relu(self.dropout(self.first(context)))
        nothing = torch.zeros_like(first)
        return PolicyState(message=first, emission=(first, nothing), aggregate=(nothing, nothing))

    def emit(self, state: PolicyState) -> tuple[PolicyState, Float[Tensor, "batch hidden"], Float[Tensor, "batch 2 3"]]:
        """The next state, the output of the emission RNN, and the pose of the next glimpse."""
        emission = self.emission(state.message, state.emission)
        return replace(state, emission=emission), emission[0], self.emitter(emission[0])

    def gather(self, state: PolicyState, glimpse: Float[Tensor, "batch hidden"]) -> PolicyState:
        """The state after a glimpse was seen: its features join the aggregate, which is the next message."""
        aggregate = self.aggregator(glimpse, state.aggregate)
        return replace(state, aggregate=aggregate, message=aggregate[0])
