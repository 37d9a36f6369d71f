"""What is known of an experiment besides its settings: what the paper reports, what we aim at, where we depart."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from stawm.model.heads.head import Score, known_scores


@dataclass(frozen=True)
class Published:
    """What the paper, or that of a rival, reports of an experiment."""

    where: str
    """The place in the paper."""
    appendix: str = ""
    """The part of its appendix on experimental details."""
    score: str = ""
    """The name of the score that it gives; none where it shows pictures only."""
    value: float = 0.0
    """As a share: 0.0041 is 0.41 %."""
    spread: float | None = None
    """The standard deviation over its trials."""
    trials: int | None = None
    epochs: int | None = None
    note: str = ""
    elsewhere: bool = False
    """Whether it is of another paper than STAWM's, whose authors `where` names."""

    @property
    def place(self) -> str:
        """Where to read about it."""
        return f"{self.where}; appendix, {self.appendix}" if self.appendix else self.where

    def told(self) -> str:
        """The number as people read it."""
        trials = "" if self.trials is None else f"{self.trials} trial{'s' * (self.trials > 1)}"
        beside = ", ".join(filter(None, (trials, self.note)))
        number = told_score(self.score, self.value, self.spread) if self.score else "no number"
        return f"{number} ({beside})" if beside else number


@dataclass(frozen=True)
class Goal:
    """A number of our own to reach, and how soon."""

    score: str
    value: float
    epochs: int | None = None
    minutes: int | None = None
    """On two cores."""

    def told(self) -> str:
        """The number as people read it."""
        soon = [(self.epochs, "epoch", ""), (self.minutes, "minute", " on two cores")]
        within = [f" within {count} {unit}{'s' * (count > 1)}{where}" for count, unit, where in soon if count]
        return told_score(self.score, self.value) + "".join(within)


@dataclass(frozen=True)
class Departure:
    """Where an experiment departs from the paper, and why."""

    fields: tuple[str, ...]
    """The dotted names of the settings that it is about; none for one that is in the code."""
    reason: str


def held(departures: Iterable[Departure], changed: Collection[str]) -> tuple[Departure, ...]:
    """The departures that are not about a setting which was changed."""
    return tuple(one for one in departures if not set(one.fields) & set(changed))


def told_score(name: str, value: float, spread: float | None = None) -> str:
    """A score as people read it: error 0.41 % ± 0.03."""
    return f"{name} {score_of(name).told(value, spread)}"


def score_of(name: str) -> Score:
    """How people read the score of that name; one of a head that is not known here is told as a plain number."""
    return known_scores().get(name, Score(name, name))
