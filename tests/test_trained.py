"""Pictures for a trained model: classes are told apart by name, never by number alone."""

import pytest
import torch

from stawm.data import ImageSet
from stawm.data.image_set import image_set
from stawm.errors import DataError
from stawm.store.trained import named_alike

KNOWN = ("one", "two", "three")


def pictures(labels: list[int] | list[list[int]] | None, classes: tuple[str, ...]) -> ImageSet:
    known = None if labels is None else torch.tensor(labels)
    return image_set("some", torch.zeros(4, 1, 2, 2, dtype=torch.uint8), known, classes)


def test_labels_follow_the_names() -> None:
    found = named_alike(pictures([0, 1, 2, 0], ("three", "two", "one")), KNOWN)
    assert found.labels is not None and found.labels.tolist() == [2, 1, 0, 2]
    assert found.classes == KNOWN


def test_some_of_the_classes_are_enough() -> None:
    found = named_alike(pictures([0, 1, 1, 0], ("three", "one")), KNOWN)
    assert found.labels is not None and found.labels.tolist() == [2, 0, 0, 2]


def test_empty_cells_stay_empty() -> None:
    found = named_alike(pictures([[0, -1], [1, 0], [-1, -1], [1, 1]], ("two", "one")), KNOWN)
    assert found.labels is not None and found.labels.tolist() == [[1, -1], [0, 1], [-1, -1], [0, 0]]


def test_strange_classes_are_named_with_those_that_are_known() -> None:
    with pytest.raises(DataError, match=r"does not know \(eins, zwei\).*knows one, two, three"):
        named_alike(pictures([0, 1, 2, 0], ("eins", "one", "zwei")), KNOWN)
    many = tuple(f"class {number}" for number in range(12))
    with pytest.raises(DataError, match="class 9 and 2 more"):
        named_alike(pictures([0, 1, 2, 0], many), KNOWN)


@pytest.mark.parametrize("known", [KNOWN, ()])
def test_pictures_that_fit_or_have_no_classes_stay_as_they_are(known: tuple[str, ...]) -> None:
    for some in (pictures([0, 1, 2, 0], KNOWN), pictures(None, ()), pictures([0, 1, 2, 0], ())):
        assert named_alike(some, known) is some
