"""A trained model with pictures to show it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from stawm.data import ImageSet, load_data
from stawm.errors import DataError
from stawm.store.device import usable
from stawm.store.weights import Trained, load_trained

NAMED = 10


def open_trained(model: str, data: str | None, data_dir: Path | None, device: str = "auto") -> tuple[Trained, ImageSet]:
    """The model of a run or weights folder, on its device, and the test pictures of `data` (else its own set)."""
    trained = load_trained(model)
    name = data or trained.experiment.data.name
    splits = load_data(name, data_dir=data_dir, image=trained.experiment.model.image.shape)
    trained.model.to(usable(device))
    return trained, named_alike(splits.test, trained.classes)


def named_alike(pictures: ImageSet, classes: tuple[str, ...]) -> ImageSet:
    """The pictures with labels as a model that knows these classes numbers them; other classes are a `DataError`.

    Classes are told apart by their names, for sub-folders are numbered in the order of the alphabet.
    """
    if pictures.labels is None or not classes or not pictures.classes or pictures.classes == classes:
        return pictures
    if strange := [name for name in pictures.classes if name not in classes]:
        raise DataError(
            f"{pictures.name} has classes that the model does not know ({_listed(strange)}); it knows "
            f"{_listed(classes)}: name them alike, or choose other data with --data"
        )
    places = torch.tensor([classes.index(name) for name in pictures.classes])
    labels = torch.where(pictures.labels < 0, pictures.labels, places[pictures.labels])
    return replace(pictures, labels=labels, classes=classes)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
