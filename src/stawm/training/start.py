"""Starting from trained weights: of the same model, or of one that sees the same and lacks the head that learns."""

from dataclasses import fields, replace
from typing import Any

from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import Model
from stawm.experiments.experiment import ALL, Experiment, ModelConfig
from stawm.store.checkpoint import first_difference
from stawm.store.weights import fingerprint, load_trained


def start_from(model: Model, experiment: Experiment) -> str:
    """Fill `model` with the weights that `training.start_from` names, and return their fingerprint.

    What they do not hold stays as it was initialised: a new head, and rates that now learn (where the trained model
    learnt its own, these are the start).
    """
    source = experiment.training.start_from
    trained = load_trained(source)
    _check_fits(experiment, trained.experiment, source)
    missing, unexpected = model.load_state_dict(trained.model.state_dict(), strict=False)
    new = [f"{place}{name}." for name in experiment.model.heads for place in ("", "heads.")]
    strange = [*unexpected, *(name for name in missing if not name.startswith((*new, "memory.")))]
    if strange:
        raise CheckpointError(
            f"the weights of {source} do not fit {experiment.name}: {strange[0]} is in only one of them"
        )
    return fingerprint(trained.model)


def _check_fits(wanted: Experiment, trained: Experiment, source: str) -> None:
    """Refuse weights of a model that sees otherwise, naming the first setting that differs, or that knows labels."""
    learns = wanted.training.learns
    if learns != ALL and learns in trained.model.heads:
        raise UsageError(
            f"the model of {source} ({trained.name}) has learnt from labels, and self-supervision must not; "
            f"start from a drawing model{f' such as {wanted.after}' if wanted.after else ''}"
        )
    shared = [name for name in wanted.model.heads if name in trained.model.heads]
    difference = first_difference(_sight(wanted.model, shared), _sight(trained.model, shared), "model")
    if difference:
        name, asked, found = difference
        raise UsageError(
            f"the model of {source} ({trained.name}) was trained with {name} = {found!r}, not {asked!r}; "
            f"set --{name} {found} or start from other weights"
        )


def _sight(config: ModelConfig, heads: list[str]) -> dict[str, Any]:
    """The settings that must agree: all but those of other heads, and those that a part says are free."""
    whole = Experiment("", model=replace(config, dropout=0.0, hidden=config.hidden_size)).to_dict()["model"]
    bound = {"memory": _bound(config.memory), "heads": {name: _bound(config.heads[name]) for name in heads}}
    return whole | bound


def _bound(part: Any) -> dict[str, Any]:
    return {one.name: getattr(part, one.name) for one in fields(part) if one.name not in part.free}
