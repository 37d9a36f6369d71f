"""The one place where settings are checked: what cannot be used is refused in one line, before a run begins."""

from dataclasses import asdict

from stawm.data.image_set import ImageSet
from stawm.errors import CheckpointError, DataError, UsageError
from stawm.experiments.experiment import ALL, Experiment, ModelConfig, record_from_dict
from stawm.model.heads.head import HEADS
from stawm.ranges import check_ranges

NORMED = ("norm3", "mobilenet-v2")
"""Blocks with batch norm."""
PAIRED = ("draw", "classify")
"""The heads whose tasks the β-VAE can do."""


def check(experiment: Experiment) -> None:
    """Refuse the first setting that is out of range, or does not go with the others."""
    check_types(experiment, Experiment, "`preset(name)`")
    check_ranges({part: getattr(experiment, part) for part in ("data", "training")})
    check_model(experiment.model)
    training, data, heads = experiment.training, experiment.data, experiment.model.heads
    side = min(experiment.model.image.shape[1:])
    if data.shift >= side:
        raise UsageError(
            f"data.shift={data.shift} shifts pictures of {side} pixels out of sight; give less than {side}"
        )
    frozen = training.learns != ALL
    if frozen and training.learns not in heads:
        raise UsageError(
            f"training.learns is {training.learns!r}; give {ALL}, or a head of the model: {', '.join(heads)}"
        )
    if frozen and experiment.model.kind == "stawm" and HEADS[training.learns].pastes:
        raise UsageError(f"the head {training.learns} cannot learn alone, for it draws; leave training.learns at {ALL}")
    if data.views and not (data.views > 1 and data.varies and frozen):
        raise UsageError(
            f"data.views={data.views} cannot be used: a frozen model (--training.learns classify) stores each picture "
            "as it is and varied, so give 2 or more and something that varies, such as --data.rotate 20; or leave it "
            "at 0"
        )
    if frozen and not training.start_from:
        first = experiment.after or "a drawing preset"
        raise UsageError(
            f"{experiment.name} starts from a trained drawing model; train {first} first (`stawm train {first}`), then "
            f"name its run: --training.start-from runs/{first}-seed{experiment.seed}"
        )
    if training.settle and not {experiment.model.context.block, experiment.model.glimpse.block} & set(NORMED):
        raise UsageError(
            f"training.settle={training.settle} cannot be used: it takes the statistics of batch norm anew from so "
            "many batches, in a model that has batch norm; leave it at 0"
        )


def check_types(record: Experiment | ModelConfig, kind: type[Experiment | ModelConfig], cure: str) -> None:
    """Refuse settings, made in Python, that are not of the types which their records say."""
    if type(record) is not kind:
        raise UsageError(f"given a {type(record).__name__}; give a {kind.__name__}, as {cure} is")
    try:
        record_from_dict(type(record), asdict(record))
    except CheckpointError as failure:
        raise UsageError(str(failure)) from failure


def check_model(config: ModelConfig) -> None:
    """Refuse a model that cannot be built, or that answers nothing."""
    check_types(config, ModelConfig, "`preset(name).model`")
    check_ranges(config, "model.")
    for name in config.heads:
        if not isinstance(config.heads[name], HEADS[name].Config):
            raise UsageError(f"model.heads.{name} has the settings of another head; give {HEADS[name].Config.__name__}")
    if not config.heads:
        raise UsageError("a model without heads answers nothing; give model.heads.classify, model.heads.draw, or both")
    if config.kind == "vae" and not ("draw" in config.heads and set(config.heads) <= set(PAIRED)):
        raise UsageError(f"the β-VAE draws, and may classify; it cannot have the heads {', '.join(config.heads)}")
    if config.compares:
        _check_pair(config)
    _check_levels(config)
    if min(config.hidden_size, 2 * config.memory.size) < 2:
        raise UsageError(f"the model needs a hidden size of at least 2; given: {config.hidden_size}")


def _check_levels(config: ModelConfig) -> None:
    """Refuse means and deviations that are not one of each for every channel, or that nobody would use."""
    given = (len(config.picture_mean), len(config.picture_deviation))
    if given == (0, 0):
        return
    if config.kind == "vae":
        raise UsageError("the β-VAE takes pictures as they are; leave model.picture_mean and its deviation empty")
    if given != (config.image.channels,) * 2:
        raise UsageError(
            f"model.picture_mean has {given[0]} numbers and model.picture_deviation {given[1]}; give one of each for "
            f"every channel ({config.image.channels}), or none"
        )


def _check_pair(config: ModelConfig) -> None:
    """Refuse a model that compares two pictures, one above the other, and is asked about one, or cannot halve them."""
    for name in config.heads:
        if not HEADS[name].compares:
            raise UsageError(f"the head {name} is asked about one picture, and others compare two; give one kind")
    if config.image.height % 2:
        raise UsageError(
            f"model.image.height is {config.image.height}, but it holds two pictures, one above the other; give an "
            "even number"
        )


def check_pictures(images: ImageSet, config: ModelConfig) -> None:
    """Refuse images that the model cannot take or name, with a `DataError` that says which and what to change."""
    shape = tuple(images.images.shape[1:])
    if len(images) == 0:
        raise DataError(f"{images.name} holds no images; give at least one")
    if shape != config.image.shape:
        given, taken = ("×".join(map(str, size)) for size in (shape, config.image.shape))
        raise DataError(
            f"{images.name} has images of {given} (channels×height×width), the model takes {taken}; set model.image to "
            "fit, or choose other data"
        )
    for name, head in config.heads.items():
        HEADS[name].check_data(head, images.name, images.labels, images.classes)
