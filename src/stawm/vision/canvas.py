"""What sketches build up: the addition and the Bernoulli method, each on its own, without parameters or state."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.precision import single
from stawm.vision.glimpse import paste

EDGE = 1e-6
"""Concrete sampling keeps probabilities and uniform noise this far from 0 and 1."""
RIM = 1e-5
"""The mean of Concrete goes straight to 0 and 1 when p is nearer to them than this."""
QUANTILES = 32


@dataclass(frozen=True)
class Painting:
    """A drawing and all of its stages, which are put together when they are asked for: training needs the last one."""

    canvas: Float[Tensor, "batch channel height width"]
    """The finished drawing C_N, in [0, 1]."""
    sketches: Float[Tensor, "batch glimpse channel height width"]
    """Each sketch where it is pasted: what is added, before the sigmoid, or (Bernoulli method) colours in [0, 1]."""
    masks: Float[Tensor, "batch glimpse 1 height width"] | None
    """The pasted alpha of each sketch: the chance that it replaces what is under it. None in the addition method."""
    stages: tuple[Float[Tensor, "batch channel height width"], ...] = ()
    """The canvas after each sketch; none in the addition method, where the sketches tell it."""
    start: float = 0.0
    """What the canvas of the addition method was filled with."""
    covers: Float[Tensor, "batch glimpse 1 height width"] | None = None
    """The masks by which it was painted: sampled in training, else their means. None in the addition method."""

    @cached_property
    def canvases(self) -> Float[Tensor, "batch glimpse channel height width"]:
        """The canvas after each sketch, in [0, 1]."""
        return torch.stack(self.stages, 1) if self.stages else torch.sigmoid(self.start + self.sketches.cumsum(1))


@dataclass(frozen=True)
class AdditionCanvas:
    """C_n = S(C_0 + Σ t_A⁻¹(U)): sketches add up, and the sigmoid S of the sum is what is seen.

    A `start` of −6 is black (the paper), 0 is grey, which suits natural images (paper-notes, section 3).
    """

    start: float = -6.0

    def channels(self, image_channels: int) -> int:
        """The channels of a sketch: those of the image."""
        return image_channels

    def paint(
        self,
        sketches: Float[Tensor, "batch glimpse channel glimpse_height glimpse_width"],
        poses: Float[Tensor, "batch glimpse 2 3"],
        height: int,
        width: int,
        *,
        sample: bool,
        generator: torch.Generator | None = None,
    ) -> Painting:
        """The painting of these sketches by these inverse poses; nothing is random, so `sample` changes nothing."""
        pasted = _pasted(sketches, poses, height, width)
        return Painting(torch.sigmoid(self.start + pasted.sum(1)), pasted, None, start=self.start)


@dataclass(frozen=True)
class BernoulliCanvas:
    """C_n = C_{n−1} ⊙ (1 − B) + t_A⁻¹(S(U)) ⊙ B from C_0 = 0, B ~ Concrete(t_A⁻¹(S(P)), τ): strokes hide what is below.

    In training B is sampled; at evaluation it is its mean, so that drawings repeat. `mean` says which mean. `bernoulli`
    is the pasted alpha itself, the mean of the Bernoulli variable that Concrete stands in for: the canvas is linear in
    each B and all B are independent, so this paints exactly the mean of what Bernoulli masks would paint. `concrete` is
    the mean of the variable that training samples, and so paints the mean of what training sees. It lies nearer to a
    half than alpha does: at τ = 2 it is 0.72 for an alpha of 0.9, and 0.12 for 0.01; as τ → 0 the two agree.
    """

    temperature: float = 2.0
    mean: Literal["bernoulli", "concrete"] = "bernoulli"

    def __post_init__(self) -> None:
        """Refuse a temperature at which nothing can be sampled."""
        if not self.temperature > 0:
            raise ValueError(f"the temperature of the Bernoulli canvas is {self.temperature}; give a number above 0")

    def channels(self, image_channels: int) -> int:
        """The channels of a sketch: those of the image, and alpha, which comes last."""
        return image_channels + 1

    def paint(
        self,
        sketches: Float[Tensor, "batch glimpse channel_alpha glimpse_height glimpse_width"],
        poses: Float[Tensor, "batch glimpse 2 3"],
        height: int,
        width: int,
        *,
        sample: bool,
        generator: torch.Generator | None = None,
    ) -> Painting:
        """The painting of these sketches by these inverse poses; `sample` draws masks, else they are their means."""
        pasted = _pasted(torch.sigmoid(single(sketches)), poses, height, width)
        colours, alpha = pasted.split((pasted.shape[2] - 1, 1), 2)
        if sample:
            noise = torch.rand(alpha.shape, generator=generator, dtype=alpha.dtype, device=alpha.device)
            covers = concrete(alpha, self.temperature, noise)
        else:
            covers = alpha if self.mean == "bernoulli" else concrete_mean(alpha, self.temperature)
        canvas, canvases = torch.zeros_like(colours[:, 0]), []
        for colour, cover in zip(colours.unbind(1), covers.unbind(1), strict=True):
            canvas = torch.lerp(canvas, colour, cover)
            canvases.append(canvas)
        return Painting(canvas, colours, alpha, tuple(canvases), covers=covers)


Canvas = AdditionCanvas | BernoulliCanvas


def concrete(
    probability: Float[Tensor, "*any"], temperature: float, noise: Float[Tensor, "*any"]
) -> Float[Tensor, "*any"]:
    """A sample of Concrete(p, τ) for each probability: S((logit p + logit u) / τ), with u uniform noise in [0, 1).

    Towards p = 0 and p = 1 the logit, and for τ > 1 the slope too, grow without bound, so p is kept `EDGE` away from
    both. At exactly 0 and 1 nothing is left to chance: the sample is p itself and passes no gradient. A canvas needs
    this, for a pasted alpha is exactly 0 wherever its sketch does not reach, and there the canvas must stay as it was.
    """
    chance = (probability > 0) & (probability < 1)
    soft = torch.sigmoid((_logit(probability) + _logit(noise)) / temperature)
    return torch.where(chance, soft, probability.detach())


def concrete_mean(probability: Float[Tensor, "*any"], temperature: float) -> Float[Tensor, "*any"]:
    """The mean of Concrete(p, τ) over its noise, by evenly spread quantiles: within 1/64 for any τ, 0.002 at τ = 2.

    In the last `RIM` before 0 and 1 it goes straight to them. Samples jump there, from the value that they have at
    `EDGE`; if their mean did too (by 0.003 at τ = 2), the rounding of a pose would be seen at the rim of a sketch.
    """
    quantiles = (torch.arange(QUANTILES, dtype=torch.float64) + 0.5) / QUANTILES
    logits = torch.logit(probability.clamp(RIM, 1 - RIM)) / temperature
    shifts = (_logit(quantiles) / temperature).tolist()
    mean = sum((torch.sigmoid(logits + shift) for shift in shifts), torch.zeros_like(logits)) / QUANTILES
    above, below = ((share / RIM).clamp(max=1) for share in (probability, 1 - probability))
    return torch.where(probability < 0.5, mean * above, 1 - (1 - mean) * below)


def _logit(share: Tensor) -> Tensor:
    return torch.logit(share.clamp(EDGE, 1 - EDGE))


def _pasted(sketches: Tensor, poses: Tensor, height: int, width: int) -> Tensor:
    """All sketches, pasted in one call."""
    flat = paste(single(sketches).flatten(0, 1), single(poses).flatten(0, 1), height, width)
    return flat.unflatten(0, sketches.shape[:2])
