"""Poses from the output of the emission RNN: any affine map, or an upright window at what stands out."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.model.dropout import Dropout
from stawm.precision import exact
from stawm.vision.glimpse import identity_pose

KEY = 32
"""Numbers by which a place of the overview is compared with what is looked for."""
NEAR_START = 0.4
"""How far about its start a glimpse looks before training (the edge of the image is at 1)."""
ASIDE = 0.3
"""How far a window may lie from what is attended to: between places of the overview, or at a part of a thing."""


class Emitter(nn.Module):
    """A pose from the output of the emission RNN; it starts at the identity, as spatial transformers do, or scaled.

    With `starts`, each glimpse has a learnt shift of its own to begin with, with `sizes` a learnt size: nothing else
    tells the first poses of a sequence apart, and glimpses that start at one place tend to stay there.
    """

    def __init__(
        self,
        hidden: int,
        dropout: float,
        scale: float = 1.0,
        starts: Float[Tensor, "glimpse 2"] | None = None,
        sizes: Float[Tensor, " glimpse"] | None = None,
    ) -> None:
        """Two linear layers, the first `hidden`/2 wide; poses start at the identity times `scale`, or times `sizes`."""
        super().__init__()
        self.narrow = nn.Linear(hidden, hidden // 2)
        self.dropout = Dropout(dropout)
        self.pose = nn.Linear(hidden // 2, 6)
        nn.init.zeros_(self.pose.weight)
        with torch.no_grad():
            self.pose.bias.copy_(scale * identity_pose().flatten())
        self.starts = None if starts is None else nn.Parameter(starts.clone())
        self.larger = None if sizes is None else nn.Parameter(sizes - scale)

    def keys(self, context: Float[Tensor, "batch features"]) -> None:
        """Nothing: the context reaches a pose through the RNN alone."""

    def forward(
        self, emission: Float[Tensor, "batch hidden"], number: int = 0, keys: None = None
    ) -> Float[Tensor, "batch 2 3"]:
        """The pose A of glimpse `number`; those after the last that has a start begin again with the first."""
        narrow = self.dropout(F.relu(self.narrow(emission)))
        with exact(narrow):
            pose = self.pose(narrow.to(self.pose.weight.dtype)).unflatten(1, (2, 3))
            if self.larger is not None:
                pose = pose + self.larger[number % len(self.larger)] * identity_pose().to(pose)
            if self.starts is not None:
                pose = pose + F.pad(self.starts[number % len(self.starts)].unsqueeze(1), (2, 0))
            return pose


class SalientEmitter(nn.Module):
    """An upright window at what stands out in the overview: the soft argmax of a learnt saliency map.

    Attention goes over the places of the overview's maps, by what the emission RNN looks for.
    A linear layer of the RNN's output must learn the way to every place of the image by itself; here what is learnt of
    a thing at one place holds wherever it lies. The window's centre is the mean of the places, weighed by attention,
    and a short learnt way aside; its side is between half and twice `scale` of the image's. So a glimpse stays near the
    image, where there is something to see that says where to go.
    """

    cells: Float[Tensor, "cell 2"]

    def __init__(
        self,
        hidden: int,
        dropout: float,
        scale: float,
        starts: Float[Tensor, "glimpse 2"] | None,
        cells: Float[Tensor, "cell 2"],
        channels: int,
    ) -> None:
        """Windows over an overview of `channels` features at each of the places `cells`, (across, down) in [-1, 1]².

        Before training each is the mean of the places about its start, or of all.
        """
        super().__init__()
        self.scale = scale
        self.narrow = nn.Linear(hidden, hidden // 2)
        self.dropout = Dropout(dropout)
        self.key = nn.Linear(channels, KEY, bias=False)
        self.query = nn.Linear(hidden // 2, KEY)
        self.window = nn.Linear(hidden // 2, 3)
        for weight in (self.query.weight, self.query.bias, self.window.weight, self.window.bias):
            nn.init.zeros_(weight)
        self.register_buffer("cells", cells, persistent=False)
        self.starts = None
        if starts is not None:
            away = (starts[:, None] - cells).square().sum(-1)
            self.starts = nn.Parameter(-away / (2 * NEAR_START**2))

    def keys(self, context: Float[Tensor, "batch features"]) -> Float[Tensor, "batch cell key"]:
        """What there is at each place of the overview, to be compared with what is looked for."""
        with exact(context):
            maps = context.to(self.key.weight.dtype).unflatten(1, (self.key.in_features, -1))
            return self.key(maps.transpose(1, 2))

    def forward(
        self, emission: Float[Tensor, "batch hidden"], number: int, keys: Float[Tensor, "batch cell key"]
    ) -> Float[Tensor, "batch 2 3"]:
        """The pose A of glimpse `number`; those after the last that has a start begin again with the first."""
        narrow = self.dropout(F.relu(self.narrow(emission)))
        with exact(narrow):
            narrow = narrow.to(self.query.weight.dtype)
            sought = (keys @ self.query(narrow).unsqueeze(2)).squeeze(2) / math.sqrt(KEY)
            if self.starts is not None:
                sought = sought + self.starts[number % len(self.starts)]
            size, aside = self.window(narrow).tanh().split((1, 2), 1)
            centre = sought.softmax(1) @ self.cells + ASIDE * aside
            side = (self.scale * torch.exp2(size)).unsqueeze(2) * torch.eye(2, dtype=size.dtype, device=size.device)
            return torch.cat([side, centre.unsqueeze(2)], 2)
