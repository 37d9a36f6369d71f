"""What did I see? Each intermediate recall becomes a latent Gaussian, a sample a sketch, sketches a drawing."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.model.heads.head import HEADS, Answer, Batch, Head, HeadConfig, Host, Objective, Query, Scene, Score
from stawm.precision import single
from stawm.ranges import ABOVE_0, ANY, AT_LEAST_0, WIDTH
from stawm.vision.canvas import AdditionCanvas, BernoulliCanvas, Canvas, Painting
from stawm.vision.decoders import ConvDecoder
from stawm.vision.masks import HALF, overlap

Divergence = Literal["concatenated", "joint"]


@dataclass(frozen=True)
class DrawConfig(HeadConfig):
    """The drawing head: how a recall becomes a sketch, and sketches a canvas; and its loss."""

    latent: Annotated[int, WIDTH] = 4
    """Numbers in the latent space of each glimpse."""
    canvas: Literal["addition", "bernoulli"] = "addition"
    start: Annotated[float, ANY] = -6.0
    """What the addition canvas is filled with at first: −6 is black, 0 grey."""
    strength: Annotated[float, ABOVE_0] = 1.0
    """How many times as large as usual sketches are before training (1: as in the paper).

    A decoder that ends in batch norm draws sketches whose deviation is its scale, and that learns slowly: on a canvas
    that begins at −6, what a single sketch of scale 1 adds cannot be seen."""
    temperature: Annotated[float, ABOVE_0] = 2.0
    """Of the Concrete masks of the Bernoulli canvas."""
    mean: Literal["bernoulli", "concrete"] = "bernoulli"
    """What those masks are at evaluation: alpha itself, or the mean of the Concrete variable that training samples."""
    beta: Annotated[float, AT_LEAST_0] = 4.0
    beta_scale: Annotated[float, ABOVE_0] = 128.0
    """The divergence counts β / this, for each image: 128 as in the paper's figures, 1 for the true β."""
    divergence: Divergence = "concatenated"
    anytime: Annotated[float, AT_LEAST_0] = 0.0
    """What the canvases before the last one count (0: only the last counts, as in the paper).

    Where sketches hide each other the last can do all by itself, and then no gradient reaches those below it."""
    cover: Annotated[float, AT_LEAST_0] = 0.0
    """What each pixel costs that a sketch after the first hides on the Bernoulli canvas (0: nothing, as in the paper).

    In the unit of the squared error: a mask then stays away where its sketch is hardly better than what it hides."""

    free = ("weight", "beta", "beta_scale", "divergence", "mean", "anytime", "cover", "strength")


@dataclass(frozen=True)
class Depiction:
    """What a model, or a baseline, drew, and the latent Gaussians it was drawn from."""

    mean: Float[Tensor, "batch glimpse latent"]
    log_variance: Float[Tensor, "batch glimpse latent"]
    painting: Painting

    @property
    def canvas(self) -> Float[Tensor, "batch channel height width"]:
        """The finished drawing, in [0, 1]."""
        return self.painting.canvas


@dataclass(frozen=True)
class Drawn(Depiction, Answer):
    """What the model drew, sketch by sketch."""

    sketches: Float[Tensor, "batch glimpse sketch_channel glimpse_height glimpse_width"]
    """The decoder's patches, before sigmoid and pasting."""
    poses: Float[Tensor, "batch glimpse 2 3"]
    """The emitted inverse poses by which the sketches are pasted."""


@dataclass(frozen=True)
class Drawing(Objective):
    """Squared error of the finished canvas plus the divergence of the glimpse sub-spaces, times `weight`.

    For each image: the squared error summed over pixels and channels, plus β / `beta_scale` times the divergence. The
    authors' scripts summed the error over the batch of 128 and averaged the divergence over it, so the paper's figures
    come from a scale of 128; a scale of 1 is the true β of Equations 5 and 6. `anytime` weighs the mean error of the
    canvases before the last, and `cover` the pixels that sketches after the first hide; the paper does neither.
    """

    beta: float = 4.0
    beta_scale: float = 128.0
    divergence: Divergence = "concatenated"
    weight: float = 1.0
    anytime: float = 0.0
    cover: float = 0.0

    def terms(self, answer: Depiction, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The squared error and the weighted divergence; where they count, earlier canvases and covered pixels."""
        divergence = concatenated_divergence if self.divergence == "concatenated" else joint_divergence
        share = self.weight * self.beta / self.beta_scale
        terms = {
            "squared_error": self.weight * (answer.canvas - batch.images).square().flatten(1).sum(1).mean(),
            "divergence": share * divergence(answer.mean, answer.log_variance).mean(),
        }
        if self.anytime and answer.painting.sketches.shape[1] > 1:
            missed = answer.painting.canvases[:, :-1] - batch.images[:, None]
            terms["anytime_error"] = self.weight * self.anytime * missed.square().flatten(2).sum(2).mean()
        covers = answer.painting.covers
        if self.cover and covers is not None:
            terms["cover"] = self.weight * self.cover * covers[:, 1:].flatten(1).sum(1).mean()
        return terms

    def scores(self, answer: Depiction, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """`mse`: the squared error per pixel and channel, as the paper publishes it.

        Where the true masks are known, also intersection over union with them: `iou_last` of the last mask, which the
        paper takes for the foreground, and `iou_best` of the best mask of each picture, which only the truth can name.
        """
        scores = {"mse": (answer.canvas - batch.images).square().flatten(1).mean(1)}
        masks = answer.painting.masks
        if masks is None or batch.masks is None:
            return scores
        shares = overlap(masks[:, :, 0] >= HALF, batch.masks[:, None].expand_as(masks[:, :, 0]))
        return scores | {"iou_best": shares.amax(1), "iou_last": shares[:, -1]}


@HEADS.add("draw")
class DrawingHead(Head):
    """From each intermediate recall a sketch, and from all sketches a drawing."""

    Config = DrawConfig
    measured = (
        Score("mse", "mean squared error", digits=4, halved=1e-5),
        # Of a rival whose drawings are likelihoods (DRAW).
        Score("nats", "nats, at most,", digits=2, halved=0.05),
        Score("iou_best", "overlap, best mask", digits=3, halved=1e-3),
        Score("iou_last", "overlap, last mask", digits=3, halved=1e-3),
    )
    pastes = True

    def __init__(self, features: int, memory: int, latent: int, decoder: ConvDecoder, canvas: Canvas) -> None:
        """A head with `latent` numbers (the paper's K) for each glimpse."""
        super().__init__()
        self.query = Query(features, memory)
        self.mean = nn.Linear(memory, latent)
        self.log_variance = nn.Linear(memory, latent)
        self.expand = nn.Linear(latent, decoder.features)
        self.decoder, self.canvas = decoder, canvas

    @classmethod
    def build(cls, config: DrawConfig, host: Host) -> "DrawingHead":
        """The drawing head of these settings; its decoder mirrors the glimpse network."""
        addition = config.canvas == "addition"
        canvas: Canvas = AdditionCanvas(config.start) if addition else BernoulliCanvas(config.temperature, config.mean)
        decoder = host.decoder(canvas.channels(host.channels))
        decoder.strengthen(config.strength)
        return cls(host.features, host.memory, config.latent, decoder, canvas)

    @staticmethod
    def objective(config: DrawConfig) -> Drawing:
        """Its squared error and divergence."""
        return Drawing(config.beta, config.beta_scale, config.divergence, config.weight, config.anytime, config.cover)

    def forward(
        self,
        query: Float[Tensor, "batch memory"],
        recalls: Float[Tensor, "batch glimpse memory"],
        scene: Scene,
        generator: Generator | None = None,
    ) -> Drawn:
        """The drawing on a canvas of the picture's size: sampled in training, of means at evaluation, so it repeats."""
        assert scene.inverses is not None, "a head that pastes is given inverse poses"
        mean, log_variance = single(self.mean(recalls)), single(self.log_variance(recalls))
        sketches = self.sketches(sampled(mean, log_variance, generator) if self.training else mean)
        painting = self.canvas.paint(
            sketches, scene.inverses, scene.height, scene.width, sample=self.training, generator=generator
        )
        return Drawn(query, recalls, mean, log_variance, painting, sketches, scene.inverses)

    def sketches(
        self, latent: Float[Tensor, "batch glimpse latent"]
    ) -> Float[Tensor, "batch glimpse sketch_channel glimpse_height glimpse_width"]:
        """The sketch that each latent sample stands for."""
        return self.decoder.sketches(F.relu(self.expand(latent)))


def sampled(
    mean: Float[Tensor, "*any latent"], log_variance: Float[Tensor, "*any latent"], generator: Generator | None = None
) -> Float[Tensor, "*any latent"]:
    """A sample of each Gaussian, through which gradients pass (the reparametrisation trick)."""
    noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
    return mean + noise * torch.exp(0.5 * log_variance)


def concatenated_divergence(
    mean: Float[Tensor, "batch glimpse latent"], log_variance: Float[Tensor, "batch glimpse latent"]
) -> Float[Tensor, "batch"]:
    """KL(q(z|x) ‖ N(0, I)) with z the glimpse sub-spaces laid end to end (Equation 5, addition method)."""
    return gaussian_divergence(mean.flatten(1), log_variance.flatten(1))


def joint_divergence(
    mean: Float[Tensor, "batch glimpse latent"], log_variance: Float[Tensor, "batch glimpse latent"]
) -> Float[Tensor, "batch"]:
    """KL(q(G|x) ‖ p(G)) = Σ_n KL(q(g_n|x) ‖ p(g_n)) of the glimpse sequence (Equation 6, Appendix B, Bernoulli method).

    Summed over the latent dimensions it equals the concatenated divergence, as the paper says it must; only a mean over
    dimensions, which this is not, would tell them apart (by a factor N).
    """
    return gaussian_divergence(mean, log_variance).sum(1)


def gaussian_divergence(
    mean: Float[Tensor, "*any latent"], log_variance: Float[Tensor, "*any latent"]
) -> Float[Tensor, "*any"]:
    """KL(N(μ, σ²) ‖ N(0, I)) = −½ Σ (1 + log σ² − μ² − σ²), summed over the latent dimensions."""
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(-1)
