"""An episode as named tensors, and back: what a graph can give, and what a look needs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from torch import Tensor

IMAGES = "images"
"""The pictures themselves: what goes in comes back as it is."""
PLAIN = (str, int, float, type(None))


class Unsuited(Exception):
    """A part that is neither a tensor nor made of tensors."""


@dataclass(frozen=True)
class Part:
    """The place of a tensor, by its name."""

    name: str


@dataclass(frozen=True)
class Record:
    """The place of a dataclass: its type, and the plans of its fields."""

    kind: type
    fields: dict[str, Any]


def taken_apart(value: Any, known: dict[str, Tensor], name: str = "") -> Any:
    """The plan of a value, whose tensors are entered into `known` by dotted names; a tensor met twice has one name."""
    if isinstance(value, Tensor):
        found = next((old for old, tensor in known.items() if tensor is value), None)
        known.setdefault(found or name, value)
        return Part(found or name)
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(taken_apart(one, known, f"{name}.{number}") for number, one in enumerate(value))
    if isinstance(value, Mapping):
        return {key: taken_apart(one, known, f"{name}.{key}" if name else str(key)) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type) and all(one.init for one in fields(value)):
        inner = {one.name: getattr(value, one.name) for one in fields(value)}
        return Record(type(value), taken_apart(inner, known, name))
    raise Unsuited(f"{name} is a {type(value).__name__}, which no graph can give")


def put_together(plan: Any, parts: Mapping[str, Tensor]) -> Any:
    """The value of this plan, made of these tensors."""
    if isinstance(plan, Part):
        return parts[plan.name]
    if isinstance(plan, Record):
        return plan.kind(**put_together(plan.fields, parts))
    if isinstance(plan, tuple | list):
        return type(plan)(put_together(one, parts) for one in plan)
    if isinstance(plan, dict):
        return {key: put_together(one, parts) for key, one in plan.items()}
    return plan
