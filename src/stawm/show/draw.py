"""A figure, from its name and some runs into a file."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from PIL import Image

from stawm.errors import UsageError
from stawm.files import whole_file
from stawm.show.figure import FIGURES, Chart, Figure
from stawm.show.plot import VECTOR, house_style, save_vector
from stawm.show.request import Request

FILM = (".gif", ".webp")
FRAME_MS, LAST_MS = 600, 1800


def draw_figure(
    name: str,
    runs: Sequence[str],
    out: Path | None = None,
    *,
    pictures: int = 6,
    glimpse: int | None = None,
    data: str | None = None,
    data_dir: Path | None = None,
    x: str = "",
    score: str = "",
) -> Path:
    """The file of the figure `name` of `runs`: `out`, or NAME.png in the first run's folder; whole, or not written.

    A run is a folder of a run, of weights or of a grid, the name of weights, or, for charts, a file of the ledger. The
    file's ending says what is written: a picture, a film (.gif or .webp, where the figure can be one), and for charts
    also .pdf or .svg.
    """
    kind = FIGURES[name]
    if not runs or (kind.runs is not None and len(runs) > kind.runs):
        most = {None: "one run or more", 1: "one run"}.get(kind.runs, f"at most {kind.runs} runs")
        raise UsageError(f"{name} draws {most}, not {len(runs)}")
    if pictures < 1:
        raise UsageError(f"--pictures takes at least 1, not {pictures}")
    if glimpse is not None and not kind.chooses:
        able = " and ".join(one for one, other in FIGURES.items() if other.chooses)
        raise UsageError(f"{name} draws no single glimpse; leave --glimpse, which is for {able}")
    first = Path(runs[0])
    path = out or _beside(first, name)
    _check_suffix(path, name, kind)
    figure, film = kind(), kind.film and path.suffix.lower() in FILM
    request = Request(name, tuple(runs), pictures, glimpse, data, data_dir, x, score, film)
    with house_style() if isinstance(figure, Chart) else nullcontext():
        if isinstance(figure, Chart) and path.suffix.lower() in VECTOR:
            save_vector(figure.plot(request), path)
        else:
            _save(figure.draw(request), path)
    return path


def _beside(run: Path, figure: str) -> Path:
    """FIGURE.png in the folder of a run, or beside a file of the ledger; of weights by name, NAME-FIGURE.png here."""
    if run.is_dir():
        return run / f"{figure}.png"
    return run.parent / (f"{figure}.png" if run.suffix == ".json" else f"{run.name}-{figure}.png")


def _check_suffix(path: Path, name: str, kind: type[Figure]) -> None:
    suffix = path.suffix.lower()
    if suffix in VECTOR:
        if not issubclass(kind, Chart):
            raise UsageError(f"{name} is made of pixels and cannot be a {suffix} file; write to a .png file")
    elif Image.registered_extensions().get(suffix) not in Image.SAVE:
        more = ", .pdf or .svg" if issubclass(kind, Chart) else ""
        raise UsageError(f"{path} does not end like a picture; write to a .png, .jpg, .gif or .webp{more} file")


def _save(frames: list[Image.Image], path: Path) -> None:
    kind = Image.registered_extensions()[path.suffix.lower()]
    film = {}
    if len(frames) > 1:
        times = [FRAME_MS] * (len(frames) - 1) + [LAST_MS]
        film = {"save_all": True, "append_images": frames[1:], "duration": times, "loop": 0}
    if kind == "WEBP":
        film |= {"lossless": True}
    with whole_file(path) as partial:
        frames[0].save(partial, kind, **film)
