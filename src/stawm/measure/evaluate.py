"""How well a model answers on images it did not learn from, exactly counted."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from stawm.data.image_set import FeatureSet, ImageSet, batch_of
from stawm.errors import DataError
from stawm.experiments.build import Learning
from stawm.experiments.experiment import ModelConfig
from stawm.measure.health import health, memory_of
from stawm.model.objectives import Answers, Batch, Classification, Drawing, Objective, Together
from stawm.training.engine import Sums, add_up
from stawm.training.learner import HEALTH, SCORE, TERM

if TYPE_CHECKING:
    from lightning_fabric import Fabric

AFTER = "after/"


@torch.no_grad()
def evaluate(
    model: Learning,
    images: ImageSet | FeatureSet,
    objective: Objective | None = None,
    *,
    batch_size: int = 250,
    config: ModelConfig | None = None,
    engine: "Fabric | None" = None,
) -> dict[str, Any]:
    """What the model makes of `images`: `count`, mean `scores` and `terms`, `error_after_glimpse`, and `health`.

    Without an `objective`, every answer that the model gives is measured. A read-out also takes stored features.
    Under several processes (`engine`) each takes every so-many-th batch and all get the joined result, over exactly
    `len(images)` images. With `config`, images that do not fit the model are a `DataError` before the first batch.
    """
    if config is not None and isinstance(images, ImageSet):
        check_fits(images, config)
    device = next(model.parameters()).device
    rank, world = (engine.global_rank, engine.world_size) if engine else (0, 1)
    sums: Sums = {}
    trained, order = model.training, torch.arange(len(images))
    model.eval()
    for place, indices in enumerate(order.split(batch_size)):
        # All processes look at the first batch, so that all know the same names; only one of them counts it.
        if place % world == rank or place == 0:
            counted = len(indices) if place % world == rank else 0
            batch = batch_of(images, indices, device)
            answers = model(batch.images)
            judge = objective or _plain(answers)
            for name, value in _measures(model, answers, batch, judge).items():
                total = sums.setdefault(name, [0.0, 0.0])
                total[0] += float(value) * counted
                total[1] += counted
    model.train(trained)
    return _result(add_up(engine, sums) if engine else sums)


def check_fits(images: ImageSet, config: ModelConfig) -> None:
    """Refuse images that the model cannot take or name, with a `DataError` that says which and what to change."""
    wanted = (config.image.channels, config.image.height, config.image.width)
    shape = tuple(images.images.shape[1:])
    if len(images) == 0:
        raise DataError(f"{images.name} holds no images; give at least one")
    if shape != wanted:
        raise DataError(
            f"{images.name} has images of {_size(shape)} (channels×height×width), the model takes {_size(wanted)}; "
            "set model.image to fit, or choose other data"
        )
    if config.classes == 0:
        return
    if images.labels is None:
        raise DataError(
            f"{images.name} has no labels, and classification needs them; sort the images into class folders"
        )
    highest = int(images.labels.max())
    if len(images.classes) != config.classes or highest >= config.classes:
        found = max(len(images.classes), highest + 1)
        raise DataError(
            f"{images.name} has {found} classes, the model answers {config.classes}; set model.classes={found}"
        )


def _plain(answers: Answers) -> Objective:
    """Plain measures for the answers that were given."""
    believed, drew = answers.classified is not None, answers.drawn is not None
    return Together((*((Classification(),) if believed else ()), *((Drawing(),) if drew else ())))


def _measures(model: Learning, answers: Answers, batch: Batch, objective: Objective) -> dict[str, Tensor]:
    """Everything that is averaged over the images, by prefixed name."""
    measures = {TERM + name: term for name, term in objective.terms(answers, batch).items()}
    measures |= {SCORE + name: score.double().mean() for name, score in objective.scores(answers, batch).items()}
    measures |= {HEALTH + name: value for name, value in health(answers, memory_of(model)).items()}
    if batch.labels is not None and answers.classified is not None:
        wrong = (answers.classified.logits.argmax(-1) != batch.labels[:, None]).double().mean(0)
        measures |= {f"{AFTER}{glimpse}": share for glimpse, share in enumerate(wrong, 1)}
    return measures


def _result(sums: Sums) -> dict[str, Any]:
    means = {name: total / count for name, (total, count) in sums.items()}

    def part(prefix: str) -> dict[str, float]:
        return {name.removeprefix(prefix): mean for name, mean in means.items() if name.startswith(prefix)}

    after = part(AFTER)
    return {
        "count": round(next(iter(sums.values()))[1]),
        "scores": part(SCORE),
        "terms": part(TERM),
        "error_after_glimpse": [after[str(glimpse)] for glimpse in range(1, len(after) + 1)],
        "health": part(HEALTH),
    }


def _size(shape: tuple[int, ...]) -> str:
    return "×".join(str(length) for length in shape)
