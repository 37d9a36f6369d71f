"""A trained model that looks at a scene once, and is asked about it afterwards."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from stawm.data.prepare.given import Given
from stawm.data.prepare.prepared import Prepared
from stawm.data.prepare.scene import in_cells
from stawm.errors import UsageError
from stawm.look.asked import SURE, CellRecall, ClassRecall, Kept, Recollection, Seen
from stawm.look.looker import Looker, glimpses_of
from stawm.look.picture import picture_of
from stawm.model.heads.draw import DrawingHead, Drawn
from stawm.model.heads.head import Scene
from stawm.store.checkpoint import not_finite

QUESTIONS = ("identify", "locate", "detect")
SCENES_MODEL = "scenes-4-ask"
"""The weights that are asked if nothing else is said."""


class Rememberer:
    """A looker whose model has question heads: `remember` looks, `ask` answers from what was kept and nothing else."""

    def __init__(self, looker: Looker) -> None:
        """A rememberer; a model that cannot be asked about places is a `UsageError`."""
        self.looker, self.model, self.name = looker, looker.model, looker.name
        self.questions = tuple(name for name in QUESTIONS if name in self.model.heads)
        grids = {(head.config.rows, head.config.columns) for head in looker.asked}
        if not self.questions or len(grids) != 1:
            about = "is asked about several grids" if self.questions else "cannot be asked what was where"
            heads = ", ".join(self.model.heads)
            raise UsageError(f"{self.name} {about} (its heads: {heads}); give a model of scenes, as {SCENES_MODEL}")
        ((self.rows, self.columns),) = grids
        self.classes = looker.classes
        artist = dict(self.model.heads.items()).get("draw")
        self.artist = artist if isinstance(artist, DrawingHead) else None

    @staticmethod
    def of(looker: Looker) -> "Rememberer | None":
        """The rememberer over this looker; none if its model cannot be asked."""
        try:
            return Rememberer(looker)
        except UsageError:
            return None

    @property
    def cells(self) -> int:
        """Places that can be asked about."""
        return self.rows * self.columns

    def prepare(self, given: Given | Sequence[Given | None]) -> Prepared:
        """A scene as this model takes it: of one picture, or of a digit for each cell; safe in threads."""
        if isinstance(given, Given):
            return self.looker.prepare(given)
        return in_cells(given, self.rows, self.columns, self.looker.image.shape)

    @torch.inference_mode()
    def remember(self, prepared: Sequence[Prepared], names: Sequence[str]) -> list[tuple[Seen, Kept | None]]:
        """One look at each scene, all in one batch, and what is kept of it: nothing where nothing is drawn.

        No head is asked here.
        """
        pixels = torch.stack([one.pixels for one in prepared]).to(self._weight.device).float() / 255
        gaze = self.model.gaze(pixels)
        scene = gaze.scene
        assert scene.poses is not None
        query = None if self.artist is None else self.artist.query(gaze.context)
        inverses = None if self.artist is None else scene.inverses
        if not all(part.isfinite().all() for part in (scene.poses, gaze.codes, query, inverses) if part is not None):
            raise not_finite("what is remembered", self.model)
        patches = torch.stack([glance.glimpse for glance in gaze.glances], 1)
        rows = zip(prepared, names, glimpses_of(pixels, scene.poses, patches), strict=True)
        kept = [
            None if one.found == 0 else Kept(codes, _row(query, row), _row(inverses, row))
            for row, (one, codes) in enumerate(zip(prepared, gaze.codes.cpu().clone(), strict=True))
        ]
        seen = [Seen(**self.looker.seen(*row), rows=self.rows, columns=self.columns) for row in rows]
        return list(zip(seen, kept, strict=True))

    @torch.inference_mode()
    def ask(self, kept: Sequence[Kept]) -> list[Recollection]:
        """Every answer that each of these memories gives, all in one batch.

        The codes are written into an empty memory and all questions put to it. The context that is handed on has no
        features: no question can be answered from the picture.
        """
        codes = self._all([one.codes for one in kept])
        given: dict[str, Tensor] = {}
        inverses = None
        if kept[0].query is not None and kept[0].inverses is not None:
            given = {"draw": self._all([one.query for one in kept])}
            inverses = self._all([one.inverses for one in kept])
        image = self.looker.image
        answers = self.model.ask(
            codes.new_zeros(len(kept), 0),
            codes,
            Scene(image.height, image.width, inverses),
            heads=(*self.questions, *given),
            queries=given,
        ).answers
        beliefs = {name: answers[name].beliefs.cpu() for name in self.questions}
        drawn = answers.get("draw")
        canvas = drawn.canvas.cpu() if isinstance(drawn, Drawn) else None
        if not all(part.isfinite().all() for part in (*beliefs.values(), canvas) if part is not None):
            raise not_finite("an answer", self.model)
        told = [{name: belief[row] for name, belief in beliefs.items()} for row in range(len(kept))]
        canvases = [None] * len(kept) if canvas is None else list(canvas)
        return [self._recalled(*one) for one in zip(told, canvases, strict=True)]

    def check_class(self, name: str) -> str:
        """The name of a class; an unknown one is a `UsageError`."""
        if name not in self.classes:
            raise UsageError(f"{name!r} is no class of {self.name}; it knows {', '.join(self.classes)}")
        if "locate" not in self.questions:
            raise UsageError(f"{self.name} is not asked where a class was; ask about cells")
        return name

    def check_cell(self, number: int) -> int:
        """The number of a cell; one that is not there is a `UsageError`."""
        if not 1 <= number <= self.cells:
            raise UsageError(
                f"there is no cell {number}; {self.name} has {self.rows} × {self.columns}, counted from 1, row by row"
            )
        return number

    @property
    def _weight(self) -> Tensor:
        return next(self.model.parameters())

    def _all(self, parts: Sequence[Tensor | None]) -> Tensor:
        weight = self._weight
        return torch.stack([part for part in parts if part is not None]).to(weight.device, weight.dtype)

    def _recalled(
        self, beliefs: dict[str, Tensor], canvas: Float[Tensor, "channel height width"] | None
    ) -> Recollection:
        levels = None if canvas is None else (canvas.float().clamp(0, 1) * 255).round().to(torch.uint8)
        what, where = (beliefs[name].tolist() if name in beliefs else None for name in ("identify", "locate"))
        there = beliefs["detect"][:, 1].tolist() if "detect" in beliefs else [None] * self.cells
        held = None if what is None else _held(what, there)
        return Recollection(
            tuple(self._cell(place, what and what[place], there[place], levels) for place in range(self.cells)),
            tuple(self._class(place, belief, held) for place, belief in enumerate(where or [])),
            None if levels is None else picture_of(levels),
        )

    def _cell(self, place: int, belief: list[float] | None, there: float | None, levels: Tensor | None) -> CellRecall:
        told = belief is not None and (there is None or there >= SURE)
        part = None
        if levels is not None:
            down, across = levels.shape[1] / self.rows, levels.shape[2] / self.columns
            row, column = divmod(place, self.columns)
            part = levels[
                :, round(row * down) : round((row + 1) * down), round(column * across) : round((column + 1) * across)
            ]
        return CellRecall(
            number=place + 1,
            there=there,
            prediction=self.classes[belief.index(max(belief))] if belief and told else None,
            confidence=max(belief) if belief and told else None,
            belief=None if belief is None else tuple(belief),
            drawing=None if part is None else picture_of(part.contiguous()),
        )

    def _class(self, place: int, belief: list[float], held: list[float] | None) -> ClassRecall:
        sure = max(belief)
        remembered = None if held is None else held[place] >= SURE
        return ClassRecall(self.classes[place], remembered, belief.index(sure) + 1, sure, tuple(belief))


def only(recalled: Recollection, at: int | None, where: str | None) -> Recollection:
    """The answers about one cell, one class or both; all, if none is named. The whole redrawing goes with all."""
    if at is None and where is None:
        return recalled
    cells = tuple(one for one in recalled.cells if one.number == at)
    return Recollection(cells, tuple(one for one in recalled.classes if one.name == where), None)


def _row(batch: Tensor | None, row: int) -> Tensor | None:
    return None if batch is None else batch[row].cpu().clone()


def _held(what: list[list[float]], there: list[Any]) -> list[float]:
    """For each class, the most that any cell is believed to have held it."""
    shares = [1.0 if share is None else share for share in there]
    return [
        max(share * belief[place] for share, belief in zip(shares, what, strict=True)) for place in range(len(what[0]))
    ]
