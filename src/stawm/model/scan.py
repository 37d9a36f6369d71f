"""Where to look, when it is given and not learnt: a grid scanned cell by cell, or random places.

So the memory can be measured alone: every item is seen once, sharply, in an order that nobody chose.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from stawm.vision.glimpse import inverse

Order = Literal["shuffled", "rows"]


@dataclass(frozen=True)
class ScanState:
    """The poses of a look, decided when it begins, and the number of the next glimpse."""

    poses: Float[Tensor, "batch glimpse 2 3"]
    number: int = 0


class Scan(nn.Module):
    """Poses that are given: the cells of a grid in shuffled order, anew for each picture, or row by row.

    Without a grid, poses of one size at random places. At evaluation chance begins anew with every batch, so that
    results repeat. What the *where* pathway sees is a learnt layer of the pose, in the place of the emission RNN.
    """

    cells: Float[Tensor, "cell 2 3"] | None

    def __init__(
        self,
        hidden: int,
        cells: Float[Tensor, "cell 2 3"] | None,
        *,
        glimpses: int,
        order: Order = "shuffled",
        draws: bool = False,
        scale: float = 1.0,
    ) -> None:
        """Looks at these cells; `scale` is the size of random glimpses where there are none."""
        super().__init__()
        self.place = nn.Linear(6, hidden)
        self.glimpses, self.draws, self.scale = glimpses, draws, scale
        self.order: Order = order
        self.register_buffer("cells", cells, persistent=False)

    def start(self, context: Float[Tensor, "batch features"], picture: int = 0) -> ScanState:
        """The poses of all glimpses; the context decides nothing. Of several pictures in turn each has its own."""
        batch, weight = context.shape[0], self.place.weight
        chance = None if self.training else torch.Generator().manual_seed(picture)
        if self.cells is None:
            centres = (1 - self.scale) * (2 * torch.rand(batch, self.glimpses, 2, generator=chance) - 1)
            size = (self.scale * torch.eye(2)).expand(batch, self.glimpses, 2, 2)
            return ScanState(torch.cat([size, centres.unsqueeze(-1)], -1).to(weight))
        return ScanState(self.cells[self._order(batch, chance).to(weight.device)].to(weight.dtype))

    def _order(self, batch: int | torch.SymInt, chance: torch.Generator | None) -> Int[Tensor, "batch glimpse"]:
        """The cell of each glimpse; more glimpses than cells begin again."""
        assert self.cells is not None
        count = len(self.cells)
        rounds = -(-self.glimpses // count)
        if self.order == "rows" or torch.compiler.is_exporting():
            return torch.arange(count).repeat(rounds)[: self.glimpses].expand(batch, -1)
        shuffled = [torch.rand(batch, count, generator=chance).argsort(1) for _ in range(rounds)]
        return torch.cat(shuffled, 1)[:, : self.glimpses]

    def emit(self, state: ScanState) -> tuple[ScanState, Float[Tensor, "batch hidden"], Float[Tensor, "batch 2 3"]]:
        """The next state, what *where* sees of the place, and the pose of the next glimpse."""
        pose = state.poses[:, state.number % state.poses.shape[1]]
        return replace(state, number=state.number + 1), F.relu(self.place(pose.flatten(1))), pose

    def pasted(
        self, state: ScanState, emission: Float[Tensor, "batch hidden"], pose: Float[Tensor, "batch 2 3"]
    ) -> Float[Tensor, "batch 2 3"] | None:
        """Where a sketch of the glimpse is pasted: where it was seen; none if nothing is drawn."""
        return inverse(pose) if self.draws else None

    def gather(self, state: ScanState, glimpse: Float[Tensor, "batch hidden"]) -> ScanState:
        """The state as it was: what was seen decides nothing."""
        return state


def cell_poses(rows: int, columns: int, height: int, width: int) -> Float[Tensor, "cell 2 3"]:
    """The pose that sees each cell of a grid over a picture of `height` × `width` pixels, row by row.

    Corners are the centres of the outermost pixels of a cell (`align_corners`), so a glimpse that has as many pixels as
    a cell sees them as they are.
    """
    poses = torch.zeros(rows, columns, 2, 3)
    for axis, (count, pixels) in enumerate(((columns, width), (rows, height))):
        cell, span = pixels / count, max(pixels - 1, 1)
        centres = (2 * (torch.arange(count) * cell + (cell - 1) / 2) / span) - 1
        poses[..., axis, axis] = (cell - 1) / span
        poses[..., axis, 2] = centres if axis == 0 else centres[:, None]
    return poses.flatten(0, 1)
