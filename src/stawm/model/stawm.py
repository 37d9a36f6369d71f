"""The Short Term Attentive Working Memory: a few glimpses of an image, each written into a Hebb-Rosenblatt memory."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.memory.hebb_rosenblatt import HebbRosenblatt, State
from stawm.model.heads import ClassificationHead, Classified, DrawingHead, Drawn
from stawm.model.policy import Policy, PolicyState
from stawm.vision.encoders import ConvEncoder
from stawm.vision.glimpse import cut
from stawm.vision.mobilenet import MobileNetV2

Encoder = ConvEncoder | MobileNetV2
Where = Literal["emission", "pose"]


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
    policy: PolicyState
    memory: State
    glances: tuple[Glance, ...]


@dataclass(frozen=True)
class Episode:
    """Everything that happened over a batch of images; `classified` and `drawn` where the model has that head."""

    images: Float[Tensor, "batch channel height width"]
    context: Float[Tensor, "batch features"]
    poses: Float[Tensor, "batch glimpse 2 3"]
    glimpses: Float[Tensor, "batch glimpse channel glimpse_height glimpse_width"]
    codes: Float[Tensor, "batch glimpse memory"]
    state: State
    """The terminal memory."""
    classified: Classified | None = None
    drawn: Drawn | None = None

    @property
    def logits(self) -> Float[Tensor, "batch glimpse classes"]:
        """The classifier's answer after each glimpse; the last is the model's."""
        if self.classified is None:
            raise ValueError("this episode was not classified; look at its drawing")
        return self.classified.logits


class Stawm(nn.Module):
    """A model that looks, remembers and answers: what is it (classify), what did I see (draw), or both."""

    def __init__(
        self,
        *,
        context: Encoder,
        glimpse: Encoder,
        policy: Policy,
        memory: HebbRosenblatt,
        classify: ClassificationHead | None = None,
        draw: DrawingHead | None = None,
        hidden: int,
        glimpses: int,
        glimpse_size: tuple[int, int],
        where: Where = "emission",
        dropout: float = 0.5,
    ) -> None:
        """A model of the given parts; `glimpse_size` is height and width, `where` what the *where* pathway sees."""
        super().__init__()
        self.context, self.glimpse, self.policy, self.memory = context, glimpse, policy, memory
        self.classify, self.draw = classify, draw
        self.glimpses, self.glimpse_size, self.where_from = glimpses, glimpse_size, where
        self.features = nn.Linear(glimpse.features, hidden)
        self.dropout = nn.Dropout(dropout)
        self.what = nn.Linear(hidden, memory.size)
        self.where = nn.Linear(hidden if where == "emission" else 6, memory.size)

    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        glimpses: int | None = None,
        generator: Generator | None = None,
    ) -> Episode:
        """An episode of `glimpses` looks at each image (as many as the model was built for if not given)."""
        context = self.context(images)
        policy, glances = self.policy.start(context), []
        for _ in range(self.glimpses if glimpses is None else glimpses):
            policy, glance = self._glance(images, policy, glances)
            glances.append(glance)
        seen = Episode(
            images=images,
            context=context,
            poses=torch.stack([glance.pose for glance in glances], 1),
            glimpses=torch.stack([glance.glimpse for glance in glances], 1),
            codes=torch.stack([glance.code for glance in glances], 1),
            state=self.memory.start(images.shape[0], device=images.device, dtype=images.dtype),
        )
        inverses = [glance.inverse for glance in glances if glance.inverse is not None]
        return self._answered(seen, torch.stack(inverses, 1) if inverses else None, generator)

    def _answered(self, seen: Episode, inverses: Tensor | None, generator: Generator | None) -> Episode:
        """The episode with its codes written and every head's question put to the same memory."""
        heads = [head for head in (self.classify, self.draw) if head is not None]
        queries = [head.query(seen.context) for head in heads]
        answer = self.memory(seen.codes, torch.stack(queries, 1))
        asked = list(zip(queries, answer.recalls.unbind(1), strict=True))
        classified = drawn = None
        if self.classify is not None:
            query, recalls = asked.pop(0)
            classified = Classified(query, recalls, self.classify(recalls))
        if self.draw is not None and inverses is not None:
            query, recalls = asked.pop(0)
            height, width = seen.images.shape[-2:]
            drawn = self.draw(query, recalls, inverses, height, width, generator)
        return replace(seen, state=answer.state, classified=classified, drawn=drawn)

    def start(self, images: Float[Tensor, "batch channel height width"]) -> Gaze:
        """The gaze before the first glimpse: context seen, memory empty."""
        context = self.context(images)
        memory = self.memory.start(images.shape[0], device=images.device, dtype=images.dtype)
        return Gaze(images, context, self.policy.start(context), memory, ())

    def look(self, gaze: Gaze) -> Gaze:
        """The gaze after one more glimpse, which is written into the memory."""
        policy, glance = self._glance(gaze.images, gaze.policy, gaze.glances)
        memory = self.memory.write(gaze.memory, glance.code)
        return replace(gaze, policy=policy, memory=memory, glances=(*gaze.glances, glance))

    def unroll(self, images: Float[Tensor, "batch channel height width"]) -> Iterator[Gaze]:
        """Each gaze in turn, without end: stop when you have seen enough."""
        gaze = self.start(images)
        while True:
            gaze = self.look(gaze)
            yield gaze

    def answer(self, gaze: Gaze) -> Float[Tensor, "batch classes"]:
        """The logits that the memory gives at this point of the look."""
        if self.classify is None:
            raise ValueError("this model draws and does not classify; build one with classes")
        return self.classify(self.memory.recall(gaze.memory, self.classify.query(gaze.context)))

    def _glance(
        self, images: Tensor, policy: PolicyState, before: tuple[Glance, ...] | list[Glance]
    ) -> tuple[PolicyState, Glance]:
        """The next glimpse: gather the one before, choose a pose, cut, encode, and code = ReLU6(what ⊙ where)."""
        if before:
            policy = self.policy.gather(policy, before[-1].features)
        policy, emission, pose = self.policy.emit(policy)
        inverse = self.policy.inverse(emission) if self.policy.inverse is not None else None
        glimpse = cut(images, pose, *self.glimpse_size)
        features = F.relu(self.dropout(self.features(self.glimpse(glimpse, len(before)))))
        where = self.where(emission if self.where_from == "emission" else pose.flatten(1))
        return policy, Glance(pose, inverse, glimpse, features, F.relu6(self.what(features) * where))
