"""How well a model answers on images it did not learn from, exactly counted."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from stawm.baselines.rival import Rival
from stawm.data.image_set import FeatureSet, ImageSet, batch_of
from stawm.errors import DataError, UsageError
from stawm.experiments.build import Learning
from stawm.experiments.check import check_pictures
from stawm.experiments.experiment import ModelConfig
from stawm.measure.health import health
from stawm.measure.stopping import check_until, stops, told
from stawm.measure.sums import AFTER, GAP, HEALTH, SCORE, STOP, TERM, Sums, add, all_reduced, means
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
    until: Sequence[float] = (),
) -> dict[str, Any]:
    """What the model makes of `images`: `count`, mean `scores` and `terms`, `error_after_glimpse`, and `health`.

    Of a classifier also `calibration`: the expected calibration error of its beliefs as they are (`raw`), and with the
    temperatures of `trust` (`calibrated`); and `stopping`: for each belief of `until`, the mean number of glimpses and
    the error if none is taken once a class is believed so much. All are computed; those that would be taken count.
    Without a `judge`, every answer that the model gives is measured. A read-out also takes stored features. Under
    several processes (`engine`) each takes every so-many-th batch and all get the joined result, over exactly
    `len(images)` images. With `config`, images that do not fit the model are a `DataError` before the first batch. The
    model computes in `precision`; what it answers is measured in float32.
    """
    _check_asked(model, images, batch_size, config)
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
                judges = judge or _plain(answered, model)
                measured = {name: float(one) for name, one in _measures(model, answered, batch, judges).items()}
                _check_finite(measured, model, images.name)
                measured |= _gaps(answered, batch, trust) | _stops(answered, batch, trust, until)
                counts = _counts(answered, batch, judges)
                for name, one in measured.items():
                    add(sums, {name: one}, counts.get(name, len(indices)) * (place % world == rank))
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


def _check_asked(model: Learning, images: ImageSet | FeatureSet, batch_size: int, config: ModelConfig | None) -> None:
    """Refuse what cannot be measured."""
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


def _plain(answered: Answered, model: Learning) -> Judge:
    """Plain measures for the answers that were given."""
    plain = {name: HEADS[name].Config() for name in answered.answers}
    if isinstance(model, Rival):
        return Judge({name: model.objective(model.Config(), name, head) for name, head in plain.items()})
    return Judge({name: HEADS[name].objective(head) for name, head in plain.items()})


def _measures(model: Learning, answered: Answered, batch: Batch, judge: Judge) -> dict[str, Tensor]:
    """Everything that is averaged over the images, by prefixed name."""
    measures = {TERM + name: term for name, term in judge.terms(answered, batch).items()}
    measures |= {SCORE + name: score.double().mean() for name, score in judge.scores(answered, batch).items()}
    measures |= {HEALTH + name: value for name, value in health(answered, model).items()}
    for name, scores in judge.after_each(answered, batch).items():
        measures |= {f"{AFTER}{name}/{place}": mean for place, mean in enumerate(scores.double().mean(0), 1)}
    return measures


def _counts(answered: Answered, batch: Batch, judge: Judge) -> dict[str, float]:
    """How much the batch counts in those measures that are not means over its images, by prefixed name."""
    counts = {SCORE + name: count for name, count in judge.judged(answered, batch).items()}
    for name, judged in judge.judged_after_each(answered, batch).items():
        counts |= {f"{AFTER}{name}/{place}": count for place, count in enumerate(judged.tolist(), 1)}
    return counts


def _gaps(answered: Answered, batch: Batch, trust: Trust | None) -> dict[str, float]:
    """The mean gap between confidence and correctness in each bin: their sizes add up to the calibration error."""
    answer = answered.answers.get("classify")
    if not isinstance(answer, Belief) or batch.labels is None:
        return {}
    kinds = {"raw": answer.logits} | ({"calibrated": trust.believed(answer.logits)} if trust else {})
    gaps = {kind: calibration_gaps(logits[:, -1], batch.labels).mean(0) for kind, logits in kinds.items()}
    return {f"{GAP}{kind}/{place}": float(gap) for kind, each in gaps.items() for place, gap in enumerate(each)}


def _stops(answered: Answered, batch: Batch, trust: Trust | None, until: Sequence[float]) -> dict[str, float]:
    """Glimpses and error if looking ends at each of these beliefs."""
    answer = answered.answers.get("classify")
    if not until:
        return {}
    if not isinstance(answer, Belief) or batch.labels is None:
        raise UsageError("only a model that classifies can stop when it is sure; leave out --until")
    logits = trust.believed(answer.logits) if trust else answer.logits
    found = stops(logits, batch.labels, [check_until(one) for one in until])
    return {name: float(value) for name, value in found.items()}


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
    stopping = told(means(sums, STOP))
    counted |= after | ({"calibration": calibration} if calibration else {})
    return counted | ({"stopping": stopping} if stopping else {}) | {"health": means(sums, HEALTH)}
