import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stawm.errors import DataError
from stawm.experiments.experiment import DataConfig, Experiment
from stawm.look.looker import Looker
from stawm.look.picture import Picture
from stawm.look.stream import Source, look_at, pictures_in
from stawm.store.weights import Trained
from tiny_model import SMALL, small


@pytest.fixture(scope="module")
def looker() -> Looker:
    experiment = Experiment("tiny", model=SMALL, data=DataConfig(name="folder:somewhere"))
    return Looker(Trained(small().eval(), experiment, {}, ()), "tiny")


def refuse(failure: DataError) -> None:
    raise AssertionError(failure)


def test_no_more_than_a_batch_is_ever_read_ahead(looker: Looker):
    read = []

    def endless() -> Iterator[tuple[str, Source]]:
        while True:
            read.append(1)
            yield f"{len(read)}", Picture(np.full((12, 12), len(read) % 256, np.uint8)).png()

    looks = look_at(looker, endless(), batch_size=4, broken=refuse)
    for number in range(1, 20):
        seen = next(looks)
        assert seen.name == str(number)
        assert int(seen.image.png.array[0, 0]) == number
        assert len(read) <= number + 3


def test_broken_pictures_are_told_in_turn_and_passed_over(looker: Looker):
    good = Picture(np.zeros((12, 12), np.uint8)).png()
    pictures: list[tuple[str, Source]] = [("a", b""), ("b", good), ("c", b"x"), ("d", good), ("e", b"y"), ("f", b"z")]
    told: list[DataError] = []
    looks = look_at(looker, pictures, batch_size=2, broken=told.append)
    assert [seen.name for seen in looks] == ["b", "d"]
    assert [str(failure).split()[0] for failure in told] == ["a", "c", "e", "f"]


def test_links_pipes_and_devices(looker: Looker, tmp_path: Path):
    Image.new("L", (12, 12)).save(tmp_path / "a.png")
    (tmp_path / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "loop.png").symlink_to(tmp_path / "loop.png")
    os.mkfifo(tmp_path / "pipe.png")
    assert [name for name, _ in pictures_in([tmp_path])] == ["a.png"]
    told: list[DataError] = []
    named = pictures_in([tmp_path / "loop.png", tmp_path / "pipe.png", Path("/dev/zero"), tmp_path / "a.png"])
    looks = look_at(looker, named, batch_size=9, broken=told.append)
    assert [seen.name for seen in looks] == ["a.png"]
    assert len(told) == 3


def test_pictures_in_folders_are_found_in_order_and_named_from_there(tmp_path: Path):
    for name in ("b/2.PNG", "b/10.jpeg", "a/x/1.webp", "c.bmp", ".hidden/4.png", "text.txt", "b/tiff.tiff"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (2, 2)).save(tmp_path / "in" / name, "PNG")
    single = tmp_path / "other" / "unusual.name"
    found = pictures_in([tmp_path / "in", single, tmp_path / "in" / "c.bmp"])
    assert [name for name, _ in found] == ["a/x/1.webp", "b/10.jpeg", "b/2.PNG", "c.bmp", "unusual.name"]
    assert found[-1][1] == single, "a file that is named itself is tried, whatever it is called"
