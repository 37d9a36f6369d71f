"""Digits of other hands and sheets of other kinds: what is read, what is said to be several, and what to be nothing.

The scans are scikit-learn's 1,797 digits of 8 × 8 pixels (Turkish writers; Alpaydin and Kaynak, 1998), blown up eight
times: they fill their frames from top to bottom. With --usps also the digits of American envelopes (16 × 16 pixels, up
to the edge all around), from a file `usps_resampled.mat` as gaussianprocess.org/gpml/data has it. No number was tuned
on either; eight of the second that had turned black showed why, and led to a rule. Rows of digits are made of MNIST's
test digits.

    pip install scikit-learn
    python benchmarks/own_digits.py --weights mnist-sketchpad mnist-classify-8
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageFilter

from stawm.data import load_data
from stawm.data.prepare.digit import as_digit
from stawm.data.prepare.ink import box_of
from stawm.data.prepare.prepared import Prepared
from stawm.look.looker import Looker
from stawm.store.weights import load_trained

TIMES, AT_ONCE = 8, 250
HOW = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
THRESHOLDS, GAPS = (100, 150, 200, 230), (2, 3, 4, 6, 12)
Scans = tuple[np.ndarray, np.ndarray]
"""Light on dark, [count height width], and their labels."""


def small_scans() -> Scans:
    """Scikit-learn's digits."""
    from sklearn.datasets import load_digits

    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    return (pixels.reshape(-1, 8, 8) * (255 / 16)).round().astype(np.uint8), labels


def envelopes(file: Path) -> Scans:
    """The half of the USPS digits that is called test."""
    from scipy.io import loadmat

    found = loadmat(file)
    levels = (found["test_patterns"].T.reshape(-1, 16, 16) + 1) * 127.5
    return levels.clip(0, 255).round().astype(np.uint8), found["test_labels"].argmax(0)


def large(levels: np.ndarray, how: str = "bicubic", times: int = TIMES) -> Image.Image:
    """A picture blown up."""
    picture = Image.fromarray(levels)
    return picture.resize((picture.width * times, picture.height * times), HOW[how])


def read(looker: Looker, prepared: list[Prepared]) -> np.ndarray:
    """The class that is believed most of each, blank ones too."""
    pixels = torch.stack([one.pixels for one in prepared])
    with torch.inference_mode():
        answers = [looker.model(part.float() / 255).logits[:, -1].argmax(-1) for part in pixels.split(AT_ONCE)]
    return torch.cat(answers).numpy()


def tell_scans(name: str, scans: Scans, lookers: list[Looker]) -> None:
    """Print what is made of scans: which way round, whether anything is seen, and how many are mistaken."""
    pictures, labels = scans
    for how in HOW:
        for dark in (False, True):
            prepared = [as_digit(large(255 - one if dark else one, how)) for one in pictures]
            turned, black = sum(one.inverted != dark for one in prepared), sum(one.found == 0 for one in prepared)
            way = f"{name}, {how}, {'dark on light' if dark else 'light on dark'}"
            print(f"{way}: {len(labels)} scans, wrong way round {turned}, black {black}", flush=True)
            for looker in lookers:
                found = read(looker, prepared)
                wrong = Counter(labels[found != labels].tolist())
                ones, sevens = (int((labels == digit).sum()) for digit in (1, 7))
                as_seven = int(((found == 7) & (labels == 1)).sum())
                print(
                    f"  {looker.name}: error {100 * wrong.total() / len(labels):.2f} %; "
                    f"of {ones} 1s {wrong[1]} ({as_seven} as 7), of {sevens} 7s {wrong[7]}",
                    flush=True,
                )


def rows(digits: np.ndarray, count: int, gap: int, chance: np.random.Generator) -> Iterator[Image.Image]:
    """Pictures of `count` digits side by side, `gap` pixels of MNIST's apart and up to 2 higher or lower."""
    for group in digits[: len(digits) // count * count].reshape(-1, count, 28, 28):
        cut = [one[box_of(one > 60)] for one in group]
        sheet = np.zeros((40, sum(one.shape[1] for one in cut) + gap * (count - 1) + 12), np.uint8)
        left = 6
        for one in cut:
            top = (40 - one.shape[0]) // 2 + int(chance.integers(-2, 3))
            sheet[top : top + one.shape[0], left : left + one.shape[1]] = one
            left += one.shape[1] + gap
        yield large(sheet)


def tell_several(digits: np.ndarray) -> None:
    """Print how often one digit, and several, are said to be several."""
    for threshold in (None, *THRESHOLDS):
        blown = [np.asarray(large(one)) for one in digits]
        broken = blown if threshold is None else [255 * (one > threshold).astype(np.uint8) for one in blown]
        found = [as_digit(Image.fromarray(one)).found for one in broken if one.any()]
        kind = "blown up" if threshold is None else f"cut at {threshold} of 255"
        print(f"one digit, {kind}: {sum(one != 1 for one in found)} of {len(found)} said to be several", flush=True)
    for count in (2, 3):
        for gap in GAPS:
            found = [as_digit(one).found for one in rows(digits, count, gap, np.random.default_rng(0))]
            said, counted = (100 * np.mean(one) for one in (np.array(found) > 1, np.array(found) == count))
            print(f"{count} digits, gap {gap}: {said:.1f} % said, {counted:.1f} % counted", flush=True)


def tell_blank() -> None:
    """Print how many blank sheets are seen as such: of several greys and sizes, under several lights, with noise."""
    chance = np.random.default_rng(0)
    for noise in (0, 1, 2, 4, 8):
        seen: list[bool] = []
        for size in ((28, 28), (64, 64), (280, 280), (400, 600)):
            down, across = (
                axis / length - 0.5 for axis, length in zip(np.mgrid[: size[0], : size[1]], size, strict=True)
            )
            for light in (0 * down, 60 * across + 30 * down, -80 * (down**2 + across**2)):
                for grey in (60, 128, 190):
                    levels = (grey + light + chance.normal(0, noise, size)).clip(0, 255).astype(np.uint8)
                    sheet = Image.fromarray(levels)
                    seen += [as_digit(one).found == 0 for one in (sheet, sheet.filter(ImageFilter.GaussianBlur(1.5)))]
        print(f"blank sheets, noise {noise}: {sum(seen)} of {len(seen)} are nothing to see", flush=True)


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", nargs="*", default=["mnist-sketchpad"], help="names, runs or folders of weights")
    parser.add_argument("--usps", type=Path, metavar="FILE", help="usps_resampled.mat")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th scan and digit only")
    parser.add_argument("--only", choices=("scans", "several", "blank"), help="one part of it")
    given = parser.parse_args()
    if given.only in (None, "scans"):
        lookers = [Looker(load_trained(name), Path(name).name) for name in given.weights]
        sets = {"8 × 8": small_scans()} | ({"USPS": envelopes(given.usps)} if given.usps else {})
        for name, (pictures, labels) in sets.items():
            tell_scans(name, (pictures[:: given.every], labels[:: given.every]), lookers)
    if given.only in (None, "several"):
        tell_several(load_data("mnist").test.images[:: 10 * given.every, 0].numpy())
    if given.only in (None, "blank"):
        tell_blank()


if __name__ == "__main__":
    main()
