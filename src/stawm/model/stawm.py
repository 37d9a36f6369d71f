"""The Short Term Attentive Working Memory: a few glimpses of an image, each written into a memory that heads ask."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.errors import UsageError
from stawm.memory.protocol import Memory
from stawm.model.dropout import Dropout
from stawm.model.heads.classify import Classified
from stawm.model.heads.head import Answer, Answered, Head, Scene
from stawm.model.policy import Policy
from stawm.model.scan import Scan
from stawm.precision import exact, single
from stawm.vision.encoders import ConvEncoder
from stawm.vision.glimpse import cut_scales
from stawm.vision.images import check_images, halves
from stawm.vision.levels import Levels
from stawm.vision.mobilenet import MobileNetV2
from stawm.vision.overview import FixedOverview, Overview

Encoder = ConvEncoder | MobileNetV2
Where = Literal["emission", "pose"]
Kind = TypeVar("Kind", bound=Answer)


@dataclass(frozen=True)
class Glance:
    """One glimpse: where the model looked, what it saw there, and the code it made of both."""

    pose: Float[Tensor, "batch 2 3"]
    inverse: Float[Tensor, "batch 2 3"] | None
    """Where a sketch of it would be pasted; none in a model that does not draw."""
    glimpse: Float[Tensor, "batch channel glimpse_height glimpse_width"]
    features: Float[Tensor, "batch hidden"]
    code: Float[Tensor, "batch memory"]


@dataclass(frozen=True)
class Gaze:
    """A look in progress: all that the next glimpse needs. A value, so that two images interleave safely."""

    images: Float[Tensor, "batch channel height width"]
    context: Float[Tensor, "batch features"]
    policy: Any
    """The state of the policy."""
    glances: tuple[Glance, ...] = ()
    later: Float[Tensor, "batch channel height width"] | None = None
    """The picture that is shown afterwards, to be compared with what is remembered of this one."""

    @property
    def codes(self) -> Float[Tensor, "batch glimpse memory"]:
        """What is written into the memory, glimpse by glimpse."""
        return torch.stack([glance.code for glance in self.glances], 1)

    @property
    def scene(self) -> Scene:
        """What heads may know of it besides what they recall."""
        inverses = [glance.inverse for glance in self.glances if glance.inverse is not None]
        height, width = self.images.shape[-2:]
        poses = torch.stack([glance.pose for glance in self.glances], 1)
        return Scene(height, width, torch.stack(inverses, 1) if inverses else None, poses)


@dataclass(frozen=True)
class Remembered(Answered):
    """A memory that was written and asked: the answers of the heads, the codes, and the terminal state."""

    codes: Float[Tensor, "batch glimpse memory"]
    state: Any
    """The terminal memory."""

    @property
    def logits(self) -> Float[Tensor, "batch glimpse classes"]:
        """The classifier's answer after each glimpse; the last is the model's."""
        return self.answer("classify", Classified).logits

    def answer(self, name: str, kind: type[Kind] = Answer) -> Kind:
        """The answer of the head of this name; a model without it is a `UsageError`."""
        found = self.answers.get(name)
        if not isinstance(found, kind):
            raise UsageError(f"this model has no head {name!r}; it has {', '.join(self.answers)}")
        return found


@dataclass(frozen=True)
class Episode(Remembered):
    """Everything that happened over a batch of images."""

    images: Float[Tensor, "batch channel height width"]
    context: Float[Tensor, "batch features"]
    poses: Float[Tensor, "batch glimpse 2 3"]
    glimpses: Float[Tensor, "batch glimpse channel glimpse_height glimpse_width"]


class Stawm(nn.Module):
    """A model that looks, remembers and answers: what is it (classify), what did I see (draw), or both."""

    def __init__(
        self,
        *,
        context: Encoder | Overview | FixedOverview,
        glimpse: Encoder,
        policy: Policy | Scan,
        memory: Memory,
        heads: Mapping[str, Head],
        hidden: int,
        glimpses: int,
        glimpse_size: tuple[int, int],
        where: Where = "emission",
        dropout: float = 0.5,
        scales: int = 1,
        levels: Levels | None = None,
    ) -> None:
        """A model of the given parts; `glimpse_size` is height and width, `where` what the *where* pathway sees.

        With several `scales` a glimpse comes with wider and coarser ones around it; the glimpse network sees them all.
        With `levels` the networks see normalised pictures; those that come in, and glimpses that go out, are in [0, 1].
        """
        super().__init__()
        self.levels = levels
        self.context, self.glimpse, self.policy, self.memory = context, glimpse, policy, memory
        self.heads = nn.ModuleDict(heads)
        self.compares = tuple(name for name, head in heads.items() if head.compares)
        self.glimpses, self.glimpse_size, self.where_from, self.scales = glimpses, glimpse_size, where, scales
        self.features = nn.Linear(glimpse.features, hidden)
        self.dropout = Dropout(dropout)
        self.what = nn.Linear(hidden, memory.size)
        self.where = nn.Linear(hidden if where == "emission" else 6, memory.size)
        if taken := [name for name, _ in self.named_children() if name in heads]:
            raise UsageError(f"a head cannot be called {taken[0]!r}, as a part of the model is; choose another name")
        self.register_state_dict_post_hook(_heads_to_top)
        self.register_load_state_dict_pre_hook(_heads_from_top)

    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        glimpses: int | None = None,
        generator: Generator | None = None,
    ) -> Episode:
        """An episode of `glimpses` looks at each image (as many as the model was built for if not given)."""
        return self.episode(self.gaze(images, glimpses), generator)

    def episode(self, gaze: Gaze, generator: Generator | None = None) -> Episode:
        """All that a gaze has seen so far, what is remembered of it, and the answers."""
        return Episode(
            **vars(self.remember(gaze, generator)),
            images=gaze.images,
            context=gaze.context,
            poses=torch.stack([glance.pose for glance in gaze.glances], 1),
            glimpses=torch.stack([glance.glimpse for glance in gaze.glances], 1),
        )

    def start(self, images: Float[Tensor, "batch channel height width"]) -> Gaze:
        """The gaze before the first glimpse: context seen, nothing looked at.

        What the model cannot take is a `DataError`. A model that compares is given two pictures, one above the other.
        """
        if not self.compares:
            return self._start(images)
        first, second = halves(images)
        return replace(self._start(first), later=second)

    def _start(self, images: Float[Tensor, "batch channel height width"], picture: int = 0) -> Gaze:
        check_images(images, self.context.takes, self.context)
        context = self.context(self.levels.normalised(images) if self.levels else images)
        return Gaze(images, context, self.policy.start(context, picture))

    def look(self, gaze: Gaze) -> Gaze:
        """The gaze after one more glimpse: gather the last one, choose a pose, cut, encode."""
        return self._glanced(gaze, 1)

    def _glanced(self, gaze: Gaze, count: int) -> Gaze:
        """The gaze after `count` more glimpses; no pose waits for a code, so all codes are made in one batch."""
        policy: Any = gaze.policy
        features = gaze.glances[-1].features if gaze.glances else None
        looks, emissions = [], []
        for number in range(len(gaze.glances), len(gaze.glances) + count):
            if features is not None:
                policy = self.policy.gather(policy, features)
            policy, emission, pose = self.policy.emit(policy)
            inverse = self.policy.pasted(policy, emission, pose)
            glimpse, features = self._seen(gaze.images, pose, number)
            looks.append((pose, inverse, glimpse, features))
            emissions.append(emission)
        poses, inverses, glimpses, encoded = zip(*looks, strict=True)
        codes = self._codes(torch.cat(encoded), torch.cat(emissions), torch.cat(poses)).unflatten(0, (count, -1))
        parts = zip(poses, inverses, glimpses, encoded, codes.unbind(), strict=True)
        glances = (Glance(*part) for part in parts)
        return replace(gaze, policy=policy, glances=(*gaze.glances, *glances))

    def _seen(
        self,
        images: Float[Tensor, "batch channel height width"],
        pose: Float[Tensor, "poses 2 3"],
        number: int,
        each: int = 1,
    ) -> tuple[Tensor, Tensor]:
        """What glimpse `number` sees at these places, and its features; `each` places in a row are of one image."""
        normalised = self.levels.normalised(images) if self.levels else images
        stack = cut_scales(normalised, pose, *self.glimpse_size, self.scales, each)
        features = F.relu(self.dropout(self.features(self.glimpse(stack, number))))
        glimpse = stack if self.scales == 1 else stack[:, : images.shape[1]]
        return self.levels.restored(glimpse) if self.levels else glimpse, features

    def _codes(
        self,
        features: Float[Tensor, "rows hidden"],
        emission: Float[Tensor, "rows hidden"],
        pose: Float[Tensor, "rows 2 3"],
    ) -> Float[Tensor, "rows memory"]:
        """The code that is made of each glimpse: ReLU6(what ⊙ where)."""
        where = self.where(emission if self.where_from == "emission" else pose.flatten(1))
        return F.relu6(self.what(features) * where)

    def _scanned(self, gaze: Gaze, count: int) -> Gaze:
        """The gaze after `count` glimpses at places that are given: none waits for another, so all are one batch."""
        policy: Any = gaze.policy
        looks = []
        for _ in range(count):
            policy, emission, pose = self.policy.emit(policy)
            looks.append((emission, pose, self.policy.pasted(policy, emission, pose)))
        emissions, poses = (torch.stack([look[part] for look in looks], 1).flatten(0, 1) for part in (0, 1))
        glimpses, features = self._seen(gaze.images, poses, 0, count)
        seen = (glimpses, features, self._codes(features, emissions, poses))
        parts = zip(*(part.unflatten(0, (-1, count)).unbind(1) for part in seen), strict=True)
        glances = tuple(Glance(pose, inverse, *part) for (_, pose, inverse), part in zip(looks, parts, strict=True))
        return replace(gaze, policy=policy, glances=glances)

    def unroll(self, images: Float[Tensor, "batch channel height width"]) -> Iterator[Gaze]:
        """Each gaze in turn, without end: stop when you have seen enough."""
        gaze = self.start(images)
        while True:
            gaze = self.look(gaze)
            yield gaze

    def gaze(self, images: Float[Tensor, "batch channel height width"], glimpses: int | None = None) -> Gaze:
        """The gaze after `glimpses` glimpses of each image; nothing is written yet."""
        count = self.glimpses if glimpses is None else glimpses
        if count < 1:
            raise UsageError(f"a gaze of {count} glimpses sees nothing; give at least 1")
        return self._looked(self.start(images), count)

    def _looked(self, gaze: Gaze, count: int) -> Gaze:
        if isinstance(self.policy, Scan):
            return self._scanned(gaze, count)
        return self._glanced(gaze, count)

    def remember(self, gaze: Gaze, generator: Generator | None = None) -> Remembered:
        """The memory of what was seen so far, and the answer of every head at this point of the look."""
        again = self.again(gaze)
        if again is None:
            return self.ask(gaze.context, gaze.codes, gaze.scene, generator=generator)
        scene, queries = replace(gaze.scene, again=again.scene.poses), dict.fromkeys(self.compares, again.codes)
        return self.ask(gaze.context, gaze.codes, scene, queries=queries, generator=generator)

    def again(self, gaze: Gaze) -> Gaze | None:
        """The gaze at the second picture, which knows nothing of the first; none in a model that does not compare."""
        if gaze.later is None:
            return None
        return self._looked(self._start(gaze.later, 1), self.glimpses)

    def ask(
        self,
        context: Float[Tensor, "batch features"],
        codes: Float[Tensor, "batch glimpse memory"],
        scene: Scene,
        *,
        heads: tuple[str, ...] = (),
        queries: Mapping[str, Float[Tensor, "batch *question memory"]] | None = None,
        generator: Generator | None = None,
    ) -> Remembered:
        """Write these codes into an empty memory and put the questions of `heads` to it (of all, if none are named).

        A head asks with its own query of the context, unless `queries` has another for it.
        """
        asking = {name: self.head(name) for name in heads or tuple(self.heads)}
        given = queries or {}
        asked = {name: given[name] if name in given else head.query(context) for name, head in asking.items()}
        rows = [query if query.dim() == 3 else query.unsqueeze(1) for query in asked.values()]
        codes = single(codes)
        with exact(codes):
            put = self.memory if any(head.reads == "intermediate" for head in asking.values()) else self.memory.at_end
            found = put(codes, single(torch.cat(rows, 1)))
        parts = dict(zip(asked, found.recalls.split([part.shape[1] for part in rows], 1), strict=True))
        recalls = {name: part if asked[name].dim() == 3 else part[:, 0] for name, part in parts.items()}
        answers = {name: head(asked[name], recalls[name], scene, generator) for name, head in asking.items()}
        return Remembered(answers, codes, found.state)

    def head(self, name: str) -> Head:
        """The head of this name; a model without it is a `UsageError`."""
        if name not in self.heads:
            raise UsageError(f"this model has no head {name!r}; it has {', '.join(self.heads)}")
        head = self.heads[name]
        assert isinstance(head, Head)
        return head


def _heads_to_top(module: nn.Module, state: dict[str, Tensor], prefix: str, _: Any) -> None:
    """In files a head stands at the top (`draw.mean.weight`), as in all that were written before there was a dict."""
    for name in [name for name in state if name.startswith(f"{prefix}heads.")]:
        state[prefix + name.removeprefix(f"{prefix}heads.")] = state.pop(name)


def _heads_from_top(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    """Put what `_heads_to_top` moved back to its place."""
    assert isinstance(module, Stawm)
    for head in module.heads:
        for name in [name for name in state if name.startswith(f"{prefix}{head}.")]:
            state[f"{prefix}heads.{name.removeprefix(prefix)}"] = state.pop(name)
