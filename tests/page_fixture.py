"""The page of `stawm serve`, opened, and what a person does on it: draw, upload, read the answer."""

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageOps

from browser_fixture import Visit, anew, serving, visiting
from stawm.data import load_data
from stawm.experiments.build import build
from stawm.experiments.presets import preset
from stawm.store.weights import export

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SKETCHPAD = "mnist-5k-sketchpad"
GLIMPSES = 6
STROKES = {
    "1": [[(0.52, 0.15), (0.5, 0.5), (0.48, 0.85)]],
    "3": [
        [(0.3, 0.2), (0.5, 0.13), (0.66, 0.2), (0.68, 0.33), (0.55, 0.45), (0.44, 0.48)],
        [(0.44, 0.48), (0.6, 0.52), (0.7, 0.64), (0.66, 0.8), (0.5, 0.88), (0.3, 0.8)],
    ],
    "7": [[(0.27, 0.18), (0.5, 0.19), (0.73, 0.18), (0.6, 0.45), (0.48, 0.85)]],
}
"""Digits as a hand draws them, in shares of the pad."""


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the shipped sketchpad, and with a classifier that has learnt nothing."""
    folder = tmp_path_factory.mktemp("serve")
    experiment = preset("mnist-5k-classify")
    export(build(experiment.model), experiment, folder / "untrained")
    with serving(SKETCHPAD, str(folder / "untrained"), log=folder / "log") as address:
        yield address


@pytest.fixture(scope="module")
def tab(browser: "Browser", home: str) -> Iterator[Visit]:
    with visiting(browser, home, reduced_motion="reduce") as visit:
        yield visit


@pytest.fixture
def visit(tab: Visit, home: str) -> Iterator[Visit]:
    """The page, when it has looked at its first example; nothing moves unless it is told to."""
    with anew(tab, home) as visit:
        yield visit


def says(page: "Page", answer: str) -> None:
    page.wait_for_function("answer => document.querySelector('.prediction')?.textContent === answer", arg=answer)


def draw(page: "Page", strokes: list[list[tuple[float, float]]], *, lift: bool = True) -> None:
    box = page.locator("#pad").bounding_box()
    assert box is not None
    for stroke in strokes:
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=6)
        if lift:
            page.mouse.up()


def upload(page: "Page", name: str, content: bytes) -> None:
    page.set_input_files("#file", files=[{"name": name, "mimeType": "image/png", "buffer": content}])


def shown(page: "Page") -> int:
    """The number of the glimpse that is shown."""
    return int(page.locator(".where").inner_text().split("/")[0])


def a_digit(label: int, *, dark: bool = False) -> bytes:
    """A held-out digit as a PNG file of another size, dark on light if asked."""
    test = load_data("mnist-5k").test
    place = int((test.labels == label).nonzero()[3])
    image = Image.fromarray(test.images[place, 0].numpy()).resize((120, 120), Image.Resampling.BICUBIC)
    content = BytesIO()
    (ImageOps.invert(image) if dark else image).save(content, "PNG")
    return content.getvalue()
