"""Does a model know what it does not know? The familiarity score on digits and on what is none, and its calibration.

Digits are MNIST's test digits. Against them: Fashion-MNIST's test pictures, letters A-Z and a-z printed in fonts of
Debian and prepared as a user's picture, CIFAR-10's test pictures in grey, noise. None of these had a part in fitting:
`stawm calibrate` uses training and validation digits, and signs, scribbles, shapes, collages and textures of its own
making. A small convolutional network with its largest softmax is beside it, trained here on the same digits.

    apt-get install fonts-dejavu-core fonts-liberation fonts-freefont-ttf fonts-noto-core fonts-roboto-unhinted \
        fonts-lato fonts-open-sans fonts-comic-neue fonts-hack fonts-cantarell fonts-linuxlibertine fonts-quicksand
    python benchmarks/familiar.py --out docs/trust.md
    python benchmarks/familiar.py --weights mnist-5k-sketchpad --every 20
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from torch import Tensor, nn

from robustness import VARIANTS, prepared
from stawm.data import ImageSet, load_data
from stawm.data.image_set import part_of
from stawm.data.prepare.digit import as_digit
from stawm.look.looker import Looker
from stawm.store.weights import load_trained
from stawm.trust.temperature import calibration_error

SHIPPED = ("mnist-sketchpad", "mnist-5k-sketchpad", "mnist-classify-8")
FONTS = Path("/usr/share/fonts")
FACES = (
    *("DejaVuSans.ttf", "DejaVuSerif.ttf", "LiberationSans-Regular.ttf", "LiberationSerif-Regular.ttf"),
    *("LiberationMono-Regular.ttf", "FreeSans.ttf", "FreeSerif.ttf", "NotoSans-Regular.ttf", "NotoSerif-Regular.ttf"),
    *("Roboto-Regular.ttf", "Lato-Regular.ttf", "OpenSans-Regular.ttf", "ComicNeue-Regular.otf", "Hack-Regular.ttf"),
    *("Cantarell-Regular.otf", "LinLibertine_R.otf", "Quicksand-Regular.ttf"),
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALIKE = "OoIlSsZzq"
"""Letters that many fonts draw as a digit is drawn."""
NOISY = 500
AT_ONCE = 250
START, END = "<!-- familiar -->", "<!-- end of familiar -->"

Pixels = np.ndarray
"""uint8 [count 28 28]."""


def printed(signs: str) -> Pixels:
    """Each sign in each font, prepared as a user's picture is."""
    faces = [path for face in FACES for path in sorted(FONTS.rglob(face))[:1]]
    if len(faces) < 10:
        raise SystemExit(f"only {len(faces)} of the fonts are here; install those that the top of this file names")
    return np.stack([_digit(_sign(sign, face)) for face in faces for sign in signs])


def _sign(sign: str, face: Path) -> Image.Image:
    sheet = Image.new("L", (400, 400), 255)
    ImageDraw.Draw(sheet).text((120, 80), sign, font=ImageFont.truetype(str(face), 160), fill=0)
    return sheet


def _digit(picture: Image.Image) -> Pixels:
    return as_digit(picture).pixels[0].numpy()


def smileys(chance: np.random.Generator) -> Pixels:
    """A hundred round faces with eyes and a mouth."""
    made = []
    for _ in range(100):
        sheet, width, radius = Image.new("L", (280, 280), 255), int(chance.integers(8, 18)), chance.uniform(80, 120)
        draw, eye = ImageDraw.Draw(sheet), chance.uniform(6, 14)
        draw.ellipse([140 - radius, 140 - radius, 140 + radius, 140 + radius], outline=0, width=width)
        for side in (-1, 1):
            across, down = 140 + side * radius * 0.35, 140 - radius * 0.3
            draw.ellipse([across - eye, down - eye, across + eye, down + eye], fill=0)
        mouth = [140 - radius * 0.5, 140 - radius * 0.4, 140 + radius * 0.5, 140 + radius * 0.6]
        draw.arc(mouth, 20, 160, fill=0, width=width)
        made.append(_digit(sheet))
    return np.stack(made)


def specks(chance: np.random.Generator) -> Pixels:
    """A hundred nearly empty pictures: one dot or short dash, prepared as a user's picture is."""
    made = []
    for _ in range(100):
        sheet = Image.new("L", (280, 280), 255)
        at, to = chance.uniform(60, 220, 2), chance.uniform(-12, 12, 2)
        ImageDraw.Draw(sheet).line([*at, *(at + to)], fill=0, width=int(chance.integers(8, 20)))
        made.append(_digit(sheet))
    return np.stack(made)


def noise(chance: np.random.Generator) -> dict[str, Pixels]:
    """Uniform, Gaussian, blurred and salt-and-pepper noise."""
    shape = (NOISY, 28, 28)
    uniform = chance.uniform(0, 255, shape)
    normal = (127 + 64 * chance.standard_normal(shape)).clip(0, 255)
    blurred = np.stack([_blurred(one, chance.uniform(0.7, 3)) for one in uniform.astype(np.uint8)])
    salted = np.where(chance.random(shape) < chance.uniform(0.05, 0.5, (NOISY, 1, 1)), 255, 0)
    kinds = {"uniform noise": uniform, "Gaussian noise": normal, "blurred noise": blurred, "salt and pepper": salted}
    return {kind: levels.astype(np.uint8) for kind, levels in kinds.items()}


def _blurred(levels: Pixels, radius: float) -> np.ndarray:
    soft = np.asarray(Image.fromarray(levels).filter(ImageFilter.GaussianBlur(radius)), np.float32)
    return 255 * (soft - soft.min()) / max(float(np.ptp(soft)), 1.0)


def grey(colour: Tensor) -> Pixels:
    """CIFAR-10's pictures as grey ones of 28 × 28 pixels."""
    pictures = (Image.fromarray(one.permute(1, 2, 0).numpy()).convert("L") for one in colour)
    return np.stack([np.asarray(one.resize((28, 28), Image.Resampling.BILINEAR)) for one in pictures])


def others(every: int) -> dict[str, Pixels]:
    """What is no digit, by its name; printed digits, smileys and specks, which have no goal, at the end."""
    chance = np.random.default_rng(0)
    return {
        "Fashion-MNIST": load_data("fashion-mnist").test.images[::every, 0].numpy(),
        "letters": printed(LETTERS),
        f"letters but {ALIKE}": printed("".join(sign for sign in LETTERS if sign not in ALIKE)),
        "CIFAR-10 in grey": grey(load_data("cifar10").test.images[::every]),
        **noise(chance),
        "smileys": smileys(chance),
        "specks": specks(chance),
        "printed digits": printed("0123456789"),
    }


Judge = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From pictures in [0, 1] to how familiar each is, and the logits."""


def judge_of(looker: Looker) -> Judge:
    """The familiarity score of a calibrated model, and its calibrated logits."""
    trust = looker.trust
    assert trust is not None, "run stawm calibrate first"

    def judged(images: Tensor) -> tuple[Tensor, Tensor]:
        episode = looker.model(images)
        return trust.scores(episode), trust.believed(episode.logits)[:, -1]

    return judged


def plain_cnn(digits: ImageSet, epochs: int = 3) -> Judge:
    """A small convolutional network's largest softmax."""
    torch.manual_seed(0)
    assert digits.labels is not None
    net = nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 128), nn.ReLU()),
        *(nn.Dropout(0.5), nn.Linear(128, 10)),
    )
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(epochs):
        for some in torch.randperm(len(digits)).split(128):
            images = digits.images[some].float() / 255
            loss = F.cross_entropy(net(images), digits.labels[some])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    net.eval()

    def judged(images: Tensor) -> tuple[Tensor, Tensor]:
        logits = net(images)
        return logits.softmax(-1).amax(-1), logits

    return judged


@torch.inference_mode()
def judged(judge: Judge, pixels: Pixels | Tensor) -> tuple[np.ndarray, Tensor]:
    """How familiar each picture is, and the logits."""
    parts = [judge(part[:, None].float() / 255) for part in torch.as_tensor(np.asarray(pixels)).split(AT_ONCE)]
    return torch.cat([score for score, _ in parts]).double().numpy(), torch.cat([logits for _, logits in parts])


def auroc(digits: np.ndarray, strange: np.ndarray) -> float:
    """The share of pairs in which the digit is the more familiar one; a tie counts half."""
    ordered = np.sort(digits)
    below, upto = (np.searchsorted(ordered, strange, side) for side in ("left", "right"))
    return float(1 - (below + upto).mean() / (2 * len(ordered)))


def rows(names: tuple[str, ...], every: int) -> Iterator[tuple[str, ...]]:
    """The lines of the table: how each set fares with each model."""
    splits = load_data("mnist")
    digits, sets = part_of(splits.test, slice(None, None, every)), others(every)
    judges = {name: judge_of(Looker(load_trained(name), name)) for name in names}
    judges["plain CNN"] = plain_cnn(part_of(splits.train, slice(55_000)))
    found = {name: judged(judge, digits.images[:, 0]) for name, judge in judges.items()}
    assert digits.labels is not None
    limits = {name: 0.5 if name in names else float(np.quantile(found[name][0], 0.02)) for name in judges}
    yield ("pictures", *judges)
    wrong = {name: (logits.argmax(-1) != digits.labels).double().mean() for name, (_, logits) in found.items()}
    yield ("error on MNIST's test digits", *(f"{100 * share:.2f} %" for share in wrong.values()))
    refused = [f"{100 * (found[name][0] < limits[name]).mean():.2f} %" for name in judges]
    yield ("MNIST's test digits refused", *refused)
    for kind, pixels in sets.items():
        scores = {name: judged(judge, pixels)[0] for name, judge in judges.items()}
        cells = [
            f"{auroc(found[name][0], score):.3f} ({(score < limits[name]).mean():.0%})"
            for name, score in scores.items()
        ]
        yield (f"{kind} ({len(pixels):,})", *cells)


DRAWN, HOW = "drawn, all", ("content", "score")


def digits_as_drawn(name: str, every: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Test digits as they are and drawn in the ways of `robustness`, prepared as for this model, with their labels."""
    looker, made = Looker(load_trained(name), name), {}
    for kind in ("raw", *VARIANTS):
        some = part_of(load_data("mnist").test, slice(None, None, every if kind == "raw" else 10 * every))
        assert some.labels is not None
        made[kind] = torch.stack([one.pixels for one in prepared(kind, looker, some)])[:, 0], some.labels
    return made


@dataclass(frozen=True)
class Seen:
    """What a calibrated model says of some pictures."""

    score: Tensor
    content: Tensor
    """The score without style."""
    logits: Tensor
    calibrated: Tensor


@torch.inference_mode()
def seen(name: str, pixels: Tensor) -> Seen:
    """What the model of that name says of these pictures."""
    looker = Looker(load_trained(name), name)
    trust = looker.trust
    assert trust is not None, "run stawm calibrate first"
    parts, plain = [], replace(trust, style=None)
    for part in pixels.split(AT_ONCE):
        episode = looker.model(part[:, None].float() / 255)
        believed = trust.believed(episode.logits)[:, -1]
        parts.append((trust.scores(episode), plain.scores(episode), episode.logits[:, -1], believed))
    return Seen(*map(torch.cat, zip(*parts, strict=True)))


def all_drawn(kinds: dict[str, Seen]) -> Seen:
    """What was said of the drawn digits, all kinds together."""
    drawn = [vars(kinds[kind]) for kind in VARIANTS]
    return Seen(**{part: torch.cat([each[part] for each in drawn]) for part in drawn[0]})


def calibration(found: dict[str, dict[str, Seen]], labels: dict[str, Tensor]) -> Iterator[tuple[str, ...]]:
    """The lines of the table of calibration errors: each kind of digit, without and with temperature."""
    yield ("digits", *found)
    for kind, truth in labels.items():
        cells = []
        for one in (kinds[kind] for kinds in found.values()):
            gaps = [100 * calibration_error(logits, truth) for logits in (one.logits, one.calibrated)]
            cells.append(f"{gaps[0]:.2f} → {gaps[1]:.2f} % ({(one.score < 0.5).double().mean():.1%} refused)")
        yield (f"{kind} ({len(truth):,})", *cells)


def ranking(found: dict[str, dict[str, Seen]]) -> Iterator[tuple[str, ...]]:
    """The lines of the table of ranks: letters and drawn digits went through our preparation, test digits did not."""
    yield ("AUROC: content alone, with style", *found)
    for more, less in (("raw", "letters"), (DRAWN, "letters"), *(("raw", kind) for kind in (DRAWN, *VARIANTS))):
        cells = []
        for kinds in found.values():
            pairs = [[getattr(kinds[kind], how).double().numpy() for kind in (more, less)] for how in HOW]
            cells.append(", ".join(f"{auroc(*pair):.3f}" for pair in pairs))
        yield (f"{more} above {less}", *cells)


def cost(name: str) -> float:
    """The time of the score as a share of the look's."""
    looker = Looker(load_trained(name), name)
    images = torch.rand(AT_ONCE, 1, 28, 28)
    assert looker.trust is not None
    with torch.inference_mode():
        episode = looker.model(images)
        start = time.perf_counter()
        episode = looker.model(images)
        middle = time.perf_counter()
        for _ in range(10):
            looker.trust.scores(episode)
        return (time.perf_counter() - middle) / 10 / (middle - start)


def table(lines: Iterator[tuple[str, ...]]) -> list[str]:
    """The lines as Markdown, printed as they come."""
    told = []
    for number, line in enumerate(lines):
        told.append(f"| {' | '.join(line)} |")
        print(told[-1], flush=True)
        if number == 0:
            told.append("|" + " --- |" * len(line))
    return told


def main() -> None:
    """Print the tables, and put them between the marks of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", nargs="+", default=SHIPPED, help="calibrated classifiers of MNIST's digits")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="take each N-th picture of the test sets only"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page to write the tables into")
    given = parser.parse_args()
    names = tuple(given.weights)
    parts = [f"`python benchmarks/familiar.py --every {given.every}`:", "", *table(rows(names, given.every)), ""]
    digits, letters = digits_as_drawn(names[0], given.every), torch.from_numpy(printed(LETTERS))
    pixels = {kind: ready for kind, (ready, _) in digits.items()} | {"letters": letters}
    labels = {kind: truth for kind, (_, truth) in digits.items()}
    labels[DRAWN] = torch.cat([labels[kind] for kind in VARIANTS])
    found = {name: {kind: seen(name, ready) for kind, ready in pixels.items()} for name in names}
    found = {name: {**kinds, DRAWN: all_drawn(kinds)} for name, kinds in found.items()}
    parts += [*table(calibration(found, labels)), "", *table(ranking(found)), ""]
    costs = ", ".join(f"{name} {cost(name):.1%}" for name in names)
    parts += [f"The score takes so much of the time of a look (250 pictures, one thread): {costs}."]
    print(parts[-1])
    if given.out:
        page = given.out.read_text(encoding="utf-8")
        before, after = page.partition(START)[0], page.partition(END)[2]
        given.out.write_text("\n".join([before + START, "", *parts, "", END]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
