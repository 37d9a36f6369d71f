"""A trained model that looks at pictures as people give them."""

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.data.data_set import learnt_from
from stawm.data.prepare.given import Given
from stawm.data.prepare.prepared import Prepared
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import ImageConfig
from stawm.look.answer import Glimpse, Image, Look, outlines_of
from stawm.look.engine import Engine, TorchEngine
from stawm.look.memory_view import MemoryView, memory_views
from stawm.look.picture import picture_of, pictures_of
from stawm.look.views import View, views_of
from stawm.measure.stopping import check_until, sure
from stawm.model.heads.classify import Classified
from stawm.model.heads.question import QuestionHead
from stawm.model.stawm import Episode, Stawm
from stawm.show.sheet import colour_of
from stawm.store.checkpoint import not_finite
from stawm.store.weights import Trained, packaged
from stawm.trust.familiar import Familiar
from stawm.trust.trust import Trust
from stawm.vision.glimpse import outside

PREFERRED = ("mnist-sketchpad", "mnist-5k-sketchpad", "mnist-classify-8-fast", "mnist-classify-8", "mnist-5k-classify")
"""The weights that are looked with if nothing else is asked for: the first of these that is there."""


class Looker:
    """A trained model that takes glimpses, and what its pictures must look like."""

    def __init__(self, trained: Trained, name: str, engine: Engine | None = None) -> None:
        """A looker that calls its model `name` and runs it by `engine` (torch, if none is given).

        A model without glimpses is a `UsageError`.
        """
        experiment = trained.experiment
        if not isinstance(trained.model, Stawm):
            raise UsageError(f"{name} ({experiment.name}) has no memory to look with; give a model of kind stawm")
        self.name = name
        self.model: Stawm = trained.model.eval()
        self.engine: Engine = engine or TorchEngine(self.model)
        self.experiment = experiment
        self.image: ImageConfig = experiment.model.image
        self.glimpses = experiment.model.glimpses
        self.classifies, self.draws = "classify" in self.model.heads, "draw" in self.model.heads
        self.data = learnt_from(experiment.data.name)
        self.asked = [head for head in self.model.heads.values() if isinstance(head, QuestionHead)]
        self.classes = trained.classes or self._named()
        self.trust = trained.trust

    def _named(self) -> tuple[str, ...]:
        """The names of the classes that it tells apart, or is asked about: those of its data set, else numbers."""
        count = self.experiment.model.classes or max((head.config.classes for head in self.asked), default=0)
        return self.data.classes if len(self.data.classes) == count else tuple(map(str, range(count)))

    def prepare(self, given: Given) -> Prepared:
        """The picture as this model takes it: made like those of its data set; cheap, and safe in threads."""
        return self.data.prepare(given, self.image.shape)

    @torch.inference_mode()
    def look(
        self, prepared: Sequence[Prepared], names: Sequence[str], *, memory: bool = False, until: float | None = None
    ) -> list[Look]:
        """One look at each picture, all of them in one batch; with `memory`, also what the memory held.

        With `until`, a picture is looked at until a class is believed so much, and no further: one picture at a time,
        since each ends when it may. How familiar it is, is told only of whole looks, for which that was fitted.
        """
        if not prepared:
            return []
        if until is None:
            episode = self.engine(torch.stack([one.pixels for one in prepared]).float() / 255)
            return self._told(episode, prepared, names, memory)
        ends = zip(self._stopping(check_until(until), prepared), prepared, names, strict=True)
        return [self._told(episode, [one], [name], memory)[0] for episode, one, name in ends]

    def _stopping(self, until: float, prepared: Sequence[Prepared]) -> Iterator[Episode]:
        """The episode of each picture in turn, up to the glimpse after which it is sure, or the model's last."""
        if not self.classifies:
            raise UsageError(f"{self.name} does not classify, so it is never sure; leave out --until")
        if not isinstance(self.engine, TorchEngine):
            raise UsageError(
                f"the engine {self.engine.name} takes all glimpses at once; stop early with --engine torch"
            )
        device = next(self.model.parameters()).device
        for one in prepared:
            for gaze in self.model.unroll(one.pixels[None].to(device).float() / 255):
                episode = self.model.episode(gaze)
                logits = self.trust.believed(episode.logits) if self.trust else episode.logits
                if len(gaze.glances) >= self.glimpses or bool(sure(logits[0, -1], until)):
                    yield episode
                    break

    def _told(self, episode: Episode, prepared: Sequence[Prepared], names: Sequence[str], memory: bool) -> list[Look]:
        """What an episode over these pictures was, a look at each."""
        looked = bool(episode.poses.isfinite().all())
        for name, answer in episode.answers.items():
            parts = [part for part in vars(answer).values() if isinstance(part, Tensor)] if is_dataclass(answer) else []
            if not (looked and all(part.isfinite().all() for part in parts)):
                raise not_finite(f"the answer of the head {name}", self.model)
        memories = (memory_views(self.model.memory, episode.codes) if memory else None) or [None] * len(prepared)
        views = views_of(self.model, _believed(episode, self.trust), self.classes)
        taken = episode.poses.shape[1]
        if taken < self.glimpses:
            stop = f"sure after {taken} of {self.glimpses} glimpses"
            prepared = [replace(one, notes=(*one.notes, stop)) for one in prepared]
        familiar = self.trust.familiar(episode) if self.trust and taken == self.glimpses else [None] * len(prepared)
        seen = glimpses_of(episode.images, episode.poses, episode.glimpses)
        parts = zip(prepared, names, seen, views, memories, familiar, strict=True)
        return [self._look(*part) for part in parts]

    def _look(
        self,
        prepared: Prepared,
        name: str,
        seen: list[dict[str, Any]],
        views: dict[str, View],
        held: MemoryView | None,
        familiar: Familiar | None,
    ) -> Look:
        """One look, put together from what was seen and what each head adds to that; nothing, if nothing is drawn."""
        views = {} if prepared.found == 0 else views
        found: dict[str, Any] = {"prediction": None, "confidence": None}
        for view in views.values():
            found |= view.look
            for glimpse, more in zip(seen, view.glimpses or [{}] * len(seen), strict=True):
                glimpse |= more
        told = {
            "familiar": familiar if prepared.found != 0 else None,
            "memory": held,
            "answers": {head: view.answer for head, view in views.items() if view.answer is not None},
        }
        return Look(**self.seen(prepared, name, seen) | told | found)

    def seen(self, prepared: Prepared, name: str, glimpses: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What is told of any look, whatever is asked: fields of `Look` and of `Seen`."""
        return {
            "name": name,
            "model": self.name,
            "inverted": prepared.inverted,
            "notes": prepared.notes,
            "found": prepared.found,
            "classes": self.classes,
            "image": Image(self.image.width, self.image.height, picture_of(prepared.pixels)),
            "given": prepared.placed,
            "glimpses": tuple(Glimpse(**glimpse) for glimpse in glimpses),
        }


def _believed(episode: Episode, trust: Trust | None) -> Episode:
    """The episode with calibrated logits in place of the classifier's own."""
    answer = episode.answers.get("classify")
    if trust is None or not isinstance(answer, Classified):
        return episode
    return replace(
        episode, answers={**episode.answers, "classify": replace(answer, logits=trust.believed(answer.logits))}
    )


def glimpses_of(
    images: Float[Tensor, "batch channel height width"],
    poses: Float[Tensor, "batch glimpse 2 3"],
    glimpses: Float[Tensor, "batch glimpse channel glimpse_height glimpse_width"],
) -> list[list[dict[str, Any]]]:
    """What was seen by each glimpse of each picture, whatever the heads make of it: fields of `Glimpse`."""
    count = poses.shape[1]
    height, width = images.shape[-2:]
    outlines, shares = outlines_of(poses.cpu(), height, width), outside(poses).tolist()
    colours = _colours(count)
    return [
        [
            {"number": number, "colour": colour, "outline": outline, "outside": share, "glimpse": glimpse}
            for number, (colour, outline, share, glimpse) in enumerate(zip(colours, *row, strict=True), 1)
        ]
        for row in zip(outlines, shares, pictures_of(glimpses), strict=True)
    ]


@cache
def _colours(count: int) -> tuple[str, ...]:
    """The colour of each of so many glimpses, as #rrggbb."""
    return tuple("#{:02x}{:02x}{:02x}".format(*colour_of(place, count)) for place in range(count))


def shipped() -> tuple[str, ...]:
    """The names of the weights that come with the package, the preferred ones first."""
    found = packaged()
    return (*(name for name in PREFERRED if name in found), *(name for name in found if name not in PREFERRED))


def preferred() -> str:
    """The name of the weights to look with if nobody says which."""
    names = shipped()
    if not names:
        raise CheckpointError("no weights come with this package; name a run or a folder of weights with --weights")
    return names[0]
