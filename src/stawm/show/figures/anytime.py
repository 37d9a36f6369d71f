"""How good the answer is after each glimpse, one line for runs that differ only in their seed."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stawm.errors import UsageError
from stawm.ledger.entries import read_entry
from stawm.measure.evaluate import evaluate
from stawm.model.heads.head import known_scores
from stawm.show.figure import FIGURES, Chart
from stawm.show.plot import Run, by_recipe, line_chart, over_seeds, titled
from stawm.show.request import Request

if TYPE_CHECKING:
    import matplotlib.figure

logger = logging.getLogger(__name__)


@FIGURES.add("anytime")
class Anytime(Chart):
    """The error after each glimpse, of runs or of entries of the ledger (results/NAME.json)."""

    runs = None

    def plot(self, request: Request) -> "matplotlib.figure.Figure":
        """Models that answer after each glimpse; entries of the ledger that do not are left out."""
        given = zip(request.names, request.runs, strict=True)
        models = [(_recorded if run.endswith(".json") else _measured)(name, run, request) for name, run in given]
        answering = [model for model in models if model.found]
        if answering and (silent := len(models) - len(answering)):
            logger.warning("%d of %d entries do not answer after each glimpse and are left out", silent, len(models))
        return error_after_each(answering or models)


def error_after_each(models: Sequence[Run]) -> "matplotlib.figure.Figure":
    """A chart of the shares of wrong answers that were found after glimpse 1, 2, …; the legend tells first and last."""
    score, lines = known_scores()["error"], {}
    for name, group in by_recipe(list(map(_answering, models))).items():
        line = over_seeds([dict(enumerate(model.found, 1)) for model in group])
        first = score.told(float(line.means[0])).removesuffix(score.unit).strip()
        lines[f"{name}: {first} to {line.end(score)}"] = line.scaled(score.factor)
    pictures = "test" if all(model.split == "test" for model in models) else "held-out"
    return line_chart(f"{titled(score)} of {pictures} pictures after each glimpse", "glimpse", lines, dots=True)


def _answering(model: Run) -> Run:
    if not model.found:
        raise UsageError(
            f"{model.name} does not answer after each glimpse; give a model that classifies from its memory"
        )
    return model


def _recorded(name: str, run: str, _: Request) -> Run:
    entry = read_entry(Path(run))
    return Run(name, entry.experiment, entry.measured.split, entry.measured.error_after_glimpse)


def _measured(name: str, run: str, request: Request) -> Run:
    trained, pictures = request.open(run)
    found = evaluate(trained.model, pictures)["error_after_glimpse"]
    return _answering(Run(name, trained.experiment, found=found))
