"""The spatial-transformer CNN (Jaderberg et al., 2015): one network says where, another what is there."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.baselines.rival import RIVALS, Looked, Rival, RivalConfig, Site
from stawm.model.dropout import Dropout
from stawm.model.heads.classify import Belief
from stawm.model.policy import Emitter
from stawm.model.stawm import Encoder
from stawm.precision import single
from stawm.vision.glimpse import cut
from stawm.vision.images import check_images


class Localiser(nn.Module):
    """The localisation network: a CNN of the whole picture, a layer, and an affine pose."""

    def __init__(self, encoder: Encoder, hidden: int, dropout: float, scale: float) -> None:
        """A localiser whose poses start at the identity times `scale`."""
        super().__init__()
        self.encoder, self.dropout = encoder, Dropout(dropout)
        self.hidden = nn.Linear(encoder.features, hidden)
        self.emitter = Emitter(hidden, dropout, scale)

    def forward(self, images: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch 2 3"]:
        """Where to look at each picture."""
        return self.emitter(F.relu(self.dropout(self.hidden(self.encoder(images)))))


@RIVALS.add("stn")
class SpatialTransformer(Rival):
    """One glimpse of an affine pose that the localisation network (`policy`) chooses, and a CNN that classifies it."""

    title = "the spatial-transformer CNN"
    looks = True
    uses = ("glimpse_height", "glimpse_width", "glimpse_scale", "context", "glimpse", "hidden", "dropout")

    def __init__(
        self,
        policy: Localiser,
        encoder: Encoder,
        *,
        classes: int,
        glimpse_size: tuple[int, int],
        hidden: int,
        dropout: float,
    ) -> None:
        """A model of these networks; `encoder` takes glimpses of `glimpse_size`."""
        super().__init__()
        self.takes, self.size = policy.encoder.takes, glimpse_size
        self.policy, self.encoder, self.dropout = policy, encoder, Dropout(dropout)
        self.hidden = nn.Linear(encoder.features, hidden)
        self.classify = nn.Linear(hidden, classes)

    @classmethod
    def build(cls, config: RivalConfig, site: Site) -> "SpatialTransformer":
        """`model.context` localises, `model.glimpse` sees."""
        policy = Localiser(site.context(*site.image), site.hidden, site.dropout, site.glimpse_scale)
        encoder = site.glimpse(site.image[0], *site.glimpse_size)
        sizes = {"glimpse_size": site.glimpse_size, "hidden": site.hidden, "dropout": site.dropout}
        return cls(policy, encoder, classes=site.classes, **sizes)

    def forward(
        self, images: Float[Tensor, "batch channel height width"], generator: Generator | None = None
    ) -> Looked:
        """The belief from the one glimpse."""
        check_images(images, self.takes, self)
        pose = self.policy(images)
        glimpse = cut(images, pose, *self.size)
        features = F.relu(self.dropout(self.hidden(self.encoder(glimpse))))
        answer = Belief(single(self.classify(features))[:, None])
        return Looked({"classify": answer}, images, pose[:, None], glimpse[:, None])
