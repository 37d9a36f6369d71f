"""Self-supervised classification: a frozen model, and a classifier that learns from what it sees (Section 4.2)."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from stawm.baselines.beta_vae import BetaVae, Guess
from stawm.memory.hebb_rosenblatt import HebbRosenblatt, State
from stawm.model.heads import ClassificationHead, Classified
from stawm.model.objectives import Answers
from stawm.model.stawm import Stawm

Frozen = TypeVar("Frozen", bound=nn.Module)


class Readout(nn.Module, Generic[Frozen]):
    """A frozen model of which only some parts learn; the others stay in evaluation mode and get no gradient.

    What the frozen parts make of a picture is one row of numbers, its *features*. They do not change while the rest
    learns, so those of a whole data set can be made once, stored, and given in place of the pictures.
    """

    def __init__(self, model: Frozen, *learning: nn.Module) -> None:
        """A read-out of `model`, whose parts `learning` learn; the model itself is frozen, not copied."""
        super().__init__()
        self.model = model.requires_grad_(False)
        self.learning = learning
        for part in learning:
            part.requires_grad_(True)
        self.train(model.training)

    def train(self, mode: bool = True) -> "Readout[Frozen]":
        """This, with the learning parts in training mode (or not) and all else in evaluation mode."""
        super().train(False)
        self.training = mode
        for part in self.learning:
            part.train(mode)
        return self

    @torch.no_grad()
    def features(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """What the frozen parts make of each picture."""
        return self.seen(images)

    def forward(self, pictures: Float[Tensor, "batch *picture"]) -> Answers:
        """The answers for pictures, [batch channel height width], or for stored features of them, [batch features]."""
        return self.answers(self.features(pictures) if pictures.dim() == 4 else pictures)

    def seen(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """The features of each picture; each kind of model has its own."""
        raise NotImplementedError

    def answers(self, features: Float[Tensor, "batch features"]) -> Answers:
        """The answers that the learning parts give; each kind of model has its own."""
        raise NotImplementedError


@dataclass(frozen=True)
class Recalled:
    """An episode of which context and codes were kept: what was recalled from its memory, and the belief."""

    codes: Float[Tensor, "batch glimpse memory"]
    state: State
    classified: Classified
    drawn: None = None


class MemoryReadout(Readout[Stawm]):
    """A frozen drawing model with a new query layer and classifier; these and the memory's rates learn.

    The features of a picture are its context, then the codes of all glimpses.
    """

    def __init__(self, model: Stawm) -> None:
        """A read-out of `model`, which must have a classification head."""
        if model.classify is None:
            raise ValueError("this model has no classification head to learn; build one with classes")
        super().__init__(model, model.classify, model.memory)

    @property
    def classify(self) -> ClassificationHead:
        """The head that learns."""
        assert self.model.classify is not None
        return self.model.classify

    @property
    def memory(self) -> HebbRosenblatt:
        """The memory that is written and read."""
        return self.model.memory

    def seen(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """Context and codes, laid end to end."""
        gaze = self.model.start(images)
        for _ in range(self.model.glimpses):
            gaze = self.model.look(gaze)
        return torch.cat([gaze.context, *(glance.code for glance in gaze.glances)], 1)

    def answers(self, features: Float[Tensor, "batch features"]) -> Recalled:
        """What the new query reads back from a memory of these codes, and what the classifier makes of it."""
        written = self.model.glimpses * self.memory.size
        context, codes = features[:, :-written], features[:, -written:].unflatten(1, (-1, self.memory.size))
        query = self.classify.query(context)
        recalled = self.memory(codes, query)
        return Recalled(codes, recalled.state, Classified(query, recalled.recalls, self.classify(recalled.recalls)))


@dataclass(frozen=True)
class Read:
    """The belief of a classifier of stored means."""

    classified: Guess
    drawn: None = None


class LatentReadout(Readout[BetaVae]):
    """A frozen β-VAE with a linear classifier that learns; the features of a picture are the mean of its Gaussian."""

    def __init__(self, model: BetaVae) -> None:
        """A read-out of `model`, which must have a classifier."""
        if model.classify is None:
            raise ValueError("this model has no classifier to learn; build one with classes")
        super().__init__(model, model.classify)

    @property
    def classify(self) -> nn.Linear:
        """The classifier that learns."""
        assert self.model.classify is not None
        return self.model.classify

    def seen(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """μ of each picture."""
        return self.model.mean(self.model.encoder(images))

    def answers(self, features: Float[Tensor, "batch features"]) -> Read:
        """What the classifier takes these means for."""
        return Read(Guess(self.classify(features)[:, None]))
