"""The Recurrent Attention Model, RAM (Mnih et al., 2014): glimpses whose places are drawn, and learnt by REINFORCE."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.baselines.rival import RIVALS, Looked, RivalConfig, Site, Stepwise, fixed_chance
from stawm.errors import UsageError
from stawm.model.cell import Cell
from stawm.model.heads.classify import Belief, Classification, ClassifyConfig
from stawm.model.heads.head import Batch
from stawm.precision import single
from stawm.ranges import ABOVE_0, AT_LEAST_0, WIDTH, Range
from stawm.vision.glimpse import cut

Core = Literal["relu", "lstm"]


@dataclass(frozen=True)
class RamConfig(RivalConfig):
    """The retina, the core, and how places are drawn and learnt."""

    scales: Annotated[int, Range(low=1, high=8)] = 3
    """Patches of a glimpse around one place, each twice as wide as the one before, all resized to the first."""
    features: Annotated[int, WIDTH] = 128
    """Numbers that the patches, and the place, are each told by before they are joined."""
    core: Core = "relu"
    """What keeps the state: a rectified layer (the paper, for pictures that stand still) or an LSTM."""
    deviation: Annotated[float, ABOVE_0] = 0.15
    """The standard deviation of places around their mean, where the picture is 2 wide."""
    reinforce: Annotated[float, AT_LEAST_0] = 1.0
    """What the loss of the policy counts beside the cross entropy."""
    baseline: Annotated[float, AT_LEAST_0] = 1.0
    """What the squared error of the expected reward counts."""
    samples: Annotated[int, Range(high=1024)] = 0
    """At evaluation: the answers of so many drawn paths are averaged; 0: one path, along the means."""


@dataclass(frozen=True)
class Attended(Belief):
    """What the model believes after each glimpse, and, of places that were drawn, what their policy learns from."""

    log_chances: Float[Tensor, "batch glimpse"] | None = None
    """log π of each place; none where places are the means."""
    expected: Float[Tensor, "batch glimpse"] | None = None
    """The reward that was expected before each glimpse was taken: the baseline b."""


@dataclass(frozen=True)
class Hybrid(Classification):
    """Cross entropy for all that is differentiable, REINFORCE for the places (Section 3.2).

    The reward R is 1 where the last answer is right, else 0. The policy's loss −Σ_t log π(l_t) (R − b_t) has the
    gradient of the expected reward, whatever its own value says; b learns to expect R.
    """

    reinforce: float = 1.0
    baseline: float = 1.0

    def terms(self, answer: Belief, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The cross entropy and, where places were drawn, the losses of the policy and of its baseline."""
        terms = super().terms(answer, batch)
        if not isinstance(answer, Attended) or answer.log_chances is None or answer.expected is None:
            return terms
        reward = 1 - self.scores(answer, batch)["error"].to(answer.expected.dtype)
        advantage = reward[:, None] - answer.expected
        policy = -(answer.log_chances * advantage.detach()).sum(1).mean()
        return terms | {"policy": self.reinforce * policy, "baseline": self.baseline * advantage.square().mean()}


@RIVALS.add("ram")
class Ram(Stepwise):
    """A retina, a glimpse network of what and where, a recurrent core, and from its state the next place.

    State and place are h_t = f_h(h_{t−1}, f_g(x, l_t)) and l_t ~ N(tanh(W h_{t−1} + b), σ²), from h_0 = 0. Places
    outside the picture are moved to its edge. Only REINFORCE teaches W, and it teaches nothing else: its gradient, and
    that of the baseline, stop at h.
    """

    Config = RamConfig
    title = "RAM"

    def __init__(
        self,
        image: tuple[int, int, int],
        *,
        classes: int,
        glimpses: int,
        glimpse_size: tuple[int, int],
        hidden: int,
        config: RamConfig = RamConfig(),
    ) -> None:
        """A model for pictures of `image`: channels, height and width."""
        super().__init__(image, glimpses, glimpse_size)
        self.scales, self.deviation, self.samples = config.scales, config.deviation, config.samples
        self.patches = nn.Linear(config.scales * image[0] * math.prod(glimpse_size), config.features)
        self.place = nn.Linear(2, config.features)
        self.what, self.where = nn.Linear(config.features, hidden), nn.Linear(config.features, hidden)
        self.core = Cell(hidden, hidden) if config.core == "lstm" else Rectified(hidden)
        self.locate, self.expect = nn.Linear(hidden, 2), nn.Linear(hidden, 1)
        self.classify = nn.Linear(hidden, classes)
        nn.init.zeros_(self.locate.bias)  # The first place starts at the centre.

    @classmethod
    def build(cls, config: RamConfig, site: Site) -> "Ram":
        """RAM of these settings."""
        sizes = {"glimpses": site.glimpses, "glimpse_size": site.glimpse_size, "hidden": site.hidden}
        return cls(site.image, classes=site.classes, config=config, **sizes)

    @staticmethod
    def objective(config: RamConfig, name: str, head: ClassifyConfig) -> Hybrid:
        """The hybrid loss."""
        return Hybrid(head.label_smoothing, head.weight, head.anytime, config.reinforce, config.baseline)

    def look(
        self, images: Float[Tensor, "batch channel height width"], glimpses: int, generator: Generator | None
    ) -> Looked:
        """Places are drawn in training; at evaluation they are the means, or the answers of several paths are averaged.

        Of several paths, places and glimpses are those of the first.
        """
        if self.training:
            return self.path(images, glimpses, drawn=True, generator=generator)
        if not self.samples:
            return self.path(images, glimpses, drawn=False)
        chance = generator or fixed_chance(images)
        paths = [self.path(images, glimpses, drawn=True, generator=chance) for _ in range(self.samples)]
        beliefs = torch.stack([path.logits.log_softmax(-1) for path in paths])
        answer = Attended(beliefs.logsumexp(0) - math.log(len(paths)))
        return Looked({"classify": answer}, images, paths[0].poses, paths[0].glimpses)

    def check_portable(self) -> None:
        """Refuse a model that draws places at evaluation."""
        if self.samples:
            raise UsageError("this RAM draws places by chance, and a file draws none; set model.rival.samples to 0")

    def path(
        self,
        images: Float[Tensor, "batch channel height width"],
        glimpses: int,
        *,
        drawn: bool,
        generator: Generator | None = None,
    ) -> Looked:
        """One path of glimpses over each picture."""
        hidden = images.new_zeros(images.shape[0], self.classify.in_features)
        state = (hidden, hidden)
        looks: list[tuple[Tensor, ...]] = []
        for _ in range(glimpses):
            before = state[0].detach()
            mean, expected = torch.tanh(single(self.locate(before))), single(self.expect(before)).squeeze(1)
            noise = torch.zeros_like(mean)
            if drawn:
                noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
            place = (mean + self.deviation * noise).detach()
            log_chance = self.log_chance(place, mean)
            place = place.clamp(-1, 1)
            patches = self.retina(images, place)
            state = self.core(self.glimpse(patches, place), state)
            looks.append((self.pose(place), patches[:, 0], single(self.classify(state[0])), log_chance, expected))
        poses, seen, logits, log_chances, expected = (torch.stack(part, 1) for part in zip(*looks, strict=True))
        answer = Attended(logits, log_chances, expected) if drawn else Attended(logits)
        return Looked({"classify": answer}, images, poses, seen)

    def log_chance(self, place: Float[Tensor, "batch 2"], mean: Float[Tensor, "batch 2"]) -> Float[Tensor, "batch"]:
        """Log N(place; mean, σ²), both coordinates together."""
        deviation = self.deviation
        away = ((place - mean) / deviation).square().sum(1)
        return -0.5 * away - math.log(2 * math.pi * deviation**2)

    def pose(self, place: Float[Tensor, "batch 2"], scale: int = 0) -> Float[Tensor, "batch 2 3"]:
        """The pose of a patch of this scale, 0 the finest, pixel by pixel of the picture."""
        (_, height, width), (rows, columns) = self.takes, self.size
        assert height is not None and width is not None
        spans = [(side * 2**scale - 1) / max(whole - 1, 1) for side, whole in ((columns, width), (rows, height))]
        turn = torch.diag(place.new_tensor(spans)).expand(place.shape[0], 2, 2)
        return torch.cat([turn, place[..., None]], 2)

    def retina(
        self, images: Float[Tensor, "batch channel height width"], place: Float[Tensor, "batch 2"]
    ) -> Float[Tensor, "batch scale channel glimpse_height glimpse_width"]:
        """The patches around each place: that of scale s is 2^s times as wide, and averaged over 2^s × 2^s pixels."""
        patches = []
        for scale in range(self.scales):
            wide = [side * 2**scale for side in self.size]
            patches.append(F.avg_pool2d(cut(images, self.pose(place, scale), *wide), 2**scale))
        return torch.stack(patches, 1)

    def glimpse(
        self,
        patches: Float[Tensor, "batch scale channel glimpse_height glimpse_width"],
        place: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch hidden"]:
        """What was seen, and where."""
        what, where = F.relu(self.patches(patches.flatten(1))), F.relu(self.place(place))
        return F.relu(self.what(what) + self.where(where))


class Rectified(nn.Module):
    """The core of the paper: h_t = ReLU(W h_{t−1} + U g_t + b), called as an LSTM cell is."""

    def __init__(self, hidden: int) -> None:
        """A core of `hidden` units, for glimpses of as many features."""
        super().__init__()
        self.again, self.enter = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden)

    def forward(
        self, glimpse: Float[Tensor, "batch hidden"], state: tuple[Tensor, Tensor]
    ) -> tuple[Float[Tensor, "batch hidden"], Tensor]:
        """The next state; its second part is what an LSTM has besides, and is passed on."""
        return F.relu(self.again(state[0]) + self.enter(glimpse)), state[1]
