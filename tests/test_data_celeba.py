"""CelebA from a copy of the user's: made-up faces in the proportions of the aligned pictures."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.data import get_data, list_data, load_data
from stawm.data.sets.celeba import face
from stawm.errors import DataError

RED, BLUE = (255, 0, 0), (0, 0, 255)
pytestmark = pytest.mark.usefixtures("own_cache")


def faces(folder: Path, count: int = 40, size: tuple[int, int] = (178, 218)) -> Path:
    """Pictures that are blue but for the usual crop, which is red with a grey value that tells the number."""
    folder.mkdir(parents=True)
    for number in range(count):
        picture = Image.new("RGB", size, BLUE)
        left, top, right, bottom = (round(edge * size[0] / 178) for edge in (15, 35, 163, 183))
        picture.paste((255, number, number), (left, top, right, bottom))
        picture.save(folder / f"{number + 1:06}.png")
    return folder


def test_the_usual_crop_in_any_size() -> None:
    assert face(178, 218) == (15, 35, 163, 183)
    assert face(89, 109) == (7.5, 17.5, 81.5, 91.5)
    with pytest.raises(ValueError, match=r"64×64.*178:218"):
        face(64, 64)


def test_faces_are_cropped_scaled_and_a_twentieth_is_held_out(tmp_path: Path) -> None:
    faces(tmp_path / "mine")
    splits = load_data("celeba", data_dir=tmp_path / "mine")
    assert splits.train.images.shape == (38, 3, 64, 64) and splits.test.images.shape == (2, 3, 64, 64)
    assert splits.train.labels is None and splits.train.classes == ()
    every = torch.cat([splits.train.images, splits.test.images])
    assert (every[:, 0] == 255).all(), "nothing of the blue surroundings is left"
    assert sorted(every[:, 1, 0, 0].tolist()) == list(range(40))
    assert torch.equal(every[:, 1], every[:, 2])


def test_the_border_of_the_crop_is_exact(tmp_path: Path) -> None:
    faces(tmp_path / "mine", count=20)
    for path in (tmp_path / "mine").iterdir():
        picture = Image.new("RGB", (178, 218), BLUE)
        picture.paste(RED, (15, 35, 89, 218))
        picture.save(path)
    image = load_data("celeba", data_dir=tmp_path / "mine", image=(3, 148, 148)).test.images[0].numpy()
    assert (image[0, :, :74] == 255).all() and (image[2, :, 74:] == 255).all() and (image[2, :, :74] == 0).all()


def test_other_sizes_shapes_and_grey(tmp_path: Path) -> None:
    faces(tmp_path / "mine", count=20, size=(356, 436))
    splits = load_data("celeba", data_dir=tmp_path / "mine", image=(1, 32, 16))
    assert splits.train.images.shape == (19, 1, 32, 16)
    # Luma of (255, n, n) is 0.299 × 255 + 0.701 n.
    values = torch.cat([splits.train.images, splits.test.images])[:, 0, 5, 5].tolist()
    assert np.allclose(sorted(values), [76.2 + 0.701 * number for number in range(20)], atol=1)


def test_the_split_is_by_name_and_the_same_from_an_archive(tmp_path: Path) -> None:
    folder = faces(tmp_path / "mine" / "img_align_celeba")
    (folder / "list_attr_celeba.txt").write_text("not a picture, and not in the way")
    with zipfile.ZipFile(tmp_path / "faces.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"img_align_celeba/{path.name}")
        archive.writestr("__MACOSX/img_align_celeba/._000001.png", b"x")
    loose = load_data("celeba", data_dir=tmp_path / "mine")
    packed = load_data("celeba", data_dir=tmp_path / "faces.zip")
    assert loose.train.checksum == packed.train.checksum and loose.test.checksum == packed.test.checksum
    assert loose.test.images[:, 1, 0, 0].tolist() == [34, 36]


def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"img_align_celeba\.zip.*cache/celeba") as told:
        load_data("celeba")
    assert "\n" not in str(told.value)
    cached = faces(tmp_path / "cache" / "celeba", count=20)
    assert get_data("celeba") == cached
    chosen = faces(tmp_path / "environment" / "celeba" / "img_align_celeba", count=20)
    monkeypatch.setenv("STAWM_DATA", str(tmp_path / "environment"))
    assert get_data("celeba") == chosen
    assert next(record.where for record in list_data() if record.name == "celeba") == str(chosen)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty .*img_align_celeba\.zip"):
        load_data("celeba", data_dir=tmp_path / "empty")


def test_pictures_that_are_not_aligned_ones_are_named(tmp_path: Path) -> None:
    folder = faces(tmp_path / "mine", count=20)
    Image.new("RGB", (64, 64)).save(folder / "000003.png")
    with pytest.raises(DataError, match=r"000003\.png .*64×64.*178:218"):
        load_data("celeba", data_dir=folder)


def test_too_few_faces_and_a_truncated_archive(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"3 pictures.* 5%"):
        load_data("celeba", data_dir=faces(tmp_path / "mine", count=3))
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match=r"cut\.zip is truncated"):
        load_data("celeba", data_dir=tmp_path / "cut.zip")
