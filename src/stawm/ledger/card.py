"""The card of trained weights: what they are, what they learnt from and on what terms, their scores, their limits."""

from collections.abc import Sequence
from dataclasses import dataclass

from stawm.baselines.rival import RIVALS
from stawm.data.data_set import learnt_from
from stawm.experiments.experiment import STAWM, Experiment
from stawm.experiments.facts import score_of
from stawm.experiments.recipe import changes, departures, nearest, paper_experiment, told_changes
from stawm.ledger.entries import Entry, Measurement
from stawm.ledger.table import markdown
from stawm.model.heads.head import known_scores

NUMBERS = ("One run", "Two runs", "Three runs", "Four runs")


@dataclass(frozen=True)
class Facts:
    """All that a card is made of."""

    name: str
    experiment: Experiment
    epochs: int
    """Epochs done."""
    measured: Sequence[tuple[str, Measurement]]
    """What was found with which form of the weights."""
    runs: Sequence[Entry] = ()
    """The entries of the runs that led to the weights, one after the other; none if they are not in the ledger."""
    note: str = ""
    calibrated: bool = False
    """Whether trust in its answers was fitted (`stawm calibrate`)."""


def card(facts: Facts) -> str:
    """The card in Markdown."""
    experiment = facts.experiment
    about = [
        f"# {facts.name}",
        "",
        f"{about_of(experiment)} {_seen(experiment)} `stawm.load({facts.name!r})` gives the model.",
        *(["", facts.note] if facts.note else []),
    ]
    data = ["## Data and terms", "", _learnt_from(experiment), "", _terms(experiment)]
    recipe = ["## Recipe", "", *_runs(facts), *_recipe(facts)]
    departed = _listed("## Departures from the paper", departures(experiment))
    base = nearest(experiment) or experiment
    changed = _listed(f"## Changes of the preset `{base.name}`", told_changes(changes(experiment, base)))
    limits = ["## Limits", "", *(f"- {limit}" for limit in _limits(experiment, facts.calibrated))]
    measured = ["## Measured", "", *_table(facts.measured)]
    return "\n".join([*about, "", *data, "", *measured, "", *recipe, "", *departed, *changed, *limits, ""])


def about_of(experiment: Experiment) -> str:
    """What the model does: in the words of the paper's experiment, where it is one, whatever the recipe was."""
    base = nearest(experiment) or experiment
    return paper_experiment(base).about if base.published else base.about


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [title, "", *(f"- {line}" for line in lines), ""] if lines else []


def _seen(experiment: Experiment) -> str:
    model = experiment.model
    size = f"{model.image.height}×{model.image.width} pixels, {'grey' if model.image.channels == 1 else 'colour'}"
    if model.kind != STAWM and not RIVALS[model.kind].looks:
        return f"It sees whole pictures of {size}."
    return f"It looks {model.glimpses} times, {model.glimpse_height}×{model.glimpse_width} pixels each, at {size}."


def _learnt_from(experiment: Experiment) -> str:
    data = experiment.data
    kept = f", all but the last {data.hold_out:,}, kept for validation" if data.hold_out else ""
    return f"Learnt from the training pictures of `{data.name}`{kept}; none of its test pictures."


def _terms(experiment: Experiment) -> str:
    data = learnt_from(experiment.data.name)
    free = "The weights are part of stawm (MIT licence); the terms of the pictures may bind their use further."
    return f"{data.terms} {'The MIT licence of stawm does not cover these weights.' if data.research_only else free}"


def _table(measured: Sequence[tuple[str, Measurement]]) -> list[str]:
    shared = [name for name in known_scores() if measured and all(name in found.scores for _, found in measured)]
    cells = [
        (what, f"{found.count:,} {found.split}", *(score_of(name).told(found.scores[name]) for name in shared))
        for what, found in measured
    ]
    return markdown(("weights", "pictures", *(score_of(name).title for name in shared)), cells)


def _runs(facts: Facts) -> list[str]:
    """The preset, by its name only if the weights were trained with it, and the commands that train them again."""
    base, count = nearest(facts.experiment), len(facts.runs)
    if base is None:
        return []
    changed = changes(facts.experiment, base)
    settings = f"the settings of the preset `{base.name}`{', with the changes below' if changed else ''}"
    if not facts.runs:
        return [f"One run with {settings}.", ""]
    epochs = " + ".join(str(run.epochs) for run in facts.runs)
    often = NUMBERS[count - 1] if count <= len(NUMBERS) else f"{count} runs"
    last = "the last with " if count > 1 else "with "
    commands = ["```sh", *(run.command for run in facts.runs), "```", ""]
    then = ["The last run:", ""] if count > 1 else []
    return [f"{often} of {epochs} epochs, {last}{settings}:", "", *commands, *then]


def _recipe(facts: Facts) -> list[str]:
    training, data = facts.experiment.training, facts.experiment.data
    pixels = f"{data.shift} pixel{'s' * (data.shift > 1)}"
    varied = [f"rotated by up to {data.rotate:g}°"] if data.rotate else []
    varied += [f"made of digits turned by up to {data.turn:g}°"] if data.turn else []
    varied += [f"warped by {data.warp:g} pixels"] if data.warp else []
    varied += [f"shifted by up to {pixels}"] if data.shift else []
    varied += ["mirrored"] if data.flip else []
    varied += [f"{data.strokes:.0%} of the 1s with an upstroke and of the 7s with a bar"] if data.strokes else []
    varied += [f"colours changed by up to {data.jitter:.0%}"] if data.jitter else []
    of = "" if facts.epochs == training.epochs else f" of {training.epochs}"
    lines = [
        f"- {facts.epochs}{of} epochs in batches of {training.batch_size}, {training.optimiser}, schedule "
        f"{training.schedule} from {training.learning_rate:g}, seed {facts.experiment.seed}",
        f"- pictures {', '.join(varied) or 'as they are'}",
    ]
    lines += [f"- moving average of the weights with decay {training.average:g}"] if training.average else []
    lines += [f"- started from `{training.start_from}`"] if training.start_from else []
    return [*lines, "- every setting is in `config.json`"]


def _limits(experiment: Experiment, calibrated: bool) -> list[str]:
    model = experiment.model
    like = f"It has only seen pictures like those of `{experiment.data.name}`;"
    limits = [f"{like} others get an answer all the same."]
    if calibrated:
        limits = [f"{like} of others it says that it does not recognise them, most of the time (docs/trust.md)."]
    if model.classes:
        sure = "was calibrated on held-out pictures" if calibrated else "has not been calibrated"
        limits.append(f"It always names one of its {model.classes} classes, and its confidence {sure}.")
    if model.draws:
        limits.append("Its drawings are blurred sketches of what it remembers, not copies of the picture.")
    return [*limits, "One seed; made for research and teaching, not for decisions about people."]
