"""What shall vary, as words of a command line: `model.memory.size=64,128`, or labelled bundles of settings."""

import itertools
import re
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from stawm.cli.options import Settings
from stawm.compare.plan import Axis, Value
from stawm.compare.recall.task import RULE, Recall
from stawm.compare.task import Task, check_known
from stawm.compare.training import Training
from stawm.data.data_set import find_data
from stawm.errors import UsageError
from stawm.experiments.own import check_size, fitted_to

PREFIX = re.compile(r"\s*([^\s:=|][^:=|]*):(?=\s|$)")
SETTING = re.compile(r"[A-Za-z_][\w.-]*")
HOW = (
    "give a setting and its values (model.memory.size=64,128), or bundles of settings that vary together, each with a "
    'label if you like ("rule: hebb: model.memory.rule=hebb-rosenblatt model.memory.delta=0.1 | delta: '
    'model.memory.rule=delta-rule")'
)
BOX = "╭╮╰╯│─+|- "
"""What tyro frames its messages with."""


def axis_of(words: str) -> Axis:
    """The axis that one --vary names."""
    parts = [_labels(part) for part in words.split("|")]
    first = parts[0][0]
    # Of two labels before the first bundle, the first names the axis; of one, if no other bundle has one.
    named = len(first) > 1 or bool(first and not any(labels for labels, _ in parts[1:]))
    name, parts[0] = (first[0], (first[1:], parts[0][1])) if named else ("", parts[0])
    if len(parts) == 1 and not parts[0][0]:
        setting, equals, values = parts[0][1].partition("=")
        if equals and len(re.findall(r"=", values)) == 0:
            return _values(name, setting, values, words)
    bundles = [(labels, _bundle(body, words)) for labels, body in parts]
    for (labels, bundle), part in zip(bundles, words.split("|"), strict=True):
        if len(labels) > 1 or not (labels or bundle):
            raise _unread(part, words)
    keys = list(dict.fromkeys(key for _, bundle in bundles for key in bundle))
    if not keys:
        raise UsageError(f"--vary {words!r} names no setting; {HOW}")
    values = [Value(labels[0] if labels else " ".join(bundle.values()), bundle) for labels, bundle in bundles]
    return Axis(name or keys[0], tuple(values))


def seeds_of(words: str) -> tuple[int, ...]:
    """The seeds of `0,1,2`."""
    try:
        return tuple(int(word) for word in words.split(","))
    except ValueError as failure:
        raise UsageError(f"--seeds {words!r} cannot be read; give whole numbers, as in --seeds 0,1,2") from failure


def base_task(settings: Settings) -> Task:
    """The task with the settings that a command line gives for all cells."""
    from stawm.cli.overrides import AllSettings
    from stawm.cli.recall import RecallSettings

    if isinstance(settings, RecallSettings):
        return settings.task
    assert isinstance(settings, AllSettings), "`run` gives the settings of the preset"
    return Training(settings.experiment)


def with_words(task: Task, settings: Mapping[str, Any], *, data_dir: Path | None = None) -> Task:
    """The task with settings that are words replaced, as `stawm train` reads them; mistakes are one line."""
    from stawm.cli.overrides import override, settings_of

    arguments = flags(settings)
    if isinstance(task, Recall):
        from stawm.cli.recall import recall_settings, with_flags

        check_known(recall_settings(task, arguments).task, settings)
        if not any(isinstance(value, str) for name, value in settings.items() if name != RULE):
            return task.changed(settings)  # The grid's own values, which are no words.
        return told_once(lambda: with_flags(task, arguments), settings)
    assert isinstance(task, Training), "the other kind of task that a command line knows"
    base = task.experiment
    if settings.get("data.name", base.data.name) != base.data.name:
        base = fitted_to(base, find_data(settings["data.name"]).facts(data_dir))
        check_size(base.model)
    check_known(Training(settings_of(base, arguments).experiment), settings)
    return Training(told_once(lambda: override(base, arguments), settings))


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Settings as flags."""
    return [word for name, value in settings.items() for word in (f"--{name}", *(str(value).split() or [""]))]


def told_once(parse: Any, settings: Mapping[str, Any]) -> Any:
    """What `parse` returns; what tyro has to say against it is a `UsageError` of one line."""
    told = StringIO()
    try:
        with redirect_stderr(told), redirect_stdout(told):
            return parse()
    except SystemExit as left:
        given = " ".join(f"{name}={value}" for name, value in settings.items())
        raise UsageError(f"{given} cannot be set: {_unboxed(told.getvalue())}") from left


def _unboxed(text: str) -> str:
    """The first paragraph of what tyro prints in a frame, without its title."""
    parts = [line.strip(BOX) for line in text.splitlines()[1:]]
    inside = itertools.dropwhile(lambda part: not part, parts)
    return " ".join(itertools.takewhile(bool, inside)) or "its value does not fit"


def _labels(part: str) -> tuple[list[str], str]:
    """The labels, each with a colon, at the beginning of a part, and the rest."""
    labels: list[str] = []
    while found := PREFIX.match(part):
        labels.append(found[1])
        part = part[found.end() :]
    return labels, part.strip()


def _values(name: str, setting: str, values: str, words: str) -> Axis:
    key = _setting(setting.strip(), words)
    each = [value.strip() for value in values.split(",")]
    return Axis(name or key, tuple(Value(value, {key: value}) for value in each))


def _bundle(body: str, words: str) -> dict[str, str]:
    """The settings of a bundle; a word without = is one more value of the setting before it."""
    found: dict[str, list[str]] = {}
    for word in body.split():
        setting, equals, value = word.partition("=")
        if equals:
            found[_setting(setting, words)] = [value]
        elif found:
            found[next(reversed(found))].append(word)
        else:
            raise _unread(body, words)
    return {setting: " ".join(values) for setting, values in found.items()}


def _unread(part: str, words: str) -> UsageError:
    """What to say of a part that is neither settings nor labels with settings."""
    where = "" if part.strip() == words.strip() else f" at {part.strip()!r}"
    return UsageError(f"--vary {words!r} cannot be read{where}; {HOW}")


def _setting(name: str, words: str) -> str:
    if not SETTING.fullmatch(name):
        raise UsageError(f"--vary {words!r} cannot be read: {name!r} is no name of a setting; {HOW}")
    return name.replace("-", "_")
