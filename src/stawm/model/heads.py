"""Queries and read-outs: what a memory is asked, and what is made of the answer."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.vision.canvas import Canvas, Painting
from stawm.vision.decoders import ConvDecoder


@dataclass(frozen=True)
class Classified:
    """What the model believes, after each glimpse."""

    query: Float[Tensor, "batch memory"]
    recalls: Float[Tensor, "batch glimpse memory"]
    """What the query reads back from the intermediate memory after each write; the last is the terminal memory's."""
    logits: Float[Tensor, "batch glimpse classes"]
    """The answer after each glimpse; the last is the model's."""


@dataclass(frozen=True)
class Drawn:
    """What the model drew, sketch by sketch."""

    query: Float[Tensor, "batch memory"]
    recalls: Float[Tensor, "batch glimpse memory"]
    mean: Float[Tensor, "batch glimpse latent"]
    log_variance: Float[Tensor, "batch glimpse latent"]
    sketches: Float[Tensor, "batch glimpse sketch_channel glimpse_height glimpse_width"]
    """The decoder's patches, before sigmoid and pasting."""
    poses: Float[Tensor, "batch glimpse 2 3"]
    """The emitted inverse poses by which the sketches are pasted."""
    painting: Painting

    @property
    def canvas(self) -> Float[Tensor, "batch channel height width"]:
        """The finished drawing, in [0, 1]."""
        return self.painting.canvas


class Query(nn.Module):
    """A query of the memory from the context; the context learns nothing from it (its gradient is stopped)."""

    def __init__(self, features: int, memory: int, dropout: float = 0.0) -> None:
        """A query of `memory` numbers from `features` context features."""
        super().__init__()
        self.project = nn.Linear(features, memory)
        self.dropout = nn.Dropout(dropout)

    def forward(self, context: Float[Tensor, "batch features"]) -> Float[Tensor, "batch memory"]:
        """ReLU6 of a linear map of the context."""
        return self.dropout(F.relu6(self.project(context.detach())))


class ClassificationHead(nn.Module):
    """What is it? One linear layer from recall to classes, on the terminal memory or on any intermediate one."""

    def __init__(self, features: int, memory: int, classes: int, dropout: float) -> None:
        """A head for `classes` classes."""
        super().__init__()
        self.query = Query(features, memory, dropout)
        self.classify = nn.Linear(memory, classes)

    def forward(self, recalls: Float[Tensor, "*any memory"]) -> Float[Tensor, "*any classes"]:
        """The logits of each class."""
        return self.classify(recalls)


class DrawingHead(nn.Module):
    """What did I see? Each intermediate recall becomes a latent Gaussian, a sample a sketch, sketches a drawing."""

    def __init__(self, features: int, memory: int, latent: int, decoder: ConvDecoder, canvas: Canvas) -> None:
        """A head with `latent` numbers (the paper's K) for each glimpse."""
        super().__init__()
        self.query = Query(features, memory)
        self.mean = nn.Linear(memory, latent)
        self.log_variance = nn.Linear(memory, latent)
        self.expand = nn.Linear(latent, decoder.features)
        self.decoder, self.canvas = decoder, canvas

    def forward(
        self,
        query: Float[Tensor, "batch memory"],
        recalls: Float[Tensor, "batch glimpse memory"],
        poses: Float[Tensor, "batch glimpse 2 3"],
        height: int,
        width: int,
        generator: Generator | None = None,
    ) -> Drawn:
        """The drawing on a canvas of `height` × `width`: sampled in training, of means at evaluation, so it repeats."""
        mean, log_variance = self.mean(recalls), self.log_variance(recalls)
        latent = mean
        if self.training:
            noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
            latent = mean + noise * torch.exp(0.5 * log_variance)
        sketches = self.sketches(latent)
        painting = self.canvas.paint(sketches, poses, height, width, sample=self.training, generator=generator)
        return Drawn(query, recalls, mean, log_variance, sketches, poses, painting)

    def sketches(
        self, latent: Float[Tensor, "batch glimpse latent"]
    ) -> Float[Tensor, "batch glimpse sketch_channel glimpse_height glimpse_width"]:
        """The sketch that each latent sample stands for."""
        return self.decoder.sketches(F.relu(self.expand(latent)))
