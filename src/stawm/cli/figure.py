"""`stawm figure`.

On some test pictures of a run:
{figures}

A file that ends in .gif or .webp makes {films} a film with one frame for each glimpse; {charts} can also be written to
.pdf or .svg.

Examples:
  stawm figure looked runs/mnist-5k-classify-seed0 --out looked.png
  stawm figure stages runs/mnist-5k-draw-seed0 --out stages.gif
  stawm figure reconstructions runs/cifar10-draw-16-seed0 runs/cifar10-vae-seed0 --pictures 10
  stawm figure traversal runs/mnist-5k-draw-seed0 --glimpse 2
  stawm figure curve runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --out curve.pdf
  stawm figure anytime results/*.json --out anytime.png
  stawm figure compare runs/compare/recall --x pairs --out recall.pdf
"""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from stawm.cli.options import DataDir, flag


def figure(
    name: Annotated[str, Positional, arg(metavar="NAME", help="what to draw")],
    runs: Annotated[tuple[str, ...], Positional, flag("run folders (but for curve also folders of weights)", "RUN")],
    *,
    out: Annotated[Path | None, flag("the picture's file", "FILE", "(RUN/NAME.png)")] = None,
    pictures: Annotated[int, arg(metavar="N", help="how many test pictures to show")] = 6,
    glimpse: Annotated[int | None, flag("which one", "N", "(traversal: the first; masks: last and best)")] = None,
    data: Annotated[str | None, flag("pictures of this data set", "NAME", "(the one of the experiment)")] = None,
    data_dir: DataDir = None,
    x: Annotated[str, flag("what of a grid stands across", "NAME", "(the first that is a number)")] = "",
    score: Annotated[str, flag("what of a grid is drawn", "NAME", "(its first score)")] = "",
) -> None:
    """Draw where a trained model looked, what it drew, where it erred, how runs learnt, or a grid of them."""
    from stawm.show.draw import draw_figure

    options = {"pictures": pictures, "glimpse": glimpse, "data": data, "data_dir": data_dir, "x": x, "score": score}
    print(draw_figure(name, runs, out, **options))


def more() -> str:
    """The end of the help, with all figures that are known."""
    from stawm.show.figure import FIGURES, Chart

    figures = "\n".join(f"  {name:17}{figure.about()}" for name, figure in FIGURES.items())
    films = " and ".join(name for name, figure in FIGURES.items() if figure.film)
    charts = " and ".join(name for name, figure in FIGURES.items() if issubclass(figure, Chart))
    return (__doc__ or "").format(figures=figures, films=films, charts=charts)
