"""How well a model answers on images it did not learn from, exactly counted."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from stawm.data.image_set import FeatureSet, ImageSet, batch_of
from stawm.errors import DataError, UsageError
from stawm.experiments.build import Learning
from stawm.experiments.check import check_pictures
from stawm.experiments.experiment import ModelConfig
from stawm.measure.health import health
from stawm.measure.sums import AFTER, GAP, HEALTH, SCORE, TERM, Sums, add, all_reduced, means
from stawm.model.heads.classify import Belief
from stawm.model.heads.head import HEADS, Answered, Batch, Judge
from stawm.precision import mixed, resolved
from stawm.store.checkpoint import not_finite
from stawm.trust.temperature import calibration_gaps
from stawm.trust.trust import Trust

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@torch.no_grad()
def evaluate(
    model: Learning,
    images: ImageSet | FeatureSet,
    judge: Judge | None = None,
    *,
    batch_size: int = 250,
    config: ModelConfig | None = None,
    engine: "Fabric | None" = None,
    trust: Trust | None = None,
    precision: str = "32",
) -> dict[str, Any]:
    """What the model makes of `images`: `count`, mean `scores` and `terms`, `error_after_glimpse`, and `health`.

    Of a classifier also `calibration`: the expected calibration error of its beliefs as they are (`raw`), and with the
    temperatures of `trust` (`calibrated`).
    Without a `judge`, every answer that the model gives is measured. A read-out also takes stored features. Under
    several processes (`engine`) each takes every so-many-th batch and all get the joined result, over exactly
    `len(images)` images. With `config`, images that do not fit the model are a `DataError` before the first batch. The
    model computes in `precision`; what it answers is measured in float32.
    """
    if not isinstance(model, nn.Module):
        raise UsageError(f"given a {type(model).__name__} to measure; give a model, as `load` and `build` do")
    if not isinstance(images, ImageSet | FeatureSet):
        raise DataError(f"given a {type(images).__name__} to measure on; give an ImageSet, as `load_data` does")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise UsageError(f"batch_size is {batch_size!r}; give a whole number of at least 1")
    if not len(images):
        raise DataError(f"{images.name} holds no images; give at least one")
    if config is not None and isinstance(images, ImageSet):
        check_pictures(images, config)
    device = next(model.parameters()).device
    precision = resolved(precision, device.type).name
    rank, world = (engine.global_rank, engine.world_size) if engine else (0, 1)
    sums: Sums = {}
    with evaluating(model):
        for place, indices in enumerate(torch.arange(len(images)).split(batch_size)):
            # All processes look at the first batch, so that all know the same names; only one of them counts it.
            if place % world == rank or place == 0:
                batch = batch_of(images, indices, device, measured=True)
                with mixed(precision, device):
                    answered = model(batch.images)
                _check_classes(answered, images)
                found = _measures(model, answered, batch, judge or _plain(answered))
                measured = {name: float(value) for name, value in found.items()}
                _check_finite(measured, model, images.name)
                measured |= {name: float(gap) for name, gap in _gaps(answered, batch, trust).items()}
                add(sums, measured, len(indices) * (place % world == rank))
    return _result(all_reduced(engine, sums))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode; afterwards, whatever happens, every part is in the mode that it had."""
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode


def _check_classes(answered: Answered, images: ImageSet | FeatureSet) -> None:
    """Refuse labels beyond the classes that the model tells apart."""
    belief, labels = answered.answers.get("classify"), images.labels
    if isinstance(belief, Belief) and labels is not None and int(labels.max()) >= belief.logits.shape[-1]:
        raise DataError(
            f"{images.name} has the label {int(labels.max())}, the model answers {belief.logits.shape[-1]} classes "
            "(labels from 0 up); choose other data, or a model for these"
        )


def _check_finite(measured: dict[str, float], model: nn.Module, name: str) -> None:
    """Refuse to count what is not finite, and name the weight that is to blame if there is one."""
    wrong = [measure.partition("/")[2] for measure, value in measured.items() if not math.isfinite(value)]
    if wrong:
        raise not_finite(f"{wrong[0]} on {name}", model)


def _plain(answered: Answered) -> Judge:
    """Plain measures for the answers that were given."""
    return Judge({name: HEADS[name].objective(HEADS[name].Config()) for name in answered.answers})


def _measures(model: Learning, answered: Answered, batch: Batch, judge: Judge) -> dict[str, Tensor]:
    """Everything that is averaged over the images, by prefixed name."""
    measures = {TERM + name: term for name, term in judge.terms(answered, batch).items()}
    measures |= {SCORE + name: score.double().mean() for name, score in judge.scores(answered, batch).items()}
    measures |= {HEALTH + name: value for name, value in health(answered, model).items()}
    for name, scores in judge.after_each(answered, batch).items():
        measures |= {f"{AFTER}{name}/{place}": mean for place, mean in enumerate(scores.double().mean(0), 1)}
    return measures


def _gaps(answered: Answered, batch: Batch, trust: Trust | None) -> dict[str, Tensor]:
    """The mean gap between confidence and correctness in each bin: their sizes add up to the calibration error."""
    answer = answered.answers.get("classify")
    if not isinstance(answer, Belief) or batch.labels is None:
        return {}
    kinds = {"raw": answer.logits} | ({"calibrated": trust.believed(answer.logits)} if trust else {})
    gaps = {kind: calibration_gaps(logits[:, -1], batch.labels).mean(0) for kind, logits in kinds.items()}
    return {f"{GAP}{kind}/{place}": gap for kind, each in gaps.items() for place, gap in enumerate(each)}


def _result(sums: Sums) -> dict[str, Any]:
    after: dict[str, list[float]] = {"error_after_glimpse": []}
    for name, mean in means(sums, AFTER).items():
        after.setdefault(f"{name.partition('/')[0]}_after_glimpse", []).append(mean)
    counted = {
        "count": round(next(iter(sums.values()))[1]),
        "scores": means(sums, SCORE),
        "terms": means(sums, TERM),
    }
    calibration: dict[str, float] = {}
    for name, gap in means(sums, GAP).items():
        kind = name.partition("/")[0]
        calibration[kind] = calibration.get(kind, 0.0) + abs(gap)
    return counted | after | ({"calibration": calibration} if calibration else {}) | {"health": means(sums, HEALTH)}
