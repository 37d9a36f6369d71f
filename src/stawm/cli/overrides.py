"""Every setting of an experiment as a flag: `--training.epochs 3`, `--model.memory.rule delta-rule`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from tyro.conf import Fixed, Suppress

from stawm.baselines.rival import RIVALS, RivalConfig
from stawm.cli.options import Settings, flag, parsed
from stawm.errors import UsageError
from stawm.experiments.experiment import STAWM, DataConfig, Experiment, ModelConfig, TrainingConfig
from stawm.experiments.facts import held
from stawm.experiments.recipe import changes
from stawm.memory.protocol import other_rule
from stawm.model.heads.head import HEADS, HeadConfig

HEAD = "--model.heads."
WITHOUT = "Heads to leave out; one is added by naming one of its settings, as in --model.heads.draw.latent 4."


@dataclass(frozen=True)
class AllSettings(Settings):
    """Every setting of an experiment; each is a flag, with the experiment's own value as default."""

    base: Annotated[Experiment, Fixed, Suppress]
    """The experiment that they are the settings of."""
    seed: int
    """Seed of everything random."""
    model: ModelConfig
    data: DataConfig
    training: TrainingConfig
    without_head: Annotated[tuple[str, ...], flag(WITHOUT, "NAME ...")] = ()

    @property
    def experiment(self) -> Experiment:
        """The experiment with these settings; departures about what they change are dropped."""
        changed = replace(self.base, seed=self.seed, model=self.model, data=self.data, training=self.training)
        return replace(changed, departures=held(changed.departures, changes(changed, self.base)))


def override(experiment: Experiment, arguments: Sequence[str]) -> Experiment:
    """The experiment with the settings that `arguments` name replaced; tyro tells what is wrong with them, and leaves.

    Another memory rule brings its own settings (the size stays), and so does another kind of model; a head is added by
    naming one of its settings.
    """
    if not arguments:
        return experiment
    return parsed(settings_of(experiment, arguments), arguments, f"stawm train {experiment.name}").experiment


def settings_of(experiment: Experiment, arguments: Sequence[str]) -> AllSettings:
    """The settings of an experiment, with the memory rule, the heads and the rival that `arguments` speak of."""
    known = experiment.model
    rule = next(iter(values_of(arguments, "--model.memory.rule")), known.memory.rule)
    memory, heads = other_rule(known.memory, rule), _heads(known.heads, arguments)
    model = replace(known, memory=memory, heads=heads, rival=_rival(known, arguments))
    return AllSettings(experiment, experiment.seed, model, experiment.data, experiment.training)


def values_of(arguments: Sequence[str], flag: str) -> list[str]:
    """The values given to a flag, before anything is parsed; none if it is not there."""
    found: list[str] = []
    taking = False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name.startswith("--"):
            taking = name.replace("_", "-") == flag
            found = [value] * bool(equals) if taking else found
        elif taking:
            found.append(argument)
    return found


def _rival(model: ModelConfig, arguments: Sequence[str]) -> RivalConfig:
    kind = next(iter(values_of(arguments, "--model.kind")), model.kind)
    if kind == model.kind:
        return model.rival
    return RivalConfig() if kind == STAWM else RIVALS[kind].Config()


def _heads(heads: dict[str, HeadConfig], arguments: Sequence[str]) -> dict[str, HeadConfig]:
    """The heads without those to leave out, and with those that are named, in the order in which heads are known."""
    left_out = values_of(arguments, "--without-head")
    if strange := [name for name in left_out if name not in heads]:
        raise UsageError(f"there is no head {strange[0]!r} to leave out; the heads are {', '.join(heads)}")
    flags = [argument.removeprefix(HEAD) for argument in arguments if argument.startswith(HEAD)]
    named = {flag.partition(".")[0] for flag in flags if "." in flag.partition("=")[0]}
    spelled = {name.replace("_", "-"): name for name in HEADS}
    wanted = {spelled.get(name.replace("_", "-"), name) for name in named}
    kept = {name: head for name, head in heads.items() if name not in left_out}
    if wanted <= set(kept) and kept:
        return kept
    added = {name: HEADS[name].Config() for name in wanted - set(kept)}
    if not kept | added:
        raise UsageError("a model without heads answers nothing; leave one, or name a setting of another")
    return {name: (kept | added)[name] for name in HEADS if name in kept or name in added}
