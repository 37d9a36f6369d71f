"""`stawm masks`.

The model must draw on a Bernoulli canvas. For each picture NAME it writes NAME-mask.png, the alpha of the last
glimpse (or of another) in the picture's own size, and NAME-cutout.png, the picture with that mask as its
transparency. The model sees the middle of a picture, in the proportions that it was trained on; all that it does
not see is masked away.

Examples:
  stawm masks runs/celeba-draw-32-seed0 me.jpg you.jpg
  stawm masks runs/celeba-draw-32-seed0 my-pictures --glimpse 5 --threshold 0.5 --out cut
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from stawm.cli.options import Device, Images, Json, flag
from stawm.errors import DataError, UsageError
from stawm.files import real, whole_file

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from stawm.data.pictures import Frame, Shape
    from stawm.experiments.build import Model

AT_ONCE = 32
NAMED = 3
ENDINGS = ("-mask.png", "-cutout.png")


def masks(
    run: Annotated[str, Positional, arg(metavar="RUN", help="a run folder, a folder of weights, or a name")],
    images: Images,
    *,
    glimpse: Annotated[str, arg(metavar="N", help="whose mask: 1, 2, … or last")] = "last",
    threshold: Annotated[float | None, flag("all or nothing: keep what is at least T", "T", "(soft)")] = None,
    out: Annotated[Path, arg(metavar="DIR", help="where to write")] = Path("masks"),
    device: Device = "auto",
    verbose: Annotated[bool, flag("name every file that is written", aliases=("-v",))] = False,
    json: Json = False,
) -> None:
    """Cut the foreground out of pictures of yours with a trained model."""
    if threshold is not None and not 0 < threshold <= 1:
        raise UsageError(f"--threshold takes a share above 0 and up to 1, not {threshold:g}")
    if glimpse != "last" and not glimpse.isdecimal():
        raise UsageError(f"--glimpse takes a number or last, not {glimpse!r}")
    if not images:
        raise UsageError("no pictures are given; name some, or folders of them, after the run")

    from stawm.cli.progress import duration

    started = time.perf_counter()
    paths = _paths(images, out)
    written, broken = _write(_masker(run, glimpse, device), paths, out, threshold)
    seconds = time.perf_counter() - started
    if json:
        print(dumps({"out": str(out), "seconds": seconds, "files": [str(path) for path in written]}))
    elif written:
        lines = [str(path) for path in written] if verbose else []
        print("\n".join([*lines, f"{len(written) // 2:,} masks and cut-outs in {out} ({duration(seconds)})"]))
    if broken:
        more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
        done = "; the others are done" if written else ""
        raise DataError(f"{', '.join(broken[:NAMED])}{more} cannot be used; remove or replace them{done}")


@dataclass(frozen=True)
class _Masker:
    """A model with masks, the pictures that it takes, and whose mask is asked for."""

    model: "Model"
    shape: "Shape"
    frame: "Frame"
    glimpse: int

    def masks(self, pixels: "list[np.ndarray]") -> "list[Tensor]":
        """The mask [height width] of each picture."""
        import numpy as np
        import torch

        if not pixels:
            return []
        device = next(self.model.parameters()).device
        images = torch.from_numpy(np.stack(pixels)).to(device).float() / 255
        with torch.no_grad():
            drawn = self.model(images).answers["draw"]
        return list(drawn.painting.masks[:, self.glimpse, 0].cpu())


def _masker(name: str, glimpse: str, device: str) -> _Masker:
    from stawm.data.data_set import learnt_from
    from stawm.model.heads.draw import DrawingHead
    from stawm.model.stawm import Stawm
    from stawm.store.device import usable
    from stawm.store.weights import load_trained
    from stawm.vision.canvas import BernoulliCanvas

    trained = load_trained(name)
    model, config = trained.model, trained.experiment.model
    head = model.head("draw") if isinstance(model, Stawm) and "draw" in model.heads else None
    if not (isinstance(head, DrawingHead) and isinstance(head.canvas, BernoulliCanvas)):
        raise UsageError(
            f"{name} ({trained.experiment.name}) has no masks; give a run with model.heads.draw.canvas bernoulli, "
            "such as one of celeba-draw-32"
        )
    if glimpse != "last" and not 1 <= int(glimpse) <= config.glimpses:
        raise UsageError(f"--glimpse takes a number from 1 to {config.glimpses} (the model's), or last; not {glimpse}")
    frame = learnt_from(trained.experiment.data.name).frame
    return _Masker(model.to(usable(device)), config.image.shape, frame, -1 if glimpse == "last" else int(glimpse) - 1)


def _paths(given: Sequence[Path], out: Path) -> list[Path]:
    """Every picture file that was given, on its own or in a folder, each once; not what was written there before."""
    from stawm.data.sets.folder import files_under

    found: dict[Path, Path] = {}
    for path in given:
        if not (path.is_file() or path.is_dir()):
            raise DataError(f"there is no picture or folder {path}; give the paths of some")
        inside = list(files_under(path)) if path.is_dir() else [path]
        if path.is_dir() and real(path) in real(out).parents:
            inside = [one for one in inside if real(out) not in real(one).parents]
        if not inside:
            raise DataError(f"the folder {path} has no pictures; put some in it")
        found |= {real(one): one for one in inside}
    return list(found.values())


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


def _write(masker: _Masker, paths: list[Path], out: Path, threshold: float | None) -> tuple[list[Path], list[str]]:
    """The files that were written, two for each picture, and the pictures that could not be read, each with why."""
    from stawm.data.pictures import pixels_of, upright, why
    from stawm.show.picture import cutout, placed

    names, written, broken = _names(paths, out), list[Path](), list[str]()
    for start in range(0, len(paths), AT_ONCE):
        read: list[tuple[Path, np.ndarray]] = []
        for path in paths[start : start + AT_ONCE]:
            try:
                read.append((path, pixels_of(path.read_bytes(), masker.shape, masker.frame)))
            except Exception as failure:  # Pillow's decoders raise nearly anything on a damaged file.
                broken.append(f"{path} ({why(failure)})")
        for (path, _), mask in zip(read, masker.masks([pixels for _, pixels in read]), strict=True):
            picture = upright(path.read_bytes(), colour=True)
            alpha = placed(mask, picture.size, masker.frame, threshold)
            for ending, made in zip(ENDINGS, (alpha, cutout(picture, alpha)), strict=True):
                written.append(out / f"{names[path]}{ending}")
                with whole_file(written[-1]) as partial:
                    made.save(partial, "PNG")
    return written, broken
