"""How good the answer is after each glimpse, one line for runs that differ only in their seed."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stawm.errors import UsageError
from stawm.measure.evaluate import evaluate
from stawm.model.heads.head import known_scores
from stawm.show.figure import FIGURES, Chart
from stawm.show.plot import line_chart, titled
from stawm.show.request import Request
from stawm.show.seeds import Run, by_recipe, over_seeds

if TYPE_CHECKING:
    import matplotlib.figure

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Model(Run):
    """A model with its share of wrong answers after glimpse 1, 2, …; none if it does not answer."""

    errors: Sequence[float] = ()


@FIGURES.add("anytime")
class Anytime(Chart):
    """The error after each glimpse, of runs or of entries of the ledger (results/NAME.json)."""

    runs = None

    def plot(self, request: Request) -> "matplotlib.figure.Figure":
        """Models that answer after each glimpse; entries of the ledger that do not are left out."""
        given = zip(request.names, request.runs, strict=True)
        models = [(_recorded if run.endswith(".json") else _measured)(name, run, request) for name, run in given]
        answering = [model for model in models if model.errors]
        silent = len(models) - len(answering)
        if answering and silent:
            logger.warning("%d of %d entries do not answer after each glimpse and are left out", silent, len(models))
        return error_after_each(answering or models)


def error_after_each(models: Sequence[Model]) -> "matplotlib.figure.Figure":
    """A chart of the errors of `models` after glimpse 1, 2, …; the legend tells the first and the last."""
    score, lines = known_scores()["error"], {}
    for name, group in by_recipe(models).items():
        for model in group:
            check_answers(model)
        line = over_seeds([dict(enumerate(model.errors, 1)) for model in group])
        first = score.told(float(line.means[0])).removesuffix(score.unit).strip()
        lines[f"{name}: {first} to {line.end(score)}"] = line.scaled(score.factor)
    pictures = "test" if all(model.split == "test" for model in models) else "held-out"
    return line_chart(f"{titled(score)} of {pictures} pictures after each glimpse", "glimpse", lines, dots=True)


def check_answers(model: Model) -> None:
    """Refuse a model that does not answer after each glimpse."""
    if not model.errors:
        raise UsageError(
            f"{model.name} does not answer after each glimpse; give a model that classifies from its memory"
        )


def _recorded(name: str, run: str, request: Request) -> Model:
    """What the ledger has of a model."""
    entry = request.entry(run)
    return Model(name, entry.experiment, entry.measured.split, entry.measured.error_after_glimpse)


def _measured(name: str, run: str, request: Request) -> Model:
    """A trained model and its errors on all test pictures."""
    trained, pictures = request.open(run)
    found = evaluate(trained.model, pictures)["error_after_glimpse"]
    model = Model(name, trained.experiment, errors=found)
    check_answers(model)
    return model
