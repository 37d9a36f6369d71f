"""`stawm masks`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stawm.cli.parser import Parser
from stawm.errors import DataError, UsageError
from stawm.files import whole_file

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image
    from torch import Tensor

    from stawm.data.pictures import Frame, Shape
    from stawm.model.stawm import Stawm

ABOUT = """\
Cut the foreground out of pictures of yours with a model that draws on a Bernoulli canvas. For each picture NAME it
writes NAME-mask.png, the alpha of the last glimpse (or of another) in the picture's own size, and NAME-cutout.png, the
picture with that mask as its transparency. The model sees the middle of a picture, in the proportions that it was
trained on; all that it does not see is masked away."""

EXAMPLES = """\
  stawm masks runs/celeba-draw-32-seed0 me.jpg you.jpg
  stawm masks runs/celeba-draw-32-seed0 my-pictures --glimpse 5 --threshold 0.5 --out cut"""

AT_ONCE = 32
NAMED = 3
ENDINGS = ("-mask.png", "-cutout.png")


def run(arguments: list[str]) -> int:
    """Write the masks and cut-outs that `arguments` ask for and name the files."""
    parser = Parser("masks", ABOUT, EXAMPLES)
    parser.add_argument("run", metavar="RUN", help="a run folder, a folder of weights, or a name")
    parser.add_argument("images", metavar="IMAGES", nargs="+", type=Path, help="pictures, or folders of them")
    parser.add_argument("--glimpse", default="last", metavar="N", help="whose mask: 1, 2, … or last (last)")
    parser.add_argument("--threshold", type=float, metavar="T", help="all or nothing: keep what is at least T (soft)")
    parser.add_argument("--out", type=Path, default=Path("masks"), metavar="DIR", help="where to write (masks)")
    parser.takes_device()
    given = parser.parse_args(arguments)
    if given.threshold is not None and not 0 < given.threshold <= 1:
        raise UsageError(f"--threshold takes a share above 0 and up to 1, not {given.threshold:g}")
    if given.glimpse != "last" and not given.glimpse.isdecimal():
        raise UsageError(f"--glimpse takes a number or last, not {given.glimpse!r}")
    paths = _paths(given.images, given.out)
    _write(_masker(given.run, given.glimpse, given.device), paths, given.out, given.threshold)
    return 0


@dataclass(frozen=True)
class _Masker:
    """A model with masks, the pictures that it takes, and whose mask is asked for."""

    model: "Stawm"
    shape: "Shape"
    frame: "Frame"
    glimpse: int

    def masks(self, pixels: "list[np.ndarray]") -> "list[Tensor]":
        """The mask [height width] of each picture."""
        import numpy as np
        import torch

        from stawm.model.heads.draw import Drawn

        if not pixels:
            return []
        device = next(self.model.parameters()).device
        images = torch.from_numpy(np.stack(pixels)).to(device).float() / 255
        with torch.no_grad():
            drawn = self.model(images).answer("draw", Drawn)
        assert drawn.painting.masks is not None
        return list(drawn.painting.masks[:, self.glimpse, 0].cpu())


def _masker(name: str, glimpse: str, device: str) -> _Masker:
    """The model of a run, if it has masks."""
    import torch

    from stawm.data.data_set import learnt_from
    from stawm.model.stawm import Stawm
    from stawm.store.weights import load_trained

    trained = load_trained(name)
    model, config = trained.model, trained.experiment.model
    if not isinstance(model, Stawm) or not _masks(model):
        raise UsageError(
            f"{name} ({trained.experiment.name}) has no masks; give a run with model.heads.draw.canvas bernoulli, "
            "such as one of celeba-draw-32"
        )
    if glimpse != "last" and not 1 <= int(glimpse) <= config.glimpses:
        raise UsageError(f"--glimpse takes a number from 1 to {config.glimpses} (the model's), or last; not {glimpse}")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    frame = learnt_from(trained.experiment.data.name).frame
    shape = (config.image.channels, config.image.height, config.image.width)
    return _Masker(model.to(device), shape, frame, -1 if glimpse == "last" else int(glimpse) - 1)


def _masks(model: "Stawm") -> bool:
    """Whether a model draws sketches that cover each other."""
    from stawm.model.heads.draw import DrawingHead
    from stawm.vision.canvas import BernoulliCanvas

    head = model.head("draw") if "draw" in model.heads else None
    return isinstance(head, DrawingHead) and isinstance(head.canvas, BernoulliCanvas)


def _paths(given: list[Path], out: Path) -> list[Path]:
    """Every picture file that was given, on its own or in a folder, each once; not what was written there before."""
    from stawm.data.folder import files_under

    found: dict[Path, Path] = {}
    for path in given:
        if not path.exists():
            raise DataError(f"there is no picture or folder {path}; give the paths of some")
        inside = list(files_under(path)) if path.is_dir() else [path]
        if path.is_dir() and path.resolve() in out.resolve().parents:
            inside = [one for one in inside if out.resolve() not in one.resolve().parents]
        if not inside:
            raise DataError(f"the folder {path} has no pictures; put some in it")
        found |= {one.resolve(): one for one in inside}
    return list(found.values())


def _names(paths: list[Path], out: Path) -> dict[Path, str]:
    """A name for the files of each picture: its own, numbered if another has it or a picture would be overwritten."""
    given = {path.resolve() for path in paths}
    taken: set[str] = set()
    names: dict[Path, str] = {}
    for path in paths:
        name, number = path.stem, 1
        # Lower case, since some file systems do not tell the cases apart.
        while name.lower() in taken or any((out / f"{name}{ending}").resolve() in given for ending in ENDINGS):
            number += 1
            name = f"{path.stem}-{number}"
        taken.add(name.lower())
        names[path] = name
    return names


def _write(masker: _Masker, paths: list[Path], out: Path, threshold: float | None) -> None:
    """Write all that can be written; then name the files that could not be read, in one line."""
    from stawm.data.pictures import pixels_of, upright, why
    from stawm.show.cutout import cutout, placed

    names = _names(paths, out)
    broken: list[str] = []
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
                _save(made, out / f"{names[path]}{ending}")
    if broken:
        more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
        done = "; the others are done" if len(broken) < len(paths) else ""
        raise DataError(f"{', '.join(broken[:NAMED])}{more} cannot be used; remove or replace them{done}")


def _save(picture: "Image.Image", path: Path) -> None:
    with whole_file(path) as partial:
        picture.save(partial, "PNG")
    print(path)
