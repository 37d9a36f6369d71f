"""What every rival is: a whole model for the same tasks, with the same settings, taught and judged by the same loop.

A rival is one file: its own settings (a `RivalConfig`), and the model (a `Rival`), which enters itself in `RIVALS` by
the name that `model.kind` then takes. What it answers goes by the names of heads, as a `Stawm`'s does.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.errors import UsageError
from stawm.model.heads.head import HEADS, Answered, Objective
from stawm.model.readout import Readout
from stawm.model.stawm import Encoder
from stawm.registry import Registry
from stawm.vision.decoders import ConvDecoder
from stawm.vision.images import Takes, check_images

STAWM = "stawm"
"""What `model.kind` is called when the model is the paper's, which is no rival."""
RIVALS: "Registry[type[Rival]]" = Registry(
    "kind of model", home="stawm.baselines", group="stawm.rivals", beside=(STAWM,)
)
"""The rivals by name."""

COMMON = ("kind", "image", "heads", "rival")
"""Settings of a model that mean something whatever its kind is."""


@dataclass(frozen=True)
class RivalConfig:
    """The settings that only one rival has; this record, of a model without such, is empty."""


@dataclass(frozen=True)
class Site:
    """What a rival is built for, as far as it needs to know."""

    image: tuple[int, int, int]
    """Channels, height and width of the pictures."""
    classes: int
    """Classes to tell apart; 0 in a model that does not classify."""
    latent: int
    """Numbers in the latent space of a drawing; 0 in a model that does not draw."""
    glimpses: int
    glimpse_size: tuple[int, int]
    """Height and width."""
    glimpse_scale: float
    """The share of each side of the picture that glimpses cover before training."""
    hidden: int
    dropout: float
    context: Callable[[int, int, int], Encoder]
    """The network of `model.context` for pictures of so many channels, of this height and width."""
    glimpse: Callable[[int, int, int], Encoder]
    """That of `model.glimpse`."""
    decoder: Callable[[int, int, int], ConvDecoder]
    """The mirror of that of `model.glimpse`."""


@dataclass(frozen=True)
class Looked(Answered):
    """What a rival answered by looking at places: where these were, and what it saw there."""

    images: Float[Tensor, "batch channel height width"]
    poses: Float[Tensor, "batch glimpse 2 3"]
    glimpses: Float[Tensor, "batch glimpse channel glimpse_height glimpse_width"]

    @property
    def logits(self) -> Float[Tensor, "batch glimpse classes"]:
        """The belief after each glimpse."""
        return self.answers["classify"].logits


class Rival(nn.Module, ABC):
    """A whole model, to compare with."""

    Config: ClassVar[type[RivalConfig]] = RivalConfig
    """The record of its own settings."""
    title: ClassVar[str]
    """What people call it."""
    does: ClassVar[str] = "classifies"
    must: ClassVar[tuple[str, ...]] = ("classify",)
    """The heads whose tasks it always does."""
    may: ClassVar[tuple[str, ...]] = ()
    """Those whose tasks it can do besides."""
    alone: ClassVar[tuple[str, ...]] = ()
    """Those that can learn while all else is frozen (`readout`)."""
    looks: ClassVar[bool] = False
    """Whether it takes glimpses."""
    uses: ClassVar[tuple[str, ...] | None] = None
    """The settings of a model, besides `COMMON`, that it is built from; others are refused. None: whatever is set."""
    inherits: ClassVar[bool] = False
    """Whether it may keep those others as the model has them that it is compared with, though they do nothing."""
    takes: Takes
    """The pictures that it takes."""

    @classmethod
    @abstractmethod
    def build(cls, config: Any, site: Site) -> "Rival":
        """The rival of these settings of its own (a `Config`), for this site."""

    @staticmethod
    def objective(config: Any, name: str, head: Any) -> Objective:
        """What its answers to the head `name` are judged by: the same as those of a `Stawm`, if it says nothing."""
        return HEADS[name].objective(head)

    @abstractmethod
    def forward(
        self, images: Float[Tensor, "batch channel height width"], generator: Generator | None = None
    ) -> Answered:
        """The answers for pictures."""

    def readout(self) -> Readout[Any]:
        """The model frozen but for the head that can learn alone; a rival without one is a `UsageError`."""
        raise UsageError(f"{self.title} has no part that learns alone; leave training.learns at all")

    def check_portable(self) -> None:
        """Refuse, with a `UsageError`, a model that a file which draws no chances cannot hold; most can be."""
        return None


class Stepwise(Rival):
    """A rival that takes one glimpse after another and answers after each, so that it can be stopped after any."""

    looks = True
    uses = ("glimpses", "glimpse_height", "glimpse_width", "hidden")

    def __init__(self, image: tuple[int, int, int], glimpses: int, glimpse_size: tuple[int, int]) -> None:
        """A model for pictures of `image` (channels, height and width), looked at `glimpses` times."""
        super().__init__()
        self.takes, self.glimpses, self.size = image, glimpses, glimpse_size

    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        generator: Generator | None = None,
        glimpses: int | None = None,
    ) -> Looked:
        """The answer after each of `glimpses` looks at each picture (as many as it was built for if not given)."""
        check_images(images, self.takes, self)
        count = self.glimpses if glimpses is None else glimpses
        if count < 1:
            raise UsageError(f"{count} glimpses see nothing; give at least 1")
        return self.look(images, count, generator)

    @abstractmethod
    def look(
        self, images: Float[Tensor, "batch channel height width"], glimpses: int, generator: Generator | None
    ) -> Looked:
        """What it answers by so many glimpses of pictures that it can take."""


def fixed_chance(like: Tensor) -> Generator:
    """The chance by which a model that samples at evaluation does so: always the same, so that its answers repeat."""
    return torch.Generator(like.device).manual_seed(0)
