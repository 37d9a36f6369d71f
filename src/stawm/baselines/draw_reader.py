"""DRAW's reader as a classifier (Gregor et al., 2015): an LSTM that chooses where, and how finely, it reads."""

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.baselines.rival import RIVALS, Looked, RivalConfig, Site, Stepwise
from stawm.model.cell import Cell
from stawm.model.heads.classify import Belief
from stawm.precision import single
from stawm.vision.filterbank import attention, filterbank, pose_of, read


@RIVALS.add("draw-reader")
class DrawReader(Stepwise):
    """r_t = read(x, h_{t−1}), h_t = LSTM(r_t, h_{t−1}), and a linear classifier of h_t; h_0 is learnt.

    All of it is differentiable, so places are learnt by gradients: a "differentiable RAM".
    """

    title = "DRAW's reader"

    def __init__(
        self,
        image: tuple[int, int, int],
        *,
        classes: int,
        glimpses: int,
        glimpse_size: tuple[int, int],
        hidden: int,
    ) -> None:
        """A reader of pictures of `image`: channels, height and width; `glimpse_size` is the grid of filters."""
        super().__init__(image, glimpses, glimpse_size)
        self.start = nn.Parameter(torch.zeros(2, hidden))
        self.attend = attention(hidden, *image[1:], glimpse_size)
        self.core = Cell(image[0] * math.prod(glimpse_size), hidden)
        self.classify = nn.Linear(hidden, classes)

    @classmethod
    def build(cls, config: RivalConfig, site: Site) -> "DrawReader":
        """The reader of these settings."""
        sizes = {"glimpses": site.glimpses, "glimpse_size": site.glimpse_size, "hidden": site.hidden}
        return cls(site.image, classes=site.classes, **sizes)

    def look(
        self, images: Float[Tensor, "batch channel height width"], glimpses: int, generator: Generator | None
    ) -> Looked:
        """The belief after each glimpse; nothing is random."""
        hidden, cell = self.start[:, None].repeat(1, images.shape[0], 1)
        (height, width), state, looks = images.shape[2:], (hidden, cell), []
        for _ in range(glimpses):
            bank = filterbank(self.attend(state[0]), height, width, self.size)
            patch = read(images, bank)
            state = self.core(patch.flatten(1), state)
            looks.append((pose_of(bank), patch, single(self.classify(state[0]))))
        poses, patches, logits = (torch.stack(part, 1) for part in zip(*looks, strict=True))
        return Looked({"classify": Belief(logits)}, images, poses, patches)
