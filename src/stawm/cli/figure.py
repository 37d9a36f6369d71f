"""`stawm figure`.

On some test pictures of a run:
  looked           where the model looked, what it saw and what it believed after each glimpse
  stages           the canvas after each sketch, the newly pasted glimpse outlined
  reconstructions  drawings over their targets; with a second run, its drawings above them
  masks            drawings, targets, and targets seen through a glimpse's mask (Bernoulli canvas)
  misclassified    what the model drew and predicted, over what it was shown and what that is
  traversal        the drawing, redrawn as each latent number of one glimpse is changed
  curve            how one or several runs learnt
  anytime          the error after each glimpse, of runs or of entries of the ledger (results/NAME.json)

A file that ends in .gif or .webp makes looked and stages a film with one frame for each glimpse.

Examples:
  stawm figure looked runs/mnist-5k-classify-seed0 --out looked.png
  stawm figure stages runs/mnist-5k-draw-seed0 --out stages.gif
  stawm figure reconstructions runs/cifar10-draw-16-seed0 runs/cifar10-vae-seed0 --pictures 10
  stawm figure traversal runs/mnist-5k-draw-seed0 --glimpse 2
  stawm figure curve runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --out curve.png
  stawm figure anytime results/*.json --out anytime.png
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import TYPE_CHECKING, Annotated

from PIL import Image
from tyro.conf import Positional, arg

from stawm.cli.options import DataDir
from stawm.errors import CheckpointError, UsageError
from stawm.files import whole_file

if TYPE_CHECKING:
    from torch import Tensor

    from stawm.data import ImageSet
    from stawm.model.heads.draw import Drawn
    from stawm.model.heads.head import Answered, Batch
    from stawm.model.stawm import Episode
    from stawm.store.weights import Trained

FILM = (".gif", ".webp")
FRAME_MS, LAST_MS = 600, 1800
AT_ONCE = 250


def figure(
    name: Annotated[str, Positional, arg(metavar="NAME")],
    runs: Annotated[tuple[str, ...], Positional, arg(metavar="RUN", help_behavior_hint="")],
    *,
    out: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="(RUN/NAME.png)")] = None,
    pictures: Annotated[int, arg(metavar="N")] = 6,
    glimpse: Annotated[
        int | None, arg(metavar="N", help_behavior_hint="(traversal: the first; masks: the last)")
    ] = None,
    data: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(the one of the experiment)")] = None,
    data_dir: DataDir = None,
) -> None:
    """Draw where a trained model looked, what it drew, where it erred, or how runs learnt.

    Args:
        name: what to draw
        runs: run folders (but for curve also folders of weights)
        out: the picture's file
        pictures: how many test pictures to show
        glimpse: which one
        data: pictures of this data set
    """
    if not runs:
        raise UsageError(f"no run is given to draw {name} of; name one or more after it")
    first = Path(runs[0])
    file = out or (first.parent if first.suffix == ".json" else first) / f"{name}.png"
    draw_figure(name, runs, file, pictures=pictures, glimpse=glimpse, data=data, data_dir=data_dir)
    print(file)


def draw_figure(
    name: str,
    runs: Sequence[str],
    out: Path,
    *,
    pictures: int = 6,
    glimpse: int | None = None,
    data: str | None = None,
    data_dir: Path | None = None,
) -> None:
    """Draw the figure `name` of `runs` and save it as `out`."""
    if name not in KINDS:
        raise UsageError(f"there is no figure {name!r}; known are {', '.join(KINDS)}")
    _check_suffix(out)
    draw, most = KINDS[name]
    if most is not None and len(runs) > most:
        raise UsageError(f"{name} draws {'one run' if most == 1 else 'at most two runs'}, not {len(runs)}")
    if pictures < 1:
        raise UsageError(f"--pictures takes at least 1, not {pictures}")
    given = Namespace(runs=list(runs), pictures=pictures, glimpse=glimpse, data=data, data_dir=data_dir)
    _save(draw(given, out.suffix.lower() in FILM), out)


@dataclass(frozen=True)
class _Shown:
    """A trained model, its test pictures, some of them, and what it made of those."""

    trained: "Trained"
    pictures: "ImageSet"
    batch: "Batch"
    answers: "Answered"

    def episode(self, kind: str) -> "Episode":
        """Where the model looked, which `kind` cannot do without."""
        from stawm.model.stawm import Episode

        if not isinstance(self.answers, Episode):
            raise UsageError(f"{kind} needs a model that takes glimpses, and {self.name} does not; give another run")
        return self.answers

    def drawn(self, kind: str) -> "Drawn":
        """What the model drew with its glimpses, which `kind` cannot do without."""
        from stawm.model.heads.draw import Drawn

        drawn = self.episode(kind).answers.get("draw")
        if not isinstance(drawn, Drawn):
            raise UsageError(f"{kind} needs a model that draws, and {self.name} only classifies; give another run")
        return drawn

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.trained.experiment.name

    def glimpse(self, asked: int | None, otherwise: int) -> int:
        """The glimpse that was asked for, counted from 0."""
        count = self.trained.experiment.model.glimpses
        if asked is not None and not 1 <= asked <= count:
            raise UsageError(f"--glimpse takes a number from 1 to {count} (the model's glimpses), not {asked}")
        return otherwise if asked is None else asked - 1


def _show(given: Namespace, choose: "Callable[[Trained, ImageSet], Tensor] | None" = None) -> _Shown:
    """The first run and what it makes of the pictures that `choose` names; evenly spread ones if not given."""
    import torch

    from stawm.cli.trained import open_trained
    from stawm.data import batch_of
    from stawm.experiments.check import check_pictures

    trained, pictures = open_trained(given.runs[0], given.data, given.data_dir, "cpu")
    check_pictures(pictures, trained.experiment.model)
    if choose is None:
        # Evenly spread over the set, since a set may be sorted by class.
        chosen = torch.linspace(0, len(pictures) - 1, min(given.pictures, len(pictures))).round().long()
    else:
        chosen = choose(trained, pictures)
    batch = batch_of(pictures, chosen)
    with torch.no_grad():
        return _Shown(trained, pictures, batch, trained.model(batch.images))


def _looked(given: Namespace, film: bool) -> list[Image.Image]:
    from stawm.show.looked import looked_frames, where_it_looked

    shown = _show(given)
    options = {"labels": shown.batch.labels, "classes": shown.pictures.classes, "pictures": given.pictures}
    episode = shown.episode("looked")
    return looked_frames(episode, **options) if film else [where_it_looked(episode, **options)]


def _stages(given: Namespace, film: bool) -> list[Image.Image]:
    from stawm.show.drawing import stages, stages_frames

    shown = _show(given)
    drawn = shown.drawn("stages")
    return stages_frames(drawn, shown.batch.images) if film else [stages(drawn, shown.batch.images)]


def _reconstructions(given: Namespace, film: bool) -> list[Image.Image]:
    import torch
    from torch import Tensor

    from stawm.show.drawing import reconstructions
    from stawm.store.weights import load_trained

    shown = _show(given)
    drawings: dict[str, Tensor] = {}
    for run in given.runs:
        trained = shown.trained if run == given.runs[0] else load_trained(run)
        if trained.experiment.model.image != shown.trained.experiment.model.image:
            raise UsageError(f"the runs {given.runs[0]} and {run} take pictures of different sizes; give two alike")
        with torch.no_grad():
            drawn = trained.model(shown.batch.images).answers.get("draw")
        if drawn is None:
            raise UsageError(f"reconstructions needs models that draw, and {run} only classifies; give another run")
        name = trained.experiment.name
        # The baseline, which is named second, stands on top.
        drawings = {Path(run).resolve().name if name in drawings else name: drawn.canvas} | drawings
    return [reconstructions(drawings, shown.batch.images)]


def _masks(given: Namespace, film: bool) -> list[Image.Image]:
    from stawm.show.drawing import masks

    shown = _show(given)
    return [masks(shown.drawn("masks"), shown.batch.images, shown.glimpse(given.glimpse, -1))]


def _misclassified(given: Namespace, film: bool) -> list[Image.Image]:
    import torch

    from stawm.data import batch_of
    from stawm.show.drawing import misclassified

    def mistakes(trained: "Trained", pictures: "ImageSet") -> "Tensor":
        if trained.experiment.model.classes == 0:
            raise UsageError(f"misclassified needs a model that classifies, and {trained.experiment.name} only draws")
        found: list[int] = []
        # In a fixed shuffled order, so that it is a sample.
        for indices in torch.randperm(len(pictures), generator=torch.Generator().manual_seed(0)).split(AT_ONCE):
            batch = batch_of(pictures, indices)
            with torch.no_grad():
                believed = trained.model(batch.images).answers["classify"]
            found += indices[believed.logits[:, -1].argmax(-1) != batch.labels].tolist()
            if len(found) >= given.pictures:
                break
        if not found:
            raise UsageError(f"none of the {len(pictures):,} test pictures of {pictures.name} is misclassified")
        return torch.tensor(found[: given.pictures])

    shown = _show(given, mistakes)
    return [misclassified(shown.answers, shown.batch, shown.pictures.classes)]


def _traversal(given: Namespace, film: bool) -> list[Image.Image]:
    from stawm.model.heads.draw import DrawingHead
    from stawm.model.stawm import Stawm
    from stawm.show.traversal import traversal, traversed

    shown = _show(given)
    drawn, model = shown.drawn("traversal"), shown.trained.model
    glimpse = shown.glimpse(given.glimpse, 0)
    assert isinstance(model, Stawm)
    head = model.head("draw")
    assert isinstance(head, DrawingHead)
    return [traversal(traversed(head, drawn, glimpse), drawn, shown.batch.images[0], glimpse)]


def _curve(given: Namespace, film: bool) -> list[Image.Image]:
    from stawm.show.curve import learning_curve
    from stawm.training.journal import METRICS, read_metrics

    names = [Path(run).resolve().name for run in given.runs]
    records = {}
    for run, name in zip(given.runs, names, strict=True):
        found = read_metrics(Path(run))
        if not found:
            raise CheckpointError(f"there is no finished epoch in {run} (no {METRICS}); give the folder of a run")
        records[name if names.count(name) == 1 else run] = found
    return [learning_curve(records)]


def _anytime(given: Namespace, film: bool) -> list[Image.Image]:
    from stawm.ledger.entries import read_entry
    from stawm.show.anytime import error_after_each

    names = [Path(run).resolve().name.removesuffix(".json") for run in given.runs]
    errors: dict[str, Sequence[float]] = {}
    for run, name in zip(given.runs, names, strict=True):
        told = name if names.count(name) == 1 else run
        recorded = read_entry(Path(run)).measured.error_after_glimpse if run.endswith(".json") else None
        errors[told] = _errors(run, given) if recorded is None else recorded
    return [error_after_each(errors)]


def _errors(run: str, given: Namespace) -> list[float]:
    """The error of a trained model after each glimpse, on all test pictures."""
    from stawm.cli.trained import open_trained
    from stawm.measure.evaluate import evaluate

    trained, pictures = open_trained(run, given.data, given.data_dir, "cpu")
    return evaluate(trained.model, pictures, config=trained.experiment.model)["error_after_glimpse"]


KINDS: dict[str, tuple[Callable[[Namespace, bool], list[Image.Image]], int | None]] = {
    "looked": (_looked, 1),
    "stages": (_stages, 1),
    "reconstructions": (_reconstructions, 2),
    "masks": (_masks, 1),
    "misclassified": (_misclassified, 1),
    "traversal": (_traversal, 1),
    "curve": (_curve, None),
    "anytime": (_anytime, None),
}
"""Each figure, and the number of runs that it takes at most."""


def _check_suffix(out: Path) -> None:
    if Image.registered_extensions().get(out.suffix.lower()) not in Image.SAVE:
        raise UsageError(f"{out} does not end like a picture; write to a .png, .jpg, .gif or .webp file")


def _save(frames: list[Image.Image], out: Path) -> None:
    kind = Image.registered_extensions()[out.suffix.lower()]
    film = {}
    if len(frames) > 1:
        times = [FRAME_MS] * (len(frames) - 1) + [LAST_MS]
        film = {"save_all": True, "append_images": frames[1:], "duration": times, "loop": 0}
    if kind == "WEBP":
        film |= {"lossless": True}
    with whole_file(out) as partial:
        frames[0].save(partial, kind, **film)
