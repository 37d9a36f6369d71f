"""Digits to look at when nobody gives any: some of the embedded ones that the mnist-5k models did not learn from.

All embedded digits are training digits of MNIST, so models that learnt from the whole of it have seen them.
"""

from dataclasses import dataclass

from stawm.data import load_data
from stawm.look.picture import Picture

COUNT = 12


@dataclass(frozen=True)
class Example:
    """An embedded test digit, and what it is."""

    name: str
    png: Picture
    label: str


def example_digits() -> list[Example]:
    """The first embedded test digit of each class, then the first of those left."""
    digits = load_data("mnist-5k").test
    assert digits.labels is not None
    labels = digits.labels.tolist()
    first = [labels.index(label) for label in sorted(set(labels))]
    chosen = (first + [place for place in range(len(labels)) if place not in first])[:COUNT]
    found = ((digits.classes[labels[place]], Picture(digits.images[place, 0].numpy())) for place in chosen)
    return [
        Example(f"example {number} (a {label})", picture, label) for number, (label, picture) in enumerate(found, 1)
    ]
