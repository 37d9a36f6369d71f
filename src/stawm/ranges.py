"""Which numbers a setting may take, said beside the setting: `learning_rate: Annotated[float, AT_LEAST_0] = 1e-3`."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from stawm.errors import UsageError


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`; an open end is not one of them."""

    low: float = 0.0
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, number: object) -> bool:
        if isinstance(number, bool) or not isinstance(number, int | float):
            return False
        above = self.low < number if self.open_low else self.low <= number
        below = number < self.high if self.open_high else number <= self.high
        return above and below and abs(number) <= LARGEST

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"above {self.low:g}" if self.open_low else f"of at least {self.low:g}"
        first = "above" if self.open_low else "from"
        last = "up to, but not including," if self.open_high else "up to"
        return f"{first} {self.low:g} {last} {_told(self.high)}"


LARGEST = sys.float_info.max
"""Of all numbers that are finite; a whole number may lie beyond."""
MOST_ENTRIES = 256
"""Of a setting that is a list."""

ANY = Range(low=-math.inf)
AT_LEAST_0 = Range()
AT_LEAST_1 = Range(low=1)
ABOVE_0 = Range(open_low=True)
COUNT = Range(high=1_000_000_000)
SIDE = Range(low=1, high=4096)
"""Of pictures and glimpses, in pixels."""
WIDTH = Range(low=1, high=65_536)
"""Of a layer: filters, units, classes."""
SHARE = Range(high=1.0)
BELOW_1 = Range(high=1.0, open_high=True)


def leaves(record: Any, prefix: str = "") -> Iterator[tuple[str, Any, Range | None]]:
    """Each setting of nested records and mappings of them: dotted name, value, and its range if it has one."""
    if isinstance(record, dict):
        for name, part in record.items():
            yield from leaves(part, f"{prefix}{name}.")
        return
    hints = _hints(type(record))
    for part in fields(record):
        value, hint = getattr(record, part.name), hints[part.name]
        if is_dataclass(value) or (isinstance(value, dict) and all(map(is_dataclass, value.values()))):
            yield from leaves(value, f"{prefix}{part.name}.")
        else:
            found = [one for one in get_args(hint) if isinstance(one, Range)] if get_origin(hint) is Annotated else []
            yield f"{prefix}{part.name}", value, found[0] if found else None


def check_ranges(record: Any, prefix: str = "") -> None:
    """Refuse the first setting that lies outside its range."""
    for name, value, wanted in leaves(record, prefix):
        numbers = value if isinstance(value, tuple) else (value,)
        if len(numbers) > MOST_ENTRIES:
            raise UsageError(f"{name} has {len(numbers):,} entries; give at most {MOST_ENTRIES}")
        for number in numbers:
            if wanted is not None and number is not None and number not in wanted:
                raise UsageError(f"{name} is {_told(number)}; give a number {wanted}")


def _told(value: Any) -> str:
    if type(value) is int:
        return str(value) if abs(value) <= LARGEST else "beyond all bounds"
    return f"{value:g}" if isinstance(value, float) else repr(value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a record's fields, which are slow to find and never change."""
    return get_type_hints(kind, include_extras=True)
