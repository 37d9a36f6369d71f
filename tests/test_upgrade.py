"""Experiments as earlier versions wrote them are read: words are dropped, settings get their new names."""

from dataclasses import replace
from typing import Any

from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset

WORDS: dict[str, Any] = {
    "paper": "Table 1",
    "reach": "0.41 %",
    "deviations": ["training.epochs = 3, not 200: set on the command line"],
}


def before_heads() -> dict[str, Any]:
    """The sketchpad as version 0.1.0 wrote it."""
    values: dict[str, Any] = {**preset("mnist-sketchpad").to_dict(words=False), **WORDS, "about": "as it was"}
    model, training = dict(values["model"]), dict(values["training"])
    heads = model.pop("heads")
    draw, classify = dict(heads["draw"]), dict(heads["classify"])
    objective = {"classify": classify["weight"], "anytime": classify["anytime"], "draw": draw.pop("weight")}
    objective |= {name: draw.pop(name) for name in ("beta", "beta_scale", "divergence")}
    model |= {"classes": classify["classes"], "draw": draw}
    model["memory"] = {name: value for name, value in model["memory"].items() if name != "rule"}
    training |= {"label_smoothing": classify["label_smoothing"]}
    draw.pop("mean")
    return values | {"model": model, "training": training, "objective": objective}


def test_an_experiment_of_the_first_version_has_the_same_settings() -> None:
    read, now = Experiment.from_dict(before_heads()), preset("mnist-sketchpad")
    classify = {"classify": replace(now.model.heads["classify"], query_dropout="after")}
    assert read.plain() == replace(now, model=replace(now.model, heads=now.model.heads | classify)).plain()
    assert (read.about, read.published, read.departures) == ("as it was", None, ())


def test_words_are_dropped_wherever_they_stand() -> None:
    values = preset("mnist-sketchpad").to_dict() | WORDS
    assert Experiment.from_dict(values) == preset("mnist-sketchpad")


def test_a_head_that_learnt_alone_was_called_head() -> None:
    values = before_heads()
    values["training"]["learns"] = "head"
    assert Experiment.from_dict(values).training.learns == "classify"


def test_a_query_was_dropped_out_after_its_relu6_before_that_was_a_setting() -> None:
    values = preset("mnist-classify-8").to_dict()
    del values["model"]["heads"]["classify"]["query_dropout"]
    assert Experiment.from_dict(values).settings["model.heads.classify.query_dropout"] == "after"
