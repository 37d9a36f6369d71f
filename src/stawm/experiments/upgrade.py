"""Experiments as earlier versions wrote them, brought to the fields of today."""

from typing import Any

WORDS = ("paper", "reach", "deviations")
"""What was said of an experiment in sentences; it is made from facts now."""


def upgraded(values: Any) -> Any:
    """The values of an experiment with `model.heads` and a named memory rule; any others are returned as they are.

    Before 0.2.0 a model had `classes` and `draw` (0 classes or latent numbers: none), the weights of the losses stood
    in `objective`, label smoothing in `training`, a head that learnt alone was called "head", and what the paper says
    and where an experiment departs from it were sentences (`WORDS`). Before 0.3.0 a query's dropout came after its
    ReLU6.
    """
    if not isinstance(values, dict) or "model" not in values:
        return values
    values = {name: value for name, value in values.items() if name not in WORDS}
    if "objective" not in values:
        return values | {"model": _with_order(values["model"])}
    model, training, judged = dict(values["model"]), dict(values["training"]), dict(values["objective"])
    classes, draw = model.pop("classes", 10), dict(model.pop("draw", {}))
    smoothing = {"label_smoothing": training.pop("label_smoothing", 0.0)}
    heads: dict[str, Any] = {}
    if classes:
        heads["classify"] = {"classes": classes, **_taken(judged, weight="classify", anytime="anytime"), **smoothing}
    if draw.get("latent"):
        loss = _taken(judged, weight="draw", beta="beta", beta_scale="beta_scale", divergence="divergence")
        heads["draw"] = {**draw, **loss}
    model |= {"heads": heads, "memory": {"rule": "hebb-rosenblatt", **model.get("memory", {})}}
    if training.get("learns") == "head":
        training["learns"] = "classify"
    rest = {name: value for name, value in values.items() if name != "objective"}
    return rest | {"model": _with_order(model), "training": training}


def _with_order(model: dict[str, Any]) -> dict[str, Any]:
    """The model with the order of dropout and ReLU6 that queries had before it was a setting."""
    heads = model.get("heads", {})
    if "classify" not in heads:
        return model
    return model | {"heads": heads | {"classify": {"query_dropout": "after"} | heads["classify"]}}


def _taken(values: dict[str, Any], **names: str) -> dict[str, Any]:
    return {new: values[old] for new, old in names.items() if old in values}
