"""`stawm.look` and `stawm.ask`: pictures as people have them in Python, shown to a trained model."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import overload

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from stawm.data.picture_file import turned
from stawm.data.pictures import eight_bits
from stawm.data.prepare.given import Given, open_given
from stawm.errors import DataError
from stawm.experiments.build import Model
from stawm.look.answer import Look
from stawm.look.asked import Asked, CellRecall
from stawm.look.looker import Looker, preferred, shipped
from stawm.look.rememberer import SCENES_MODEL, Rememberer
from stawm.store.weights import Trained, load_trained, trained_of
from stawm.vision.images import check_levels

BATCH = 64

Shown = str | Path | bytes | Image.Image | np.ndarray | Tensor
"""A file by its path or its bytes; or pixels: of Pillow, as [height width] or [height width 3] of numpy's uint8, or as
[height width] or [channel height width] of torch, uint8 or in [0, 1]."""
Pictures = Shown | Sequence[Shown]
Known = str | Path | Model | Trained
"""Weights by name or path, or a model that `stawm.load` gave."""
Cells = Sequence[Shown | None]
"""A picture of a single digit for each cell of a scene, row by row; None for an empty cell."""


@overload
def look(pictures: Shown, model: Known | None = None, memory: bool = False, *, until: float | None = None) -> Look: ...


@overload
def look(
    pictures: Sequence[Shown], model: Known | None = None, memory: bool = False, *, until: float | None = None
) -> list[Look]: ...


def look(
    pictures: Pictures, model: Known | None = None, memory: bool = False, *, until: float | None = None
) -> Look | list[Look]:
    """The look of a trained model at a picture, or at each of a list; with `memory`, also what the memory held.

    Without a model, the preferred one of those that come with the package looks. Pictures are prepared as `stawm look`
    prepares them: for a model of digits they are cropped, scaled and centred as MNIST's are. With `until`, as 0.99, no
    further glimpse is taken once a class is believed so much.
    """
    many = isinstance(pictures, list | tuple)
    looker = _looker(preferred() if model is None else model)
    given = [_given(one, number) for number, one in enumerate(pictures if many else [pictures], 1)]
    looks: list[Look] = []
    for start in range(0, len(given), BATCH):
        batch = given[start : start + BATCH]
        ready, names = [looker.prepare(one) for one in batch], [one.name for one in batch]
        looks += looker.look(ready, names, memory=memory, until=until)
    return looks if many else looks[0]


@overload
def ask(picture_or_cells: Shown | Cells, model: Known = SCENES_MODEL, at: None = None) -> Asked: ...


@overload
def ask(picture_or_cells: Shown | Cells, model: Known = SCENES_MODEL, *, at: int) -> CellRecall | None: ...


def ask(
    picture_or_cells: Shown | Cells, model: Known = SCENES_MODEL, at: int | None = None
) -> Asked | CellRecall | None:
    """All that a trained model remembers of a scene that it looked at once; with `at`, of one cell of it.

    The scene is one picture in the proportions of the model's grid, or a list of pictures of single digits, one for
    each cell (None: an empty one), each prepared as `look` prepares digits. Cells are counted from 1, row by row. Where
    nothing is drawn, nothing is remembered, and there is no answer. The model looks first; its answers come out of what
    it kept of that (`Rememberer`).
    """
    rememberer = rememberer_of(model)
    if at is None:
        return asked_of(rememberer, picture_or_cells)
    number = rememberer.check_cell(at)
    return next((cell for cell in asked_of(rememberer, picture_or_cells).cells if cell.number == number), None)


def rememberer_of(model: Known) -> Rememberer:
    """The model of this name or path, as one that is asked; a `UsageError` if it cannot be."""
    return Rememberer(_looker(model))


def asked_of(rememberer: Rememberer, picture_or_cells: Shown | Cells) -> Asked:
    """A scene that is looked at once, and all answers that come out of the memory of it."""
    if isinstance(picture_or_cells, list | tuple):
        name, given = "scene", [None if one is None else _given(one, n) for n, one in enumerate(picture_or_cells, 1)]
    else:
        given = _given(picture_or_cells, 1)
        name = given.name
    [(seen, kept)] = rememberer.remember([rememberer.prepare(given)], [name])
    return Asked(seen, None if kept is None else rememberer.ask([kept])[0])


def _looker(model: Known) -> Looker:
    if isinstance(model, str) and model in shipped():
        return _shipped(model)
    if isinstance(model, str | Path):
        return Looker(load_trained(model), Path(model).resolve().name)
    trained = model if isinstance(model, Trained) else trained_of(model)
    return Looker(trained, trained.experiment.name)


@cache
def _shipped(name: str) -> Looker:
    """Weights of the package do not change, so they are read once."""
    return Looker(load_trained(name), name)


def _given(picture: object, number: int) -> Given:
    name = f"picture {number}"
    if isinstance(picture, str | Path):
        return replace(open_given(Path(picture), str(picture)), name=Path(picture).name)
    if isinstance(picture, bytes):
        return open_given(picture, name)
    if isinstance(picture, Tensor):
        picture = _array(picture, name)
    if isinstance(picture, np.ndarray):
        if (
            picture.dtype != np.uint8
            or not picture.size
            or not (picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] == 3))
        ):
            raise DataError(
                f"{name} is an array of {picture.dtype} with shape {list(picture.shape)}; "
                "give uint8 as [height, width] or [height, width, 3]"
            )
        picture = Image.fromarray(picture)
    if not isinstance(picture, Image.Image):
        kind = type(picture).__name__
        raise DataError(f"{name} is a {kind}; give a path, bytes, a Pillow image, an array or a tensor")
    if picture.mode == "LAB":
        raise DataError(f"{name} is in mode LAB, which Pillow turns into no other; give it in mode RGB")
    try:
        return Given(name, eight_bits(turned(picture)))
    except ValueError as failure:
        raise DataError(f"{name} {failure}; give one of eight or sixteen bits, or a tensor in [0, 1]") from failure


def _array(picture: Tensor, name: str) -> np.ndarray:
    """A tensor's pixels as an array, [height width] or [height width channel]; those of floats are in [0, 1]."""
    if picture.dim() not in (2, 3) or (picture.dim() == 3 and len(picture) not in (1, 3)):
        raise DataError(
            f"{name} is a tensor with shape {list(picture.shape)}; give [height, width] or [channel, height, width] of "
            "one picture, grey or RGB"
        )
    if picture.is_floating_point():
        check_levels(picture, name)
        picture = (picture.detach().float().clamp(0, 1) * 255).round().to(torch.uint8)
    if picture.dim() == 3:
        picture = picture[0] if picture.shape[0] == 1 else picture.movedim(0, -1)
    return np.ascontiguousarray(picture.cpu().numpy())
