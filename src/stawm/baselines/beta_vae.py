"""The β-VAE (Higgins et al., 2017): one look at the whole picture, one latent Gaussian, one drawing (Section 4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.errors import UsageError
from stawm.model.readout import Readout
from stawm.model.stawm import Encoder
from stawm.vision.decoders import ConvDecoder


@dataclass(frozen=True)
class Guess:
    """What the baseline takes each picture for: its one look is the only glimpse."""

    logits: Float[Tensor, "batch 1 classes"]


@dataclass(frozen=True)
class Reconstruction:
    """What the baseline drew, and from which Gaussian: its one look is the only glimpse."""

    mean: Float[Tensor, "batch 1 latent"]
    log_variance: Float[Tensor, "batch 1 latent"]
    canvas: Float[Tensor, "batch channel height width"]


@dataclass(frozen=True)
class Impression:
    """What the baseline made of a batch of pictures, by the names that a model with heads gives the same answers."""

    answers: Mapping[str, Guess | Reconstruction]


class BetaVae(nn.Module):
    """The baseline of the drawing model, with the same CNN and latent size; β belongs to the objective."""

    def __init__(self, encoder: Encoder, decoder: ConvDecoder, *, latent: int, classes: int = 0) -> None:
        """A model of `latent` numbers between an encoder and its mirror; with `classes`, a linear classifier of μ."""
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.mean = nn.Linear(encoder.features, latent)
        self.log_variance = nn.Linear(encoder.features, latent)
        self.expand = nn.Linear(latent, decoder.features)
        self.classify = nn.Linear(latent, classes) if classes else None

    def forward(
        self, images: Float[Tensor, "batch channel height width"], generator: Generator | None = None
    ) -> Impression:
        """The drawing, sampled in training and of the mean at evaluation; and the belief, always from the mean."""
        features = self.encoder(images)
        mean, log_variance = self.mean(features), self.log_variance(features)
        latent = mean
        if self.training:
            noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
            latent = mean + noise * torch.exp(0.5 * log_variance)
        canvas = torch.sigmoid(self.decoder(F.relu(self.expand(latent))))
        drawn = Reconstruction(mean[:, None], log_variance[:, None], canvas)
        guess = {} if self.classify is None else {"classify": Guess(self.classify(mean)[:, None])}
        return Impression({**guess, "draw": drawn})


class LatentReadout(Readout[BetaVae]):
    """A frozen β-VAE with a linear classifier that learns; the features of a picture are the mean of its Gaussian."""

    def __init__(self, model: BetaVae) -> None:
        """A read-out of `model`, which must have a classifier."""
        if model.classify is None:
            raise UsageError("this model has no classifier to learn; build one with a head that classifies")
        super().__init__(model, model.classify)

    def seen(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """μ of each picture."""
        return self.model.mean(self.model.encoder(images))

    def answers(self, features: Float[Tensor, "batch features"]) -> Impression:
        """What the classifier takes these means for."""
        assert self.model.classify is not None
        return Impression({"classify": Guess(self.model.classify(features)[:, None])})
