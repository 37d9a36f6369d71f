"""A trained model that looks at pictures as people give them."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from stawm.data.data_set import learnt_from
from stawm.data.prepare.given import Given
from stawm.data.prepare.prepared import Prepared
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import ImageConfig
from stawm.look.memory_view import memory_views
from stawm.look.seen import Corners, Seen, SeenGlimpse
from stawm.model.heads.draw import DrawingHead, Drawn
from stawm.model.stawm import Episode, Stawm
from stawm.show.picture import corners_of
from stawm.store.weights import Trained, packaged
from stawm.vision.canvas import AdditionCanvas, Canvas
from stawm.vision.glimpse import inverse, outside

PREFERRED = ("mnist-sketchpad", "mnist-5k-sketchpad", "mnist-classify-8-fast", "mnist-classify-8", "mnist-5k-classify")
"""The weights that are looked with if nothing else is asked for: the first of these that is there."""


class Looker:
    """A trained model that takes glimpses, and what its pictures must look like."""

    def __init__(self, trained: Trained, name: str) -> None:
        """A looker that calls its model `name`; a model without glimpses is a `UsageError`."""
        experiment = trained.experiment
        if not isinstance(trained.model, Stawm):
            raise UsageError(f"{name} ({experiment.name}) takes no glimpses, so it cannot look; give another model")
        self.name = name
        self.model: Stawm = trained.model.eval()
        self.experiment = experiment
        self.image: ImageConfig = experiment.model.image
        self.glimpses = experiment.model.glimpses
        self.classifies = "classify" in self.model.heads
        self.draws = "draw" in self.model.heads
        self.classes = trained.classes or tuple(map(str, range(experiment.model.classes)))
        self.data = learnt_from(experiment.data.name)

    def prepare(self, given: Given) -> Prepared:
        """The picture as this model takes it: made like those of its data set; cheap, and safe in threads."""
        return self.data.prepare(given, (self.image.channels, self.image.height, self.image.width))

    @torch.inference_mode()
    def look(self, prepared: Sequence[Prepared], names: Sequence[str], *, memory: bool = False) -> list[Seen]:
        """One look at each picture, all of them in one batch; with `memory`, also what the memory held."""
        if not prepared:
            return []
        device = next(self.model.parameters()).device
        pixels = torch.stack([one.pixels for one in prepared])
        episode = self.model(pixels.to(device).float() / 255)
        views = (memory_views(self.model.memory, episode.codes) if memory else None) or [None] * len(prepared)
        looks = zip(prepared, names, _as_pictures(pixels), self._glimpses(episode), views, strict=True)
        return [
            Seen(name, self.name, one.inverted, one.notes, self.classes, image, glimpses, view, one.placed)
            for one, name, image, glimpses, view in looks
        ]

    def _glimpses(self, episode: Episode) -> list[tuple[SeenGlimpse, ...]]:
        """Each picture's glimpses."""
        batch, count = episode.poses.shape[:2]
        size = episode.images.shape[-2], episode.images.shape[-1]
        nothing = [[None] * count] * batch
        beliefs = nothing if "classify" not in episode.answers else episode.logits.float().softmax(-1).tolist()
        sketches, places, canvases = nothing, nothing, nothing
        drawn, head = episode.answers.get("draw"), self.model.heads["draw"] if self.draws else None
        if isinstance(drawn, Drawn) and isinstance(head, DrawingHead):
            sketches = _levels(sketches_alone(drawn.sketches, head.canvas))
            places = _outlines(inverse(drawn.poses.double().cpu()), *size)
            canvases = _levels(drawn.painting.canvases)
        parts = (
            _outlines(episode.poses.cpu(), *size),
            outside(episode.poses).tolist(),
            _levels(episode.glimpses),
            [[None if belief is None else tuple(belief) for belief in row] for row in beliefs],
            sketches,
            places,
            canvases,
        )
        return [tuple(SeenGlimpse(*part) for part in zip(*row, strict=True)) for row in zip(*parts, strict=True)]


def sketches_alone(
    sketches: Float[Tensor, "batch glimpse sketch_channel glimpse_height glimpse_width"], canvas: Canvas
) -> Float[Tensor, "batch glimpse channel glimpse_height glimpse_width"]:
    """Each sketch as a picture of its own: S(U), mid grey where it adds nothing, or colours times alpha over black.

    On an empty canvas, S(C_0 + U), one sketch of many that add up would hardly show.
    """
    if isinstance(canvas, AdditionCanvas):
        return torch.sigmoid(sketches)
    return torch.sigmoid(sketches[:, :, :-1]) * torch.sigmoid(sketches[:, :, -1:])


def _outlines(poses: Float[Tensor, "batch glimpse 2 3"], height: int, width: int) -> list[list[Corners | None]]:
    """The corners of each glimpse, or of a sketch by its true pose; none for a pose that is not finite."""
    corners = corners_of(poses, height, width).tolist()
    finite = poses.isfinite().all(-1).all(-1).tolist()
    return [
        [tuple((x, y) for x, y in four) if whole else None for four, whole in zip(row, known, strict=True)]
        for row, known in zip(corners, finite, strict=True)
    ]


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


def _levels(images: Float[Tensor, "batch glimpse channel height width"]) -> np.ndarray:
    """Images in [0, 1] as pictures."""
    return _as_pictures((images.float().clamp(0, 1) * 255).round().to(torch.uint8))


def _as_pictures(levels: UInt8[Tensor, "*many channel height width"]) -> np.ndarray:
    """Grey as [… height width], colour as [… height width 3]."""
    return levels.squeeze(-3).cpu().numpy() if levels.shape[-3] == 1 else levels.movedim(-3, -1).cpu().numpy()
