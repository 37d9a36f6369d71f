"""Data sets whose files are published: read from a folder of the user's, from the cache folder, or fetched to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from stawm.data.data_set import DataSet
from stawm.data.fetch import fetch
from stawm.data.image_set import ImageSet, Splits, image_set
from stawm.data.pictures import Shape
from stawm.data.places import Place, contents, find
from stawm.data.published import Files, Published

Arrays = tuple[np.ndarray, np.ndarray]
"""Pictures [count channel height width] and labels [count]."""


@dataclass(frozen=True, kw_only=True)
class FetchedSet(DataSet):
    """A data set of published files, checked by md5."""

    published: Published
    parse: Callable[[Files], tuple[Arrays, Arrays]]
    """From the contents of the files to the training and the test pictures."""

    @property
    def files(self) -> Mapping[str, str]:
        """The md5 of each published file."""
        return self.published.files

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """The pictures, from the user's folder, the cache folder, or fetched now."""
        train, test = self.parse(contents(self.published, self._place(data_dir)))
        return Splits(self._part(*train), self._part(*test))

    def find(self, data_dir: Path | None = None) -> Path | None:
        """The folder that holds all of its files, if one does."""
        place = find(self.published, data_dir)
        return place and place.folder

    def get(self, data_dir: Path | None = None) -> Path:
        """The folder of its files, after each was compared with its md5."""
        place = self._place(data_dir)
        contents(self.published, place)
        return place.folder

    def _place(self, data_dir: Path | None) -> Place:
        return find(self.published, data_dir) or fetch(self.published)

    def _part(self, images: np.ndarray, labels: np.ndarray) -> ImageSet:
        return image_set(self.name, torch.from_numpy(images), torch.from_numpy(labels).long(), self.classes)
