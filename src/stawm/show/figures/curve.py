"""How runs learnt: a score after each epoch, one line for runs that differ only in their seed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stawm.errors import UsageError
from stawm.model.heads.head import Score, known_scores
from stawm.show.figure import FIGURES, Chart
from stawm.show.plot import Run, by_recipe, line_chart, over_seeds, titled
from stawm.show.request import Request
from stawm.store.checkpoint import experiment_of, holds_run

if TYPE_CHECKING:
    import matplotlib.figure

LOSS = Score("loss", "loss")
"""What is drawn where runs have no score in common."""


@FIGURES.add("curve")
class Curve(Chart):
    """How one or several runs learnt; those that differ only in their seed are one line."""

    runs = None

    def plot(self, request: Request) -> "matplotlib.figure.Figure":
        """The held-out score, and that of training."""
        runs = [
            Run(name, experiment_of(folder) if holds_run(folder) else None, found=request.records(str(folder)))
            for name, folder in zip(request.names, map(Path, request.runs), strict=True)
        ]
        return learning_curve(runs)


def learning_curve(runs: Sequence[Run]) -> "matplotlib.figure.Figure":
    """A chart of runs (found: a record of each epoch): the held-out score in full lines, that of training in thin ones.

    The score is the first of any head that all runs have; where there is none, it is the loss.
    """
    finished = [run for run in runs if run.found]
    if not finished:
        raise UsageError("there is no finished epoch to draw yet; train for one first")
    score = _shared_score([record for run in finished for record in run.found])
    held_out, training = {}, {}
    for name, group in by_recipe(finished).items():
        found = over_seeds([{record["epoch"]: _held_out(record, score) for record in run.found} for run in group])
        learnt = over_seeds([{record["epoch"]: record["train"][score.name] for record in run.found} for run in group])
        told = f"{name}: {found.end(score)}"
        held_out[told], training[told] = found.scaled(score.factor), learnt.scaled(score.factor)
    notes = ("full: held-out pictures", "thin: training")
    return line_chart(titled(score), "epoch", held_out, training, notes=notes)


def _shared_score(records: Sequence[Mapping[str, Any]]) -> Score:
    scored = [record["train"].keys() & record["held_out"]["scores"].keys() for record in records]
    return next((score for score in known_scores().values() if all(score.name in names for names in scored)), LOSS)


def _held_out(record: Mapping[str, Any], score: Score) -> float:
    held_out = record["held_out"]
    return sum(held_out["terms"].values()) if score is LOSS else held_out["scores"][score.name]
