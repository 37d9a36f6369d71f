"""Folders of the user's own pictures, as folder:PATH."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import torch

from stawm.data.data_set import DATA_SETS, DataSet, Facts
from stawm.data.folder import split_folder
from stawm.data.image_set import Splits, image_set
from stawm.data.pictures import Picture, Shape, each, shape_of, whole
from stawm.data.store import stored
from stawm.errors import UsageError

NAME = "folder"
LONGEST = 64
"""The longer edge that large pictures get: what the paper's largest, the faces, have."""
LOOKED_AT = 256
"""Headers read to tell what a folder holds: enough to meet what is not rare, in well under a second."""


@dataclass(frozen=True, kw_only=True)
class FolderSet(DataSet):
    """The pictures under a folder; without one, any pictures of a user's."""

    path: str = ""

    @property
    def root(self) -> Path:
        """The folder."""
        if not self.path:
            raise UsageError("folder: has no path after it; write folder:PATH with the path of a folder of pictures")
        return Path(self.path).expanduser()

    def of(self, argument: str) -> DataSet:
        """The record of folder:PATH."""
        return replace(self, name=f"{NAME}:{argument}", path=argument)

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """The pictures in the shape `image` (that of the first by name if not given)."""
        train, test = split_folder(self.root)
        first = min((*train.pictures, *test.pictures), key=lambda picture: picture.name)
        kept = stored(self.root, [train.pictures, test.pictures], image or shape_of(self.root, first), whole)
        labels = [None if part.labels is None else torch.tensor(part.labels) for part in (train, test)]
        return Splits(
            *(
                image_set(self.name, images, numbers, train.classes, pixels)
                for (images, pixels), numbers in zip(kept, labels, strict=True)
            )
        )

    def find(self, data_dir: Path | None = None) -> Path | None:
        """The folder, if it is there."""
        return self.root if self.path and self.root.is_dir() else None

    def get(self, data_dir: Path | None = None) -> Path:
        """The folder, after every picture was decoded and none kept; what cannot be used is named."""
        train, test = split_folder(self.root)
        for _ in each(self.root, (*train.pictures, *test.pictures), (3, 1, 1), whole):
            pass
        return self.root

    def facts(self, data_dir: Path | None = None) -> Facts:
        """What the headers of some pictures, spread evenly over all, tell."""
        train, test = split_folder(self.root)
        pictures = sorted((*train.pictures, *test.pictures), key=lambda picture: picture.name)
        return Facts(common_shape(self.root, pictures), train.classes, len(pictures))


def common_shape(root: Path, pictures: Sequence[Picture]) -> Shape:
    """A shape that suits all pictures: theirs if they have a small one in common, else their median proportions.

    In colour if any is.
    """
    seen = [shape_of(root, picture) for picture in pictures[:: -(-len(pictures) // LOOKED_AT)]]
    channels = max(shape[0] for shape in seen)
    sizes = {(height, width) for _, height, width in seen}
    if len(sizes) == 1 and max(seen[0][1:]) <= LONGEST:
        return (channels, *sizes.pop())
    aspect = median(width / height for _, height, width in seen)
    height, width = (LONGEST / max(aspect, 1), LONGEST * min(aspect, 1))
    return (channels, max(round(height), 1), max(round(width), 1))


FOLDER = FolderSet(
    name=f"{NAME}:PATH",
    about="your own pictures: a sub-folder for each class, or all together",
    source="a folder of yours",
    scales=True,
)
DATA_SETS.add(NAME, FOLDER)
