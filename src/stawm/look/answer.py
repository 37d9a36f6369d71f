"""One look at one picture: the type of what Python gets, and of the JSON that scripts, reports, server and page share.

A field that is added here is in all of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any

from jaxtyping import Float
from torch import Tensor

from stawm.data.prepare.prepared import Placed
from stawm.look.memory_view import MemoryView
from stawm.look.picture import Picture
from stawm.show.picture import corners_of
from stawm.trust.familiar import Familiar

Corners = tuple[tuple[float, float], ...]
"""Top left, top right, bottom right, bottom left, in pixels of the image: 0 is its left edge, its width the right."""
UNRECOGNISED = "I don't recognise this"
DIGITS = 4
"""Decimals of every number in JSON."""


@dataclass(frozen=True)
class Image:
    """What the model was shown, after preparation."""

    width: int
    height: int
    png: Picture


@dataclass(frozen=True)
class Glimpse:
    """One glimpse: where it lies, what was seen, and what was believed and drawn after it."""

    number: int
    """From 1."""
    colour: str
    """The colour that this glimpse has in figures and on pages, as #rrggbb."""
    outline: Corners
    """Its corners in image pixels: top left, top right, bottom right, bottom left."""
    outside: float
    """The share of it that lies outside the image."""
    glimpse: Picture
    belief: tuple[float, ...] | None = None
    """The probability of each class after this glimpse; null for a model that does not classify."""
    sketch: Picture | None = None
    """The patch that was drawn, on its own."""
    sketch_outline: Corners | None = None
    """Where on the canvas the sketch was pasted; null where its pose has no inverse."""
    canvas: Picture | None = None
    """All sketches up to this one."""


@dataclass(frozen=True)
class Look:
    """One look at one picture."""

    name: str
    model: str
    inverted: bool
    """Whether dark and light were exchanged."""
    notes: tuple[str, ...]
    """What was done to the picture, for people."""
    found: int | None
    """How many separate things are drawn on it: with 0 no head is asked. Null for models of photographs."""
    prediction: str | None
    """The class that is believed most after the last glimpse; null if there is nothing to see."""
    confidence: float | None
    """How much it is believed."""
    classes: tuple[str, ...]
    image: Image
    given: Placed | None
    """Where the image lies in the picture that was given; null if nothing was found in that."""
    glimpses: tuple[Glimpse, ...]
    familiar: Familiar | None = None
    """How like the pictures that it learnt from; null for a model that was not calibrated."""
    memory: MemoryView | None = None
    """What the memory held after each glimpse, if that was asked for."""
    answers: dict[str, Any] = field(default_factory=dict)
    """What other heads of the model answered, by their names."""

    def believed(self) -> list[tuple[str, float]]:
        """The class that was believed most after each glimpse, and how much; empty for a model that only draws."""
        beliefs = [glimpse.belief for glimpse in self.glimpses if glimpse.belief is not None]
        return [(self.classes[belief.index(max(belief))], max(belief)) for belief in beliefs]

    def lines(self) -> list[str]:
        """That the picture is not recognised, if so; and what other heads answered, a line each: name, and words."""
        strange = [UNRECOGNISED] if self.familiar is not None and not self.familiar.recognised else []
        return strange + [f"{name}: {_worded(to_json(values))}" for name, values in self.answers.items()]


def outlines_of(poses: Float[Tensor, "batch glimpse 2 3"], height: int, width: int) -> list[list[Corners | None]]:
    """The corners of each glimpse, or of a sketch by its true pose; none for a pose that is not finite."""
    corners, finite = corners_of(poses, height, width).tolist(), poses.isfinite().all(-1).all(-1).tolist()
    return [
        [tuple(map(tuple, four)) if whole else None for four, whole in zip(*row, strict=True)]
        for row in zip(corners, finite, strict=True)
    ]


def to_json(value: Any) -> Any:
    """A value as JSON has it: dataclasses are objects, pictures data URLs, numbers have four decimals."""
    kind = type(value)
    if kind is float:  # Most are, so these are looked for first.
        return rounded(value)
    if kind is tuple or kind is list:
        return [to_json(one) for one in value]
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    if isinstance(value, Picture):
        return value.url()
    if is_dataclass(value):
        return {name: to_json(getattr(value, name)) for name in _names(kind)}
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    raise TypeError(f"a {kind.__name__} cannot be told in JSON; give numbers, words, lists, arrays or a Picture")


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


def rounded(value: float) -> float | None:
    """A number as it stands in JSON, which knows no NaN and no infinity: these are null."""
    return round(value, DIGITS) if math.isfinite(value) else None


def _worded(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_worded(one)}" for name, one in value.items())
    if isinstance(value, list):
        return " ".join(map(_worded, value))
    return "(a picture)" if isinstance(value, str) and value.startswith("data:image/") else str(value)
