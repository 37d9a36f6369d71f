"""The error on digits as people draw them: thick, thin, small, large, shifted, turned, specked, photographed.

Made from test digits: each is drawn dark on light on a sheet of 280 × 280 pixels, as a browser's canvas gives it, and
goes the way of every picture: decoded, prepared, looked at. The embedded digits are all training digits of MNIST, so a
model that learnt from the whole of MNIST is judged by MNIST's own test digits.

    python benchmarks/robustness.py --weights mnist-5k-sketchpad
    python benchmarks/robustness.py --weights mnist-sketchpad --data mnist --every 10
"""

import argparse
import io
import json
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import torch
from PIL import Image, ImageFilter

from stawm.data import ImageSet, load_data
from stawm.data.image_set import part_of
from stawm.data.prepare.given import open_given
from stawm.data.prepare.ink import box_of
from stawm.data.prepare.prepared import Prepared
from stawm.look.looker import Looker, preferred
from stawm.store.weights import load_trained

SHEET = 280
AT_ONCE = 250
USUAL = 200
"""The longer edge of a digit that is drawn as usual."""

Strokes = np.ndarray
"""Ink in [0, 1] on a sheet."""
Variant = Callable[[np.ndarray, np.random.Generator], Strokes]


def drawn(digit: np.ndarray, edge: int = USUAL, at: tuple[float, float] = (0.5, 0.5), turn: float = 0.0) -> Strokes:
    """The digit with sharp strokes, its longer edge `edge`, turned by degrees; `at` is its place in the room left."""
    rows, columns = np.nonzero(digit.max(1) > 63)[0], np.nonzero(digit.max(0) > 63)[0]
    inside = Image.fromarray(digit[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    factor = edge / max(inside.size)
    padded = Image.new("L", (inside.width + 8, inside.height + 8))
    padded.paste(inside, (4, 4))
    large = padded.resize((round(padded.width * factor), round(padded.height * factor)), Image.Resampling.BICUBIC)
    if turn:
        large = large.rotate(turn, Image.Resampling.BICUBIC, expand=True)
    strokes = ((np.asarray(large, np.float32) / 255 - 0.5) * 6 + 0.5).clip(0, 1)
    rows, columns = np.nonzero(strokes.max(1) > 0)[0], np.nonzero(strokes.max(0) > 0)[0]
    strokes = strokes[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1][:SHEET, :SHEET]
    sheet = np.zeros((SHEET, SHEET), np.float32)
    down, across = (round(place * (SHEET - length)) for place, length in zip(at, strokes.shape, strict=True))
    sheet[down : down + strokes.shape[0], across : across + strokes.shape[1]] = strokes
    return sheet


def grown(strokes: Strokes, size: int) -> Strokes:
    """The strokes wider by `size` − 1 pixels (an odd size), round at their ends."""
    picture = Image.fromarray((255 * strokes).astype(np.uint8))
    # Squares and crosses in turn: nearly a disc, without the time that one takes.
    for step in range(size // 2):
        picture = picture.filter(ImageFilter.MaxFilter(3)) if step % 2 else _crossed(picture)
    blurred = picture.filter(ImageFilter.GaussianBlur(max(size / 8, 0.5)))
    return ((np.asarray(blurred, np.float32) / 255 - 0.5) * 4 + 0.5).clip(0, 1)


def _crossed(picture: Image.Image) -> Image.Image:
    ink = np.pad(np.asarray(picture), 1)
    around = ink[1:-1, 1:-1], ink[:-2, 1:-1], ink[2:, 1:-1], ink[1:-1, :-2], ink[1:-1, 2:]
    return Image.fromarray(np.maximum.reduce(around))


def lines(digit: np.ndarray) -> Strokes:
    """The middle lines of the digit's strokes, one pixel wide."""
    return _lines(digit.tobytes())


@lru_cache(maxsize=1000)
def _lines(content: bytes) -> Strokes:
    """Zhang and Suen's thinning."""
    strokes = drawn(np.frombuffer(content, np.uint8).reshape(28, 28))
    sheet = np.zeros_like(strokes)
    box = box_of(strokes > 0.5)
    ink = np.pad(strokes[box] > 0.5, 1)
    changed = True
    while changed:
        changed = False
        for first in (True, False):
            # Clockwise from above.
            ring = [np.roll(ink, shift, (0, 1)) for shift in RING]
            count = np.sum(ring, 0)
            turns = np.sum([~ring[place] & ring[(place + 1) % 8] for place in range(8)], 0)
            north, east, south, west = ring[0], ring[2], ring[4], ring[6]
            if first:
                open_side = ~(north & east & south) & ~(east & south & west)
            else:
                open_side = ~(north & east & west) & ~(north & south & west)
            gone = ink & (count >= 2) & (count <= 6) & (turns == 1) & open_side
            ink &= ~gone
            changed |= bool(gone.any())
    sheet[box] = ink[1:-1, 1:-1]
    return sheet


RING = ((1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1))


def specked(strokes: Strokes, chance: np.random.Generator) -> Strokes:
    """The strokes and three specks of 4 × 4 pixels anywhere."""
    for down, across in chance.integers(0, SHEET - 4, (3, 2)):
        strokes[down : down + 4, across : across + 4] = 1
    return strokes


def photographed(strokes: Strokes, chance: np.random.Generator) -> np.ndarray:
    """Levels of a photograph of the sheet: light that falls off to one side, pen not black, noise, a soft lens."""
    slope, turn = 70.0, chance.uniform(0, 2 * np.pi)
    down, across = np.mgrid[:SHEET, :SHEET] / SHEET - 0.5
    paper = 170 + slope * (np.cos(turn) * across + np.sin(turn) * down)
    levels = paper * (1 - 0.7 * strokes) + chance.normal(0, 4, strokes.shape)
    return np.asarray(Image.fromarray(levels.clip(0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.8)))


VARIANTS: dict[str, Variant] = {
    "clean": lambda digit, chance: drawn(digit),
    "thick": lambda digit, chance: grown(drawn(digit, 180), 25),
    "thin": lambda digit, chance: grown(lines(digit), 5),
    "hairline": lambda digit, chance: lines(digit),
    "small": lambda digit, chance: drawn(digit, 50),
    "large": lambda digit, chance: drawn(digit, 276),
    "shifted": lambda digit, chance: drawn(digit, 120, at=tuple(chance.uniform(0, 1, 2))),
    "turned": lambda digit, chance: drawn(digit, turn=float(chance.choice((-12, 12)))),
    "marker": lambda digit, chance: grown(lines(digit), 21),
    "specked": lambda digit, chance: specked(drawn(digit, 120, at=tuple(chance.uniform(0, 1, 2))), chance),
    "photographed": lambda digit, chance: drawn(digit, 160, at=tuple(chance.uniform(0.2, 0.8, 2))),
}


def file_of(kind: str, digit: np.ndarray, chance: np.random.Generator) -> bytes:
    """The digit of a kind as a PNG file."""
    strokes = VARIANTS[kind](digit, chance)
    levels = photographed(strokes, chance) if kind == "photographed" else (255 * (1 - strokes)).astype(np.uint8)
    content = io.BytesIO()
    Image.fromarray(levels).save(content, "PNG", compress_level=1)
    return content.getvalue()


def prepared(kind: str, looker: Looker, digits: ImageSet) -> Iterator[Prepared]:
    """The digits of a kind as the model gets them; `raw` are those of the data set themselves."""
    chance = np.random.default_rng(0)
    for digit in digits.images[:, 0].numpy():
        if kind == "raw":
            yield Prepared(torch.from_numpy(digit)[None])
        else:
            yield looker.prepare(open_given(file_of(kind, digit, chance), kind))


def error(kind: str, looker: Looker, digits: ImageSet) -> float:
    """The share of digits of a kind that is taken for another."""
    assert digits.labels is not None
    ready = list(prepared(kind, looker, digits))
    wrong = 0
    for start in range(0, len(ready), AT_ONCE):
        part, truths = ready[start : start + AT_ONCE], digits.labels[start : start + AT_ONCE].tolist()
        seen = looker.look(part, ["" for _ in part])
        wrong += sum(one.prediction != looker.classes[truth] for one, truth in zip(seen, truths, strict=True))
    return wrong / len(ready)


def main() -> None:
    """Print the error of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", help="a name, a run or a folder of weights (the preferred ones of the package)")
    parser.add_argument("--data", choices=("mnist-5k", "mnist"), default="mnist-5k", help="whose digits")
    parser.add_argument("--split", choices=("train", "test"), default="test", help="tune on train, report on test")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th digit only")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    name = given.weights or preferred()
    looker = Looker(load_trained(name), name)
    splits = load_data(given.data)
    digits = part_of(splits.test if given.split == "test" else splits.train, slice(None, None, given.every))
    errors = {}
    if not given.json:
        print(f"{looker.experiment.name}, {len(digits)} {given.split} digits of {given.data}")
    for kind in ("raw", *VARIANTS):
        errors[kind] = error(kind, looker, digits)
        if not given.json:
            print(f"{kind:14}{100 * errors[kind]:6.2f} %", flush=True)
    if given.json:
        whose = {"weights": name, "data": given.data, "split": given.split, "count": len(digits)}
        print(json.dumps(whose | {"error": errors}))


if __name__ == "__main__":
    main()
