"""Ways to spoil the content of a file, for `damage.py`: each takes bytes and a chance, and gives other bytes."""

import random
from collections.abc import Callable

Damage = Callable[[bytes, random.Random], bytes]
LONGEST = 64
"""Bytes of a stretch that is exchanged or emptied."""


def flip(content: bytes, chance: random.Random, count: int = 1) -> bytes:
    """The content with some bits flipped."""
    changed = bytearray(content)
    for _ in range(count):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(content: bytes, chance: random.Random) -> bytes:
    """The beginning of the content."""
    return content[: chance.randrange(len(content))]


def exchange(content: bytes, chance: random.Random) -> bytes:
    """The content with two stretches of it in each other's place."""
    size = chance.randint(1, max(1, min(LONGEST, len(content) // 4)))
    first, second = sorted(chance.randrange(len(content) - size + 1) for _ in range(2))
    second = max(second, min(first + size, len(content) - size))
    parts = content[:first], content[second : second + size], content[first + size : second]
    return b"".join((*parts, content[first : first + size], content[second + size :]))[: len(content)]


def blank(content: bytes, chance: random.Random) -> bytes:
    """The content with a stretch of zeros in it."""
    size = chance.randint(1, min(LONGEST, len(content)))
    start = chance.randrange(len(content) - size + 1)
    return content[:start] + bytes(size) + content[start + size :]


DAMAGES: dict[str, Damage] = {
    "one bit": flip,
    "one bit again": flip,
    "eight bits": lambda content, chance: flip(content, chance, 8),
    "cut": cut,
    "emptied": lambda content, chance: b"",
    "exchanged": exchange,
    "zeros": blank,
}
