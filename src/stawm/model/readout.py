"""Self-supervised learning of a head: a frozen model, and one head that learns from what it sees (Section 4.2)."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from stawm.errors import DataError
from stawm.model.heads.head import Answered, Scene
from stawm.model.stawm import Remembered, Stawm

Frozen = TypeVar("Frozen", bound=nn.Module)


class Readout(nn.Module, ABC, Generic[Frozen]):
    """A frozen model of which only some parts learn; the others stay in evaluation mode and get no gradient.

    What the frozen parts make of a picture is one row of numbers, its *features*. They do not change while the rest
    learns, so those of a whole data set can be made once, stored, and given in place of the pictures.
    """

    width: int
    """How many features a picture has."""

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

    def forward(self, pictures: Float[Tensor, "batch *picture"]) -> Answered:
        """The answers for pictures, [batch channel height width], or for stored features of them, [batch features]."""
        if pictures.dim() == 2 and pictures.shape[1] != self.width:
            raise DataError(f"given {pictures.shape[1]} features for each picture; give {self.width}, or pictures")
        return self.answers(pictures if pictures.dim() == 2 else self.features(pictures))

    @abstractmethod
    def features(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """What the frozen parts make of each picture, without gradients."""

    @abstractmethod
    def answers(self, features: Float[Tensor, "batch features"]) -> Answered:
        """What the learning parts answer."""


class MemoryReadout(Readout[Stawm]):
    """A frozen model with a new head; this, and what of the memory can learn, learns.

    The features of a picture are its context, then the codes of all glimpses.
    """

    def __init__(self, model: Stawm, head: str) -> None:
        """A read-out of `model` through the head of this name, which may not need to know where to paste."""
        super().__init__(model, model.head(head), model.memory)
        self.head = head
        self.width = model.context.features + model.glimpses * model.memory.size

    @property
    def memory(self) -> nn.Module:
        """The memory that is written and read."""
        return self.model.memory

    @torch.no_grad()
    def features(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch features"]:
        """Context and codes, laid end to end."""
        gaze = self.model.gaze(images)
        return torch.cat([gaze.context, gaze.codes.flatten(1)], 1)

    def answers(self, features: Float[Tensor, "batch features"]) -> Remembered:
        """What the head makes of a memory of these codes."""
        size = self.model.memory.size
        written = self.model.glimpses * size
        context, codes = features[:, :-written], features[:, -written:].unflatten(1, (-1, size))
        return self.model.ask(context, codes, Scene(0, 0, None), heads=(self.head,))
