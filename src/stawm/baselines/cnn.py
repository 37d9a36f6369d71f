"""A plain CNN: the whole picture at once, in full detail, without a glimpse or a memory."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.baselines.rival import RIVALS, Rival, RivalConfig, Site
from stawm.model.dropout import Dropout
from stawm.model.heads.classify import Belief
from stawm.model.heads.head import Answered
from stawm.model.stawm import Encoder
from stawm.precision import single
from stawm.vision.images import check_images


@RIVALS.add("cnn")
class PlainCnn(Rival):
    """The network of `model.glimpse` over the whole picture, a layer of `model.hidden` units, a linear classifier."""

    title = "the plain CNN"
    uses = ("glimpse", "hidden", "dropout")

    def __init__(self, encoder: Encoder, *, classes: int, hidden: int, dropout: float) -> None:
        """A classifier on top of `encoder`."""
        super().__init__()
        self.takes, self.encoder, self.dropout = encoder.takes, encoder, Dropout(dropout)
        self.hidden = nn.Linear(encoder.features, hidden)
        self.classify = nn.Linear(hidden, classes)

    @classmethod
    def build(cls, config: RivalConfig, site: Site) -> "PlainCnn":
        """The CNN of these settings."""
        return cls(site.glimpse(*site.image), classes=site.classes, hidden=site.hidden, dropout=site.dropout)

    def forward(
        self, images: Float[Tensor, "batch channel height width"], generator: Generator | None = None
    ) -> Answered:
        """The belief, from one look at everything."""
        check_images(images, self.takes, self)
        features = F.relu(self.dropout(self.hidden(self.encoder(images))))
        return Answered({"classify": Belief(single(self.classify(features))[:, None])})
