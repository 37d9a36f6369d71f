"""Is a picture like those that were learnt from? What a model made of it, judged by a small network.

The network is fitted once, after training, on frozen features: the model's own pictures on the one side, strangers on
the other (outlier exposure, Hendrycks et al., 2019). The model itself is not changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.model.heads.classify import Belief
from stawm.model.heads.draw import Depiction
from stawm.model.heads.head import Answer
from stawm.model.stawm import Episode
from stawm.trust.style import ranked

HIDDEN = 64
EPOCHS, BATCH, RATE, DECAY, DROPOUT = 10, 128, 2e-3, 1e-2, 0.2
FARTHEST = 5.0
"""Features count up to so many standard deviations, so that no single one decides about a picture far from all."""
REFUSED = 0.015
"""This share of the held-out pictures is refused, so that of others it is hardly more than 2 %."""
USUAL = 0.9
"""The score of the median held-out picture."""
INK = 5.0
"""Squared ink that is added in shares of it, so that nearly empty pictures have shares too."""


@dataclass(frozen=True)
class Familiar:
    """How familiar one picture is."""

    score: float
    """From 0 to 1: 0.5 is the threshold, 0.9 the median of pictures like those that were learnt from."""
    recognised: bool
    """Whether the score is at least 0.5."""


@dataclass(frozen=True)
class Judgement:
    """The network that judges familiarity: features are scaled, then one hidden layer of ReLU."""

    mean: Float[Tensor, "features"]
    deviation: Float[Tensor, "features"]
    inner: Float[Tensor, "hidden features"]
    inner_bias: Float[Tensor, "hidden"]
    outer: Float[Tensor, "hidden"]
    threshold: Float[Tensor, ""]
    """Of the network's output."""
    unit: Float[Tensor, ""]
    """What its output is divided by, so that scores of several models can be compared."""

    def content(self, episode: Episode) -> Float[Tensor, "batch"]:
        """How familiar what each picture of the episode shows is, in units above or below the threshold."""
        output = self.output(features_of(episode))
        return (output - self.threshold.to(output)) / self.unit.to(output)

    def output(self, features: Float[Tensor, "batch features"]) -> Float[Tensor, "batch"]:
        """What the network says, before threshold and unit."""
        mean, deviation, inner, bias, outer = (
            part.to(features) for part in (self.mean, self.deviation, self.inner, self.inner_bias, self.outer)
        )
        return F.relu(F.linear(scaled(features, mean, deviation), inner, bias)) @ outer


def scaled(
    features: Float[Tensor, "batch features"], mean: Tensor, deviation: Tensor
) -> Float[Tensor, "batch features"]:
    """Features in standard deviations, none farther than a few from the mean."""
    return ((features - mean) / deviation).clamp(-FARTHEST, FARTHEST)


def features_of(episode: Episode) -> Float[Tensor, "batch features"]:
    """What is judged: the directions of context and recalls, the last logits, and what was redrawn against the picture.

    Directions, not lengths: a bright picture is not a familiar one (Mahalanobis++, Mueller and Hein, 2025).
    """
    parts = [F.normalize(episode.context, dim=-1)]
    for answer in episode.answers.values():
        if isinstance(answer, Answer):
            parts.append(F.normalize(answer.recalls[..., -1, :], dim=-1).flatten(1))
        if isinstance(answer, Belief):
            parts.append(answer.logits[:, -1])
        if isinstance(answer, Depiction):
            parts.append(drawing_against(answer.painting.canvases, episode.images))
    return torch.cat([part.float() for part in parts], 1)


def drawing_against(
    canvases: Float[Tensor, "batch glimpse channel height width"], images: Float[Tensor, "batch channel height width"]
) -> Float[Tensor, "batch numbers"]:
    """How the canvas after each glimpse differs from the picture: five numbers a glimpse.

    The logarithm of the squared error, its share of the squared ink, those of what is missing and of what is too much,
    and the cosine of the two.
    """
    drawn, shown = canvases.float().flatten(2), images.float().flatten(1)[:, None]
    ink = shown.square().sum(-1) + INK
    missing, surplus = ((shown - drawn).clamp(min=0).square().sum(-1), (drawn - shown).clamp(min=0).square().sum(-1))
    error = missing + surplus
    shares = [error / ink, missing / ink, surplus / ink, F.cosine_similarity(drawn, shown, dim=-1)]
    return torch.cat([error.log1p(), *shares], 1)


def fit_judgement(
    own: Float[Tensor, "count features"],
    strange: Float[Tensor, "strangers features"],
    held_out: Float[Tensor, "held features"],
    likeness: Float[Tensor, "held"] | None = None,
    seed: int = 0,
) -> Judgement:
    """The network that tells features of the model's own pictures from those of strangers (logistic loss).

    Both sides count the same. The threshold refuses 1.5 % of the held-out pictures; the unit makes 0.9 the median of
    their scores, given how like they are in style.
    """
    mean, deviation = own.mean(0), own.std(0) + 1e-3 * own.std() + 1e-9
    features = scaled(torch.cat([own, strange]), mean, deviation)
    truth = torch.cat([torch.ones(len(own)), torch.zeros(len(strange))])
    weight = torch.cat([torch.full((len(side),), len(truth) / (2 * len(side))) for side in (own, strange)])
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        inner, outer = nn.Linear(own.shape[1], HIDDEN), nn.Linear(HIDDEN, 1, bias=False)
        net = nn.Sequential(nn.Dropout(DROPOUT), inner, nn.ReLU(), nn.Dropout(DROPOUT), outer)
        optimiser = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAY)
        steps = EPOCHS * -(-len(truth) // BATCH)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, steps)
        for _ in range(EPOCHS):
            for some in torch.randperm(len(truth)).split(BATCH):
                loss = F.binary_cross_entropy_with_logits(net(features[some])[:, 0], truth[some], weight[some])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
    weights = inner.weight.detach(), inner.bias.detach(), outer.weight[0].detach()
    found = Judgement(mean, deviation, *weights, threshold=torch.tensor(0.0), unit=torch.tensor(1.0))
    return _with_threshold(found, found.output(held_out), likeness)


def _with_threshold(
    found: Judgement, held_out: Float[Tensor, "held"], likeness: Float[Tensor, "held"] | None
) -> Judgement:
    threshold = held_out.quantile(REFUSED, interpolation="lower")
    content = held_out - threshold
    ordered = content if likeness is None else ranked(content, likeness)
    unit = (ordered.median() / torch.logit(torch.tensor(USUAL))).clamp(min=1e-6)
    return Judgement(**vars(found) | {"threshold": threshold, "unit": unit})


def tensors_of(judgement: Judgement) -> dict[str, Tensor]:
    """The parts of the network by name; the large one as float16."""
    return vars(judgement) | {"inner": judgement.inner.half()}


def judgement_of(tensors: Mapping[str, Any]) -> Judgement:
    """The network of these parts."""
    return Judgement(**{name: part.float() for name, part in tensors.items()})
