"""`stawm masks`.

The model must draw on a Bernoulli canvas. For each picture NAME it writes NAME-mask.png, the mask of best quality (or
that of a glimpse) in the picture's own size, and NAME-cutout.png, the picture with that mask as its transparency.
--glimpse 3 is the alpha of the third sketch, --glimpse 3+ what it and all later ones hide, and what that encloses. The
model sees the middle of a picture, in the proportions that it was trained on; all that it does not see is masked away.

The quality of a mask, from 0 to 1, is told without knowing the truth: how far the colours inside differ from those
just around, and how much of the picture's rim is left free (docs/training.md says what it is worth). Pictures whose
masks are of low quality are named in one line.

Examples:
  stawm masks runs/celeba-draw-32-seed0 me.jpg you.jpg
  stawm masks runs/celeba-draw-32-seed0 my-pictures --glimpse 5 --threshold 0.5 --out cut
  stawm masks runs/composites-draw-32-seed0 my-pictures --glimpse 2+ --size small
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from stawm.cli.options import Device, Images, Json, flag
from stawm.errors import DataError, UsageError
from stawm.files import real, whole_file

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image
    from torch import Tensor

    from stawm.data.pictures import Frame, Shape
    from stawm.experiments.build import Model

AT_ONCE = 32
NAMED = 3
ENDINGS = ("-mask.png", "-cutout.png")
MORE = (".tif", ".tiff", ".gif", ".ppm", ".pgm", ".avif", ".heic")
"""Pictures in a folder, beside those that `stawm look` takes; other files in it are passed over."""
LOW = 0.5
"""Masks of lower quality are named."""
Size = Literal["small", "medium", "large", "own"]
SIDES: dict[Size, int] = {"small": 256, "medium": 512, "large": 1024}
"""The longer side of what is written, in pixels, where the picture is larger."""
LAST, BEST, ON = "last", "best", "+"
LONGEST = 10
"""Letters of a glimpse's number, at most."""


def masks(
    run: Annotated[str, Positional, arg(metavar="RUN", help="a run folder, a folder of weights, or a name")],
    images: Images,
    *,
    glimpse: Annotated[str, arg(metavar="N", help="whose mask: 1, 2, …, last; from one on: 1+, 2+, …; or best")] = BEST,
    threshold: Annotated[float | None, flag("all or nothing: keep what is at least T", "T", "(soft)")] = None,
    size: Annotated[
        Size, arg(help="longer side of what is written: 256, 512, 1024 at most, or the picture's own")
    ] = "own",
    out: Annotated[Path, arg(metavar="DIR", help="where to write")] = Path("masks"),
    device: Device = "auto",
    verbose: Annotated[bool, flag("name every file that is written", aliases=("-v",))] = False,
    json: Json = False,
) -> None:
    """Cut the foreground out of pictures of yours with a trained model."""
    if threshold is not None and not 0 < threshold <= 1:
        raise UsageError(f"--threshold takes a share above 0 and up to 1, not {threshold:g}")
    if glimpse not in (LAST, BEST) and not (glimpse.removesuffix(ON).isdecimal() and len(glimpse) < LONGEST):
        raise UsageError(f"--glimpse takes a number, a number and {ON}, last or best, not {glimpse[:LONGEST]!r}")
    if not images:
        raise UsageError("no pictures are given; name some, or folders of them, after the run")

    from stawm.cli.progress import duration
    from stawm.data.prepare.given import in_words

    started = time.perf_counter()
    paths = _paths(images, out)
    done, broken = _write(_masker(run, glimpse, threshold, device), paths, out, threshold, SIDES.get(size))
    seconds, written = time.perf_counter() - started, [path for one in done for path in one.files]
    if json:
        told = [{"picture": str(one.picture), "quality": one.quality, "low": one.low} for one in done]
        print(dumps({"out": str(out), "seconds": seconds, "files": list(map(str, written)), "pictures": told}))
    elif done:
        files = [(in_words(str(path), None), one.quality) for one in done for path in one.files] if verbose else []
        lines = [f"{name} (quality {quality:.2f})" for name, quality in files]
        middle = f"{'median ' * (len(done) > 1)}quality {median(one.quality for one in done):.2f}"
        print("\n".join([*lines, f"{len(done):,} masks and cut-outs in {out} ({duration(seconds)}), {middle}"]))
        _tell_low([one for one in done if one.low])
    if broken:
        more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
        rest = "; the others are done" if done else ""
        raise DataError(f"{', '.join(broken[:NAMED])}{more} cannot be used; remove or replace them{rest}")


@dataclass(frozen=True)
class _Done:
    """A picture, what was written for it, and how far its mask can be believed."""

    picture: Path
    files: tuple[Path, ...]
    quality: float

    @property
    def low(self) -> bool:
        return self.quality < LOW


def _tell_low(low: "list[_Done]") -> None:
    """One line about masks that are not to be believed."""
    from stawm.data.prepare.given import in_words

    if low:
        worst = sorted(low, key=lambda one: one.quality)[:NAMED]
        named = ", ".join(f"{in_words(one.picture.name)} ({one.quality:.2f})" for one in worst)
        more = f" and {len(low) - NAMED} more" if len(low) > NAMED else ""
        print(f"low quality (below {LOW:g}), look before you use them: {named}{more}")


@dataclass(frozen=True)
class _Masker:
    """A model with masks, the pictures that it takes, which mask is asked for (none: the best), and where it ends.

    A model of N sketches offers 2N masks: that of each, then what each and all after it hide and enclose.
    """

    model: "Model"
    shape: "Shape"
    frame: "Frame"
    place: int | None
    threshold: float

    def masks(self, pixels: "list[np.ndarray]") -> "list[tuple[Tensor, float]]":
        """The mask [height width] of each picture, and its quality."""
        import numpy as np
        import torch

        from stawm.vision.masks import finest, offered

        if not pixels:
            return []
        device = next(self.model.parameters()).device
        images = torch.from_numpy(np.stack(pixels)).to(device).float() / 255
        with torch.no_grad():
            drawn = self.model(images).answers["draw"]
        found = offered(drawn.painting.masks[:, :, 0])
        masks, worth = finest(images, found if self.place is None else found[:, [self.place]], self.threshold)
        return list(zip(masks.cpu(), worth.tolist(), strict=True))


def _masker(name: str, glimpse: str, threshold: float | None, device: str) -> _Masker:
    from stawm.data.data_set import learnt_from
    from stawm.model.heads.draw import DrawingHead
    from stawm.model.stawm import Stawm
    from stawm.store.device import usable
    from stawm.store.weights import load_trained
    from stawm.vision.canvas import BernoulliCanvas
    from stawm.vision.masks import HALF

    trained = load_trained(name)
    model, config = trained.model, trained.experiment.model
    head = model.head("draw") if isinstance(model, Stawm) and "draw" in model.heads else None
    if not (isinstance(head, DrawingHead) and isinstance(head.canvas, BernoulliCanvas)):
        raise UsageError(
            f"{name} ({trained.experiment.name}) has no masks; give a run with model.heads.draw.canvas bernoulli, "
            "such as one of celeba-draw-32"
        )
    number = glimpse.removesuffix(ON)
    if number.isdecimal() and not 1 <= int(number) <= config.glimpses:
        taken = f"a number from 1 to {config.glimpses} (the model's), such a number and {ON}, last or best"
        raise UsageError(f"--glimpse takes {taken}; not {glimpse}")
    frame = learnt_from(trained.experiment.data.name).frame
    later = config.glimpses if glimpse.endswith(ON) else 0
    place = int(number) - 1 + later if number.isdecimal() else {LAST: config.glimpses - 1}.get(glimpse)
    return _Masker(model.to(usable(device)), config.image.shape, frame, place, threshold or HALF)


def _paths(given: Sequence[Path], out: Path) -> list[Path]:
    """Every picture file that was given, on its own or in a folder, each once; not what was written there before."""
    from stawm.data.sets.folder import files_under
    from stawm.look.stream import SUFFIXES

    found: dict[Path, Path] = {}
    for path in given:
        if not (path.is_file() or path.is_dir()):
            what = "is neither a picture nor a folder" if path.exists() else "does not exist"
            raise DataError(f"{path} {what}; give the paths of pictures, or of folders of them")
        if path.is_dir():
            inside = [one for one in files_under(path) if one.suffix.lower() in (*SUFFIXES, *MORE)]
        else:
            inside = [path]
        if path.is_dir() and real(path) in real(out).parents:
            inside = [one for one in inside if real(out) not in real(one).parents]
        elif path.is_dir() and real(path) == real(out):
            inside = [one for one in inside if not _made(one)]
        if not inside:
            raise DataError(f"the folder {path} has no pictures; put some in it")
        found |= {real(one): one for one in inside}
    return list(found.values())


def _made(path: Path) -> bool:
    """Whether a file looks like one of the two that are written for a picture, and the other lies beside it."""
    name = path.name
    pair = [name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)]
    return any(all(path.with_name(f"{stem}{ending}").is_file() for ending in ENDINGS) for stem in pair)


def _names(paths: list[Path], out: Path) -> dict[Path, str]:
    """A name for the files of each picture: its own, numbered if another has it or a picture would be overwritten."""
    given = {real(path) for path in paths}
    taken: set[str] = set()
    names: dict[Path, str] = {}
    for path in paths:
        name, number = path.stem, 1
        # Lower case, since some file systems do not tell the cases apart.
        while name.lower() in taken or any(real(out / f"{name}{ending}") in given for ending in ENDINGS):
            number += 1
            name = f"{path.stem}-{number}"
        taken.add(name.lower())
        names[path] = name
    return names


def _write(
    masker: _Masker, paths: list[Path], out: Path, threshold: float | None, side: int | None
) -> tuple[list[_Done], list[str]]:
    """What was done, and the pictures that could not be read, each with why; files are at most `side` wide or high."""
    from PIL import ImageChops

    from stawm.data.pictures import opacity, pixels_of, upright, why
    from stawm.show.picture import cutout, placed

    names, done, broken = _names(paths, out), list[_Done](), list[str]()
    for start in range(0, len(paths), AT_ONCE):
        read: list[tuple[Path, np.ndarray]] = []
        for path in paths[start : start + AT_ONCE]:
            try:
                read.append((path, pixels_of(path.read_bytes(), masker.shape, masker.frame)))
            except Exception as failure:  # Pillow's decoders raise nearly anything on a damaged file.
                broken.append(f"{path} ({why(failure)})")
        found = masker.masks([pixels for _, pixels in read])
        for (path, _), (mask, worth) in zip(read, found, strict=True):
            picture = upright(path.read_bytes(), colour=True)
            alpha = placed(mask, picture.size, masker.frame, threshold)
            if (own := opacity(path.read_bytes())) is not None:
                alpha = ImageChops.multiply(alpha, own)
            picture, alpha = _within(side, picture), _within(side, alpha, sharp=threshold is not None)
            files = tuple(out / f"{names[path]}{ending}" for ending in ENDINGS)
            for file, made in zip(files, (alpha, cutout(picture, alpha)), strict=True):
                with whole_file(file) as partial:
                    made.save(partial, "PNG")
            done.append(_Done(path, files, worth))
    return done, broken


def _within(side: int | None, picture: "Image.Image", *, sharp: bool = False) -> "Image.Image":
    """The picture, made smaller if its longer side is longer than asked for; `sharp` mixes no levels."""
    if side is None or max(picture.size) <= side:
        return picture
    from PIL import Image

    width, height = (max(1, round(length * side / max(picture.size))) for length in picture.size)
    return picture.resize((width, height), Image.Resampling.NEAREST if sharp else Image.Resampling.LANCZOS)
