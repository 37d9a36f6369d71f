"""The card of trained weights: what they are, what they learnt from and on what terms, their scores, their limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stawm.data.data_set import learnt_from
from stawm.experiments.experiment import Experiment

SCORES = {"error": ("error", 100.0, "{:.2f} %"), "mse": ("mean squared error", 1.0, "{:.5f}")}


@dataclass(frozen=True)
class Measured:
    """Scores of one form of the weights on one split."""

    what: str
    split: str
    count: int
    scores: Mapping[str, float]


def card(name: str, experiment: Experiment, epochs: int, measured: Sequence[Measured], note: str = "") -> str:
    """The card in Markdown."""
    about = [
        f"# {name}",
        "",
        f"{experiment.about} {_seen(experiment)} Trained with stawm as its preset `{experiment.name}`: "
        f"`stawm.load({name!r})` gives the model.",
        *(["", note] if note else []),
    ]
    data = ["## Data and terms", "", f"Learnt from {_learnt_from(experiment)}", "", _terms(experiment)]
    recipe = ["## Recipe", "", *_recipe(experiment, epochs)]
    limits = ["## Limits", "", *(f"- {limit}" for limit in _limits(experiment))]
    return "\n".join([*about, "", *data, "", "## Measured", "", *_table(measured), "", *recipe, "", *limits, ""])


def _seen(experiment: Experiment) -> str:
    model = experiment.model
    size = f"{model.image.height}×{model.image.width} pixels, {'grey' if model.image.channels == 1 else 'colour'}"
    if model.kind == "vae":
        return f"It sees whole pictures of {size}."
    return f"It looks {model.glimpses} times, {model.glimpse_height}×{model.glimpse_width} pixels each, at {size}."


def _learnt_from(experiment: Experiment) -> str:
    data = experiment.data
    kept = f", all but the last {data.hold_out:,}, kept for validation" if data.hold_out else ""
    return f"the training pictures of `{data.name}`{kept}; none of its test pictures."


def _terms(experiment: Experiment) -> str:
    data = learnt_from(experiment.data.name)
    if data.research_only:
        return f"{data.terms} The MIT licence of stawm does not cover these weights."
    licence = "The weights are part of stawm (MIT licence); the terms of the pictures may bind their use further."
    return f"{data.terms} {licence}"


def _table(measured: Sequence[Measured]) -> list[str]:
    shown = [score for score in SCORES if all(score in row.scores for row in measured)]
    lines = [("weights", "pictures", *(SCORES[score][0] for score in shown)), ("---",) * (2 + len(shown))]
    for row in measured:
        numbers = [SCORES[score][2].format(SCORES[score][1] * row.scores[score]) for score in shown]
        lines.append((row.what, f"{row.count:,} {row.split}", *numbers))
    return [f"| {' | '.join(line)} |" for line in lines]


def _recipe(experiment: Experiment, epochs: int) -> list[str]:
    training, data = experiment.training, experiment.data
    varied = [f"rotated by up to {data.rotate:g}°"] if data.rotate else []
    varied += [f"warped by {data.warp:g} pixels"] if data.warp else []
    varied += [f"shifted by up to {data.shift} pixels"] if data.shift else []
    varied += ["mirrored"] if data.flip else []
    varied += [f"colours changed by up to {data.jitter:.0%}"] if data.jitter else []
    of = "" if epochs == training.epochs else f" of {training.epochs}"
    lines = [
        f"- {epochs}{of} epochs in batches of {training.batch_size}, {training.optimiser}, schedule "
        f"{training.schedule} from {training.learning_rate:g}, seed {experiment.seed}",
        f"- pictures {', '.join(varied) or 'as they are'}",
    ]
    lines += [f"- weights averaged with decay {training.average:g}"] if training.average else []
    lines += [f"- started from `{training.start_from}`"] if training.start_from else []
    return [*lines, "- every setting is in `config.json`", *(f"- {departure}" for departure in experiment.deviations)]


def _limits(experiment: Experiment) -> list[str]:
    model = experiment.model
    limits = [f"It has only seen pictures like those of `{experiment.data.name}`; others get an answer all the same."]
    if model.classes:
        limits.append(
            f"It always names one of its {model.classes} classes, and its confidence has not been calibrated."
        )
    if model.draws:
        limits.append("Its drawings are blurred sketches of what it remembers, not copies of the picture.")
    return [*limits, "One run of one seed; made for research and teaching, not for decisions about people."]


def scores_of(found: Mapping[str, Any]) -> dict[str, float]:
    """The scores that a card tells, of what `evaluate` found."""
    return {name: float(found["scores"][name]) for name in SCORES if name in found["scores"]}
