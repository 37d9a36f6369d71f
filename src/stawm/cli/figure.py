"""`stawm figure`."""

from pathlib import Path

from PIL import Image

from stawm.cli.parser import Parser
from stawm.errors import CheckpointError, UsageError
from stawm.storage import whole_file

ABOUT = """\
Draw a picture of a run: `looked` shows where the model looked on some test pictures, what it saw and what it believed
after each glimpse; `curve` shows how one or several runs learnt."""

EXAMPLES = """\
  stawm figure looked runs/mnist-5k-classify-seed0 --out looked.png
  stawm figure curve runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --out curve.png"""

KINDS = ("looked", "curve")


def run(arguments: list[str]) -> int:
    """Draw the figure that `arguments` ask for and say where it is."""
    parser = Parser("figure", ABOUT, EXAMPLES)
    parser.add_argument("kind", choices=KINDS, help="what to draw")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run folder (for looked also a folder of weights)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the picture's file (RUN/looked.png, RUN/curve.png)")
    parser.add_argument("--pictures", type=int, default=6, metavar="N", help="how many test pictures to show (6)")
    parser.add_argument("--data", metavar="NAME", help="pictures of this data set (the one of the experiment)")
    parser.takes_data_dir()
    given = parser.parse_args(arguments)
    out = given.out or Path(given.runs[0]) / f"{given.kind}.png"
    _check_suffix(out)
    if given.kind == "curve":
        drawn = _curve(given.runs)
    elif len(given.runs) > 1:
        raise UsageError(f"looked draws one run, not {len(given.runs)}; give one")
    elif given.pictures < 1:
        raise UsageError(f"--pictures takes at least 1, not {given.pictures}")
    else:
        drawn = _looked(given.runs[0], given.data, given.data_dir, given.pictures)
    with whole_file(out) as partial:
        drawn.save(partial, Image.registered_extensions()[out.suffix.lower()])
    print(out)
    return 0


def _check_suffix(out: Path) -> None:
    if Image.registered_extensions().get(out.suffix.lower()) not in Image.SAVE:
        raise UsageError(f"{out} does not end like a picture; write to a .png or .jpg file")


def _looked(model: str, data: str | None, data_dir: Path | None, count: int) -> Image.Image:
    import torch

    from stawm.cli.trained import open_trained
    from stawm.data import batch_of
    from stawm.show.looked import where_it_looked
    from stawm.training.evaluate import check_fits

    trained, pictures = open_trained(model, data, data_dir, "cpu")
    check_fits(pictures, trained.experiment.model)
    # Evenly spread over the set, since a set may be sorted by class.
    spread = torch.linspace(0, len(pictures) - 1, min(count, len(pictures))).round().long()
    batch = batch_of(pictures, spread)
    with torch.no_grad():
        episode = trained.model(batch.images)
    return where_it_looked(episode, labels=batch.labels, classes=pictures.classes, pictures=count)


def _curve(runs: list[str]) -> Image.Image:
    from stawm.show.curve import learning_curve
    from stawm.training.records import METRICS, read_metrics

    records = {Path(run).resolve().name: read_metrics(Path(run)) for run in runs}
    for run in runs:
        if not records[Path(run).resolve().name]:
            raise CheckpointError(f"there is no finished epoch in {run} (no {METRICS}); give the folder of a run")
    return learning_curve(records)
