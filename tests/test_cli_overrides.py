"""Settings on the command line: typed, of the rule and the heads that are named, also of those made outside."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from stawm.cli.overrides import override, values_of
from stawm.errors import UsageError
from stawm.experiments.presets import preset
from stawm.memory.delta_rule import DeltaRule, DeltaRuleConfig
from stawm.memory.protocol import MEMORIES
from stawm.model.heads.classify import ClassificationHead, ClassifyConfig
from stawm.model.heads.draw import DrawConfig
from stawm.model.heads.head import HEADS

CLASSIFIER, ARTIST, BOTH = preset("mnist-5k-classify"), preset("mnist-5k-draw"), preset("mnist-5k-sketchpad")


@dataclass(frozen=True)
class GentleConfig(DeltaRuleConfig):
    """A rule of somebody else's."""

    rule: str = "gentle"
    softness: float = 0.5


class Gentle(DeltaRule):
    Config = GentleConfig


@dataclass(frozen=True)
class CountConfig(ClassifyConfig):
    """A head of somebody else's."""

    most: int = 5


class Count(ClassificationHead):
    Config = CountConfig


@pytest.fixture
def outside() -> Iterator[None]:
    """A rule and a head that a user's script added."""
    MEMORIES.add("gentle", Gentle)
    HEADS.add("count_them", Count)
    yield
    for registry, name in ((MEMORIES, "gentle"), (HEADS, "count_them")):
        registry._things.pop(name)


def test_settings_are_typed():
    plain = preset("mnist-classify-8")
    numbers = (
        "--training.epochs 3 --model.context.filters 1 2 3 --model.hidden 5 --seed 4 --training.learning_rate=-0.5"
    )
    words = "--data.flip True --model.memory.read responses --data.name folder:some/where --training.start-from x"
    changed = override(plain, f"{numbers} {words}".split())
    assert (changed.training.epochs, changed.training.learning_rate, changed.training.start_from) == (3, -0.5, "x")
    assert (changed.model.context.filters, changed.model.hidden, changed.seed) == ((1, 2, 3), 5, 4)
    assert (changed.data.flip, changed.data.name) == (True, "folder:some/where")
    assert changed.model.memory == replace(plain.model.memory, read="responses")
    assert changed.model.glimpse == plain.model.glimpse
    assert changed.name == plain.name
    assert override(plain, []) is plain
    assert override(plain, ["--training.start_from", "x"]) == override(plain, ["--training.start-from=x"])


def test_another_rule_brings_its_settings_and_keeps_the_size():
    changed = override(CLASSIFIER, ["--model.memory.eta", "0.5", "--model.memory.rule", "delta-rule"])
    assert changed.model.memory == DeltaRuleConfig(size=128, eta=0.5)
    sized = override(CLASSIFIER, ["--model.memory.rule=delta-rule", "--model.memory.size", "7"])
    assert sized.model.memory == DeltaRuleConfig(size=7)
    assert override(CLASSIFIER, ["--model.memory.rule", "hebb-rosenblatt"]) == CLASSIFIER


def test_a_head_is_added_by_naming_a_setting_of_it():
    changed = override(ARTIST, ["--model.heads.classify.classes", "7"])
    assert list(changed.model.heads) == ["classify", "draw"]
    assert changed.model.heads["classify"] == ClassifyConfig(classes=7)
    assert changed.model.heads["draw"] == ARTIST.model.heads["draw"]
    assert override(CLASSIFIER, ["--model.heads.draw.beta_scale=3"]).model.draws == DrawConfig(beta_scale=3.0)


def test_a_head_is_left_out():
    assert list(override(BOTH, ["--without-head", "draw"]).model.heads) == ["classify"]
    swapped = override(ARTIST, ["--without-head", "draw", "--model.heads.classify.classes", "3"])
    assert swapped.model.heads == {"classify": ClassifyConfig(classes=3)}
    with pytest.raises(UsageError, match="heads"):
        override(BOTH, ["--without-head", "draw", "classify"])


@pytest.mark.usefixtures("outside")
def test_rules_and_heads_from_outside():
    line = "--model.memory.rule gentle --model.memory.softness 0.25 --model.heads.count-them.most 3"
    changed = override(CLASSIFIER, line.split())
    assert changed.model.memory == GentleConfig(size=128, softness=0.25)
    assert changed.model.heads["count_them"] == CountConfig(most=3)
    assert changed.model.heads["classify"] == CLASSIFIER.model.heads["classify"]


def test_unknown_rules_and_heads_are_named():
    with pytest.raises(UsageError, match="delta-rule"):
        override(CLASSIFIER, ["--model.memory.rule", "delta"])
    with pytest.raises(UsageError, match="'smell'"):
        override(CLASSIFIER, ["--model.heads.smell.weight", "1"])


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("--a 1 --b 2", ["1"]),
        ("--a=1", ["1"]),
        ("--a 1 2 -3 --b", ["1", "2", "-3"]),
        ("--b 1", []),
        ("--a 1 --a 2", ["2"]),
    ],
)
def test_values_of_a_flag(line: str, values: list[str]):
    assert values_of(line.split(), "--a") == values
