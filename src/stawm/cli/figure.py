"""`stawm figure`."""

from pathlib import Path

from stawm.cli.parser import Parser

ABOUT = """\
Draw a picture of a run, on some of its test pictures:
{figures}
A file that ends in .gif or .webp makes {films} a film with one frame for each glimpse; {charts} can also be \
written to .pdf or .svg."""

EXAMPLES = """\
  stawm figure looked runs/mnist-5k-classify-seed0 --out looked.png
  stawm figure stages runs/mnist-5k-draw-seed0 --out stages.gif
  stawm figure reconstructions runs/cifar10-draw-16-seed0 runs/cifar10-vae-seed0 --pictures 10
  stawm figure traversal runs/mnist-5k-draw-seed0 --glimpse 2
  stawm figure curve runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --out curve.pdf
  stawm figure anytime results/*.json --out anytime.png"""


def run(arguments: list[str]) -> int:
    """Draw the figure that `arguments` ask for and say where it is."""
    from stawm.show.draw import draw_figure
    from stawm.show.figure import FIGURES, Chart

    listed = "\n".join(f"  {name:17}{figure.about()}" for name, figure in FIGURES.items())
    films = " and ".join(name for name, figure in FIGURES.items() if figure.film)
    charts = " and ".join(name for name, figure in FIGURES.items() if issubclass(figure, Chart))
    parser = Parser("figure", ABOUT.format(figures=listed, films=films, charts=charts), EXAMPLES)
    parser.add_argument("name", metavar="NAME", help=f"what to draw: {', '.join(FIGURES)}")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run folder (but for curve also a folder of weights)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the picture's file (RUN/NAME.png)")
    parser.add_argument("--pictures", type=int, default=6, metavar="N", help="how many test pictures to show (6)")
    parser.add_argument("--glimpse", type=int, metavar="N", help="which one (traversal: the first; masks: the last)")
    parser.add_argument("--data", metavar="NAME", help="pictures of this data set (the one of the experiment)")
    parser.takes_data_dir()
    print(draw_figure(**vars(parser.parse_args(arguments))))
    return 0
