"""Typed overrides: `--training.epochs 3` changes that field of a preset; a mistake is told in one line."""

import io
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from stawm.errors import UsageError
from stawm.experiments.experiment import DataConfig, Experiment, ModelConfig, TrainingConfig
from stawm.experiments.facts import held
from stawm.experiments.recipe import changes
from stawm.ranges import leaves

WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text", NoneType: "None"}
HELP = "`stawm train PRESET --help` lists them all"


@dataclass(frozen=True)
class Settings:
    """Every field can be set on the command line."""

    seed: int
    """Seed of everything random."""
    model: ModelConfig
    data: DataConfig
    training: TrainingConfig


def override(experiment: Experiment, arguments: Sequence[str]) -> Experiment:
    """The experiment with the fields named in `arguments` replaced; departures about those are dropped."""
    if not arguments:
        return experiment
    before = _settings(experiment)
    given = _by_flag(arguments, before)
    after = _tyro_quietly(before, arguments)
    if after is None:
        raise UsageError(_blame(given, before))
    changed = replace(experiment, **{part.name: getattr(after, part.name) for part in fields(Settings)})
    return replace(changed, departures=held(changed.departures, changes(changed, experiment)))


def print_fields(experiment: Experiment) -> None:
    """Print every field that can be overridden, with its type, meaning and present value."""
    with suppress(SystemExit):
        _tyro(_settings(experiment), ["--help"], f"stawm train {experiment.name}")


def field_values(record: Any) -> Iterator[tuple[str, Any]]:
    """Each leaf of nested records as (dotted name, value)."""
    return ((name, value) for name, value, _ in leaves(record))


def _settings(experiment: Experiment) -> Settings:
    return Settings(*(getattr(experiment, part.name) for part in fields(Settings)))


def _tyro(settings: Settings, arguments: Sequence[str], prog: str) -> Settings:
    import tyro

    return tyro.cli(Settings, default=settings, args=list(arguments), prog=prog, config=(tyro.conf.FlagConversionOff,))


def _tyro_quietly(settings: Settings, arguments: Sequence[str]) -> Settings | None:
    """The settings, or none where tyro would print a box about them; the one line for it is `_blame`'s."""
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        try:
            return _tyro(settings, arguments, "")
        except SystemExit:
            return None


def _by_flag(arguments: Sequence[str], settings: Settings) -> list[list[str]]:
    """The arguments cut before each flag; an unknown flag is a `UsageError` that offers the nearest."""
    known = {f"--{name}".replace("_", "-"): name for name, _ in field_values(settings)}
    groups: list[list[str]] = []
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if not flag.startswith("--"):
            if not groups:
                raise UsageError(f"{argument!r} is one argument too many; fields are set as --training.epochs 3")
            groups[-1].append(argument)
            continue
        if flag.replace("_", "-") not in known:
            raise UsageError(f"there is no option or field {flag}; {_nearest(flag, list(known))}{HELP}")
        groups.append([flag.replace("_", "-"), *([value] if equals else [])])
    return groups


def _nearest(flag: str, known: list[str]) -> str:
    leaf = flag.rpartition(".")[2].lstrip("-")
    near = [name for name in known if name.rpartition(".")[2].lstrip("-") == leaf] or get_close_matches(flag, known, 1)
    return f"did you mean {near[0]}? " if near else ""


def _blame(given: list[list[str]], settings: Settings) -> str:
    """What is wrong with the first flag that cannot be understood on its own."""
    for group in given:
        if _tyro_quietly(settings, group) is None:
            name = group[0].removeprefix("--").replace("-", "_")
            got = f"not {' '.join(group[1:])!r}" if group[1:] else "and none was given"
            return f"{group[0]} takes {_in_words(_type_of(settings, name))}, {got}"
    return f"the fields {' '.join(group[0] for group in given)} cannot be set together"


def _type_of(record: Any, name: str) -> Any:
    first, _, rest = name.partition(".")
    inside = record[first] if isinstance(record, dict) else getattr(record, first)
    return _type_of(inside, rest) if rest else get_type_hints(type(record))[first]


def _in_words(kind: Any) -> str:
    if kind in WORDS:
        return WORDS[kind]
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return f"{_in_words(get_args(kind)[0])}, or several"
    return " or ".join(_in_words(part) for part in get_args(kind))
