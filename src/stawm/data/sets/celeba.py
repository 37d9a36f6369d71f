"""CelebA from the user's own copy: the aligned pictures, in a folder or a zip archive, cropped as is usual."""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stawm.data.data_set import DATA_SETS, DataSet
from stawm.data.image_set import Splits, image_set
from stawm.data.pictures import Box, Picture, Shape, whole
from stawm.data.published import cache_folder, given_folders
from stawm.data.sets.folder import drawn, picture_at, visible
from stawm.data.store import stored
from stawm.errors import DataError

NAME = "celeba"
WIDTH, HEIGHT, FACE = 178, 218, 148
SHAPE: Shape = (3, 64, 64)
HELD_OUT = 0.05
SUFFIXES = (".jpg", ".jpeg", ".png")
ARCHIVE = "img_align_celeba.zip"


def face(width: int, height: int) -> Box:
    """The centre square of an aligned picture: 148 × 148 of 178 × 218, in the same proportion at any other size."""
    if abs(width / height - WIDTH / HEIGHT) > 1 / height:
        raise ValueError(f"is {width}×{height}, not in the proportions {WIDTH}:{HEIGHT} of the aligned pictures")
    side = width * FACE / WIDTH
    left, top = (width - side) / 2, (height - side) / 2
    return (left, top, left + side, top + side)


def face_or_whole(width: int, height: int) -> Box:
    """The frame of the aligned pictures for one in their proportions, and all of any other."""
    try:
        return face(width, height)
    except ValueError:
        return whole(width, height)


@dataclass(frozen=True, kw_only=True)
class CelebA(DataSet):
    """The aligned pictures, which their licence forbids to pass on."""

    def load(self, data_dir: Path | None = None, image: Shape | None = None) -> Splits:
        """The faces in the shape `image` (or their usual one), 5 % of them held out; there are no labels."""
        root = self.find(data_dir)
        if root is None:
            raise DataError(
                f"celeba must be brought by hand (its licence forbids passing it on): put {ARCHIVE}, or a folder of "
                f"its .jpg files, in {cache_folder() / NAME} or in a folder given with --data-dir or STAWM_DATA"
            )
        pictures = sorted(list_faces(root), key=lambda picture: drawn(Path(picture.name).stem))
        cut = round(HELD_OUT * len(pictures))
        if not cut:
            raise DataError(
                f"{root} has {len(pictures)} pictures, too few to hold {HELD_OUT:.0%} out: bring more of CelebA"
            )
        parts = stored(root, [pictures[cut:], pictures[:cut]], image or SHAPE, face)
        return Splits(*(image_set(NAME, images, None, (), pixels) for images, pixels in parts))

    def find(self, data_dir: Path | None = None) -> Path | None:
        """The folder or archive of aligned pictures: in a folder that is given, or else in the cache folder."""
        for folder, asked in given_folders(data_dir):
            if root := next(roots(folder), None):
                return root
            if asked:
                raise DataError(f"{folder} has no aligned CelebA pictures: put {ARCHIVE}, or its .jpg files, in it")
        return next(roots(cache_folder() / NAME), None)


def roots(folder: Path) -> Iterator[Path]:
    """What holds aligned pictures in a folder (or is an archive of them itself), the likeliest first."""
    if folder.is_file() and folder.suffix == ".zip":
        yield folder
    for place in (folder / NAME, folder / NAME / "img_align_celeba", folder / "img_align_celeba", folder):
        if place.is_dir():
            entries = visible(place)
            if any(entry.suffix.lower() in SUFFIXES for entry in entries):
                yield place
            yield from (entry for entry in entries if entry.suffix.lower() == ".zip")


def list_faces(root: Path) -> list[Picture]:
    """The pictures in a folder or zip archive; other files, such as the lists that come with CelebA, are left out."""
    if root.is_dir():
        return [picture_at(entry, root) for entry in visible(root) if entry.suffix.lower() in SUFFIXES]
    try:
        with zipfile.ZipFile(root) as archive:
            inside = archive.infolist()
    except (zipfile.BadZipFile, OSError) as failure:
        raise DataError(f"{root} is truncated or not a zip archive: put the published file in its place") from failure
    return [
        Picture(entry.filename, f"{entry.file_size} {entry.CRC}")
        for entry in inside
        if entry.filename.lower().endswith(SUFFIXES) and not entry.filename.startswith("__MACOSX")
    ]


CELEBA = CelebA(
    name=NAME,
    about="aligned faces, colour, no labels",
    source=f"your own copy: {ARCHIVE} or a folder of its pictures",
    shape=SHAPE,
    scales=True,
    frame=face_or_whole,
    terms=(
        "CelebA (Liu, Luo, Wang, Tang, Deep Learning Face Attributes in the Wild, ICCV 2015) may be used for "
        "non-commercial research only, and so may these weights; its pictures belong to their makers."
    ),
    research_only=True,
)
DATA_SETS.add(NAME, CELEBA)
