"""A recipe takes channels, size and classes from a folder of pictures."""

from dataclasses import replace

import pytest

from stawm.data.data_set import Facts
from stawm.errors import UsageError
from stawm.experiments.check import check
from stawm.experiments.own import OWN_PICTURES, check_size, fitted_to, own_pictures, told
from stawm.experiments.presets import preset

COLOURS = Facts((3, 30, 40), ("a", "b", "c"), 36)
GREY = Facts((1, 100, 80), (), 1_000_000)


def test_a_preset_takes_size_channels_and_classes():
    fitted = fitted_to(preset("mnist-5k-sketchpad"), COLOURS)
    assert fitted.model.image.shape == (3, 30, 40)
    assert fitted.model.classes == 3
    assert fitted.training == preset("mnist-5k-sketchpad").training


def test_without_classes_only_a_model_that_does_nothing_else_keeps_its_classifier():
    assert list(fitted_to(preset("mnist-5k-sketchpad"), GREY).model.heads) == ["draw"]
    assert list(fitted_to(preset("mnist-5k-classify"), GREY).model.heads) == ["classify"]


def test_the_recipe_for_own_pictures_classifies_them_or_draws_them():
    classifier, artist = own_pictures("folder:x", COLOURS), own_pictures("folder:y", GREY)
    assert (list(classifier.model.heads), classifier.model.classes) == (["classify"], 3)
    assert list(artist.model.heads) == ["draw"]
    assert (classifier.data.name, artist.name) == ("folder:x", OWN_PICTURES.name)
    for experiment in (classifier, artist):
        check(experiment)
        check_size(experiment.model)
    assert (classifier.model.glimpse_height, artist.model.glimpse_height) == (8, 20)
    assert (classifier.training.epochs, artist.training.epochs) == (400, 10), "few pictures are seen more often"


def test_pictures_that_are_too_small_are_told_with_a_cure():
    small = own_pictures("folder:x", replace(COLOURS, shape=(3, 12, 40)))
    with pytest.raises(UsageError, match=r"12×40.*--model\.image\.height"):
        check_size(small.model)


def test_what_was_taken_is_told():
    assert told(own_pictures("folder:some/where", COLOURS)) == "3 classes, 3 × 30 × 40 pixels, from some/where"
    assert told(own_pictures("folder:x", GREY)).startswith("no classes, 1 × 100 × 80 ")
