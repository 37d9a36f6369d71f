"""The β-VAE (Higgins et al., 2017): one look at the whole picture, one latent Gaussian, one drawing (Section 4.2)."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.baselines.rival import RIVALS, Rival, RivalConfig, Site
from stawm.errors import UsageError
from stawm.model.heads.classify import Belief
from stawm.model.heads.draw import Depiction, sampled
from stawm.model.heads.head import Answered
from stawm.model.readout import Readout
from stawm.model.stawm import Encoder
from stawm.precision import single
from stawm.vision.canvas import Painting
from stawm.vision.decoders import ConvDecoder
from stawm.vision.images import check_images


@RIVALS.add("vae")
class BetaVae(Rival):
    """The baseline of the drawing model, with the same CNN and latent size; β belongs to the objective.

    Its one look is the only glimpse, and its one sketch covers the canvas.
    """

    title, does, must, may, alone = "the β-VAE", "draws, and may classify", ("draw",), ("classify",), ("classify",)
    uses, inherits = ("glimpse",), True

    def __init__(self, encoder: Encoder, decoder: ConvDecoder, *, latent: int, classes: int = 0) -> None:
        """A model of `latent` numbers between an encoder and its mirror; with `classes`, a linear classifier of μ."""
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.mean = nn.Linear(encoder.features, latent)
        self.log_variance = nn.Linear(encoder.features, latent)
        self.expand = nn.Linear(latent, decoder.features)
        self.classify = nn.Linear(latent, classes) if classes else None
        self.takes = encoder.takes

    @classmethod
    def build(cls, config: RivalConfig, site: Site) -> "BetaVae":
        """The glimpse network and its mirror over the whole picture."""
        encoder, decoder = site.glimpse(*site.image), site.decoder(*site.image)
        return cls(encoder, decoder, latent=site.latent, classes=site.classes)

    def forward(
        self, images: Float[Tensor, "batch channel height width"], generator: Generator | None = None
    ) -> Answered:
        """The drawing, sampled in training and of the mean at evaluation; and the belief, always from the mean."""
        features = self.seen(images)
        mean, log_variance = single(self.mean(features)), single(self.log_variance(features))
        latent = sampled(mean, log_variance, generator) if self.training else mean
        sketch = single(self.decoder(F.relu(self.expand(latent))))[:, None]
        painting = Painting(torch.sigmoid(sketch[:, 0]), sketch, None)
        drawn = Depiction(mean[:, None], log_variance[:, None], painting)
        believed = {} if self.classify is None else {"classify": Belief(single(self.classify(mean))[:, None])}
        return Answered({**believed, "draw": drawn})

    def seen(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """The features of each picture; what the model cannot take is a `DataError`."""
        check_images(images, self.takes, self.encoder)
        return self.encoder(images)

    def readout(self) -> "LatentReadout":
        """The model frozen but for its classifier."""
        return LatentReadout(self)


class LatentReadout(Readout[BetaVae]):
    """A frozen β-VAE with a linear classifier that learns; the features of a picture are the mean of its Gaussian."""

    def __init__(self, model: BetaVae) -> None:
        """A read-out of `model`, which must have a classifier."""
        if model.classify is None:
            raise UsageError("this model has no classifier to learn; build one with a head that classifies")
        super().__init__(model, model.classify)
        self.width = model.mean.out_features

    @torch.no_grad()
    def features(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """μ of each picture."""
        return self.model.mean(self.model.seen(images))

    def answers(self, features: Float[Tensor, "batch features"]) -> Answered:
        """What the classifier takes these means for."""
        assert self.model.classify is not None
        return Answered({"classify": Belief(single(self.model.classify(features))[:, None])})
