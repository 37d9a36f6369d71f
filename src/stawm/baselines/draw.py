"""DRAW, the Deep Recurrent Attentive Writer (Gregor et al., 2015): an auto-encoder that reads and writes glimpses."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.baselines.rival import RIVALS, Looked, Rival, RivalConfig, Site, fixed_chance
from stawm.errors import UsageError
from stawm.model.cell import Cell
from stawm.model.heads.draw import Depiction, DrawConfig, concatenated_divergence, sampled
from stawm.model.heads.head import Batch, Objective
from stawm.precision import single
from stawm.ranges import SIDE
from stawm.vision.canvas import Painting
from stawm.vision.filterbank import attention, filterbank, pose_of, read, write
from stawm.vision.images import check_images


@dataclass(frozen=True)
class DrawWriterConfig(RivalConfig):
    """The writer, and what the pictures are taken for; the grid that reads is `model.glimpse_height` and `…_width`."""

    write: Annotated[int, SIDE] = 5
    """Filters on each side of the grid that writes."""
    binary: bool = True
    """Whether pictures are taken as black and white: a pixel is white with the chance that its grey says."""


@dataclass(frozen=True)
class Sitting:
    """One drawing of each picture, from latent numbers that were sampled or are means."""

    mean: Float[Tensor, "batch glimpse latent"]
    log_variance: Float[Tensor, "batch glimpse latent"]
    canvases: Float[Tensor, "batch glimpse channel height width"]
    """c_t after each glimpse; its sigmoid is what is seen."""
    strokes: Float[Tensor, "batch glimpse channel height width"]
    """What each glimpse wrote."""
    poses: Float[Tensor, "batch glimpse 2 3"]
    """Where it read."""
    patches: Float[Tensor, "batch glimpse channel grid_height grid_width"]
    """What it read there, of the picture."""


@dataclass(frozen=True)
class Redrawn(Depiction):
    """The drawing; what it is of; and one that was sampled, by which the bound on the likelihood is measured."""

    target: Float[Tensor, "batch channel height width"]
    """The picture as the model saw it."""
    trial: Sitting
    """In training the drawing itself; at evaluation, where that is of means, one besides, by a fixed chance."""


@dataclass(frozen=True)
class EvidenceBound(Objective):
    """−log p(x|z) of Bernoulli pixels plus `divergence` times KL(Q(z|x) ‖ P(z)) over all glimpses, times `weight`.

    With a `divergence` of 1 it is an upper bound on −log p(x), in nats; `nats` is always that bound.
    """

    divergence: float = 1.0
    weight: float = 1.0

    def terms(self, answer: Redrawn, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """Both parts of the bound."""
        pixels, divergence = self.parts(answer)
        return {
            "pixels": self.weight * pixels.mean(),
            "divergence": self.weight * self.divergence * divergence.mean(),
        }

    def scores(self, answer: Redrawn, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """`mse`: the squared error per pixel and channel; `nats`: the bound; both of the pictures as they were seen."""
        mse = (answer.canvas - answer.target).square().flatten(1).mean(1)
        return {"mse": mse, "nats": sum(self.parts(answer), torch.zeros_like(mse))}

    @staticmethod
    def parts(answer: Redrawn) -> tuple[Float[Tensor, "batch"], Float[Tensor, "batch"]]:
        """The nats of the pixels of each picture, and those of its latent numbers."""
        trial = answer.trial
        pixels = F.binary_cross_entropy_with_logits(trial.canvases[:, -1], answer.target, reduction="none")
        return pixels.flatten(1).sum(1), concatenated_divergence(trial.mean, trial.log_variance)


@RIVALS.add("draw")
class Draw(Rival):
    """An encoder that reads the picture and what is missing from the canvas, and a decoder that writes.

    x̂_t = x − σ(c_{t−1}); r_t = read(x, x̂_t, h_dec); h_enc = LSTM([r_t, h_dec]); z_t ~ N(μ(h_enc), σ²(h_enc));
    h_dec = LSTM(z_t); c_t = c_{t−1} + write(h_dec). First states and the first canvas are learnt.
    """

    Config = DrawWriterConfig
    title, does, must = "DRAW", "draws", ("draw",)
    looks = True
    uses = ("glimpses", "glimpse_height", "glimpse_width", "hidden")

    def __init__(
        self,
        image: tuple[int, int, int],
        *,
        latent: int,
        glimpses: int,
        glimpse_size: tuple[int, int],
        hidden: int,
        config: DrawWriterConfig = DrawWriterConfig(),
    ) -> None:
        """A model of pictures of `image`: channels, height and width; `glimpse_size` is the grid that reads."""
        super().__init__()
        channels = image[0]
        self.takes, self.glimpses, self.grid, self.binary = image, glimpses, glimpse_size, config.binary
        self.pen = (channels, config.write, config.write)
        self.canvas = nn.Parameter(torch.zeros(image))
        self.start = nn.Parameter(torch.zeros(4, hidden))
        self.look, self.aim = (attention(hidden, *image[1:], grid) for grid in (glimpse_size, self.pen[1:]))
        self.encoder = Cell(2 * channels * math.prod(glimpse_size) + hidden, hidden)
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = Cell(latent, hidden)
        self.stroke = nn.Linear(hidden, math.prod(self.pen))

    @classmethod
    def build(cls, config: DrawWriterConfig, site: Site) -> "Draw":
        """DRAW of these settings."""
        sizes = {"glimpses": site.glimpses, "glimpse_size": site.glimpse_size, "hidden": site.hidden}
        return cls(site.image, latent=site.latent, config=config, **sizes)

    @staticmethod
    def objective(config: DrawWriterConfig, name: str, head: DrawConfig) -> EvidenceBound:
        """The bound, with the divergence weighed as the head says: β / `beta_scale`."""
        return EvidenceBound(head.beta / head.beta_scale, head.weight)

    def forward(
        self, images: Float[Tensor, "batch channel height width"], generator: Generator | None = None
    ) -> Looked:
        """The drawing: of samples in training, and of means at evaluation, so that it repeats."""
        check_images(images, self.takes, self)
        exporting = torch.compiler.is_exporting()
        chance = generator if self.training or generator or exporting else fixed_chance(images)
        target = self.seen(images, chance)
        if self.training:
            drawing = trial = self.draw(target, sample=True, generator=chance)
        else:
            drawing = self.draw(target, sample=False)
            trial = drawing if exporting else self.draw(target, sample=True, generator=chance)
        stages = torch.sigmoid(drawing.canvases).unbind(1)
        painting = Painting(stages[-1], drawing.strokes, None, stages)
        answer = Redrawn(drawing.mean, drawing.log_variance, painting, target, trial)
        return Looked({"draw": answer}, images, drawing.poses, drawing.patches)

    def seen(self, images: Tensor, generator: Generator | None) -> Tensor:
        """The pictures as they are, or black and white."""
        return torch.bernoulli(images.clamp(0, 1), generator=generator) if self.binary else images

    def check_portable(self) -> None:
        """Refuse a model that sees pictures by chance."""
        if self.binary:
            raise UsageError(
                "this DRAW makes pictures black and white by chance, and a file draws none; give one of "
                "model.rival.binary False"
            )

    def draw(
        self,
        images: Float[Tensor, "batch channel height width"],
        *,
        sample: bool,
        generator: Generator | None = None,
    ) -> Sitting:
        """One drawing of each picture."""
        (batch, _, height, width) = images.shape
        first = self.start[:, None].repeat(1, batch, 1)
        encoder, decoder = (first[0], first[1]), (first[2], first[3])
        canvas = self.canvas.repeat(batch, 1, 1, 1)
        steps: list[tuple[Tensor, ...]] = []
        for _ in range(self.glimpses):
            bank = filterbank(self.look(decoder[0]), height, width, self.grid)
            patch, missing = read(images, bank), read(images - torch.sigmoid(canvas), bank)
            encoder = self.encoder(torch.cat([patch.flatten(1), missing.flatten(1), decoder[0]], 1), encoder)
            mean, log_variance = single(self.mean(encoder[0])), single(self.log_variance(encoder[0]))
            decoder = self.decoder(sampled(mean, log_variance, generator) if sample else mean, decoder)
            pen = filterbank(self.aim(decoder[0]), height, width, self.pen[1:])
            stroke = write(self.stroke(decoder[0]).unflatten(1, self.pen), pen)
            canvas = canvas + stroke
            steps.append((mean, log_variance, canvas, stroke, pose_of(bank), patch))
        return Sitting(*(torch.stack(part, 1) for part in zip(*steps, strict=True)))
