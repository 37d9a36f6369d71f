"""The one place where settings are checked: what cannot be used is refused in one line, before a run begins."""

from dataclasses import asdict, fields

from stawm.baselines.rival import COMMON, RIVALS, RivalConfig
from stawm.data.image_set import ImageSet
from stawm.errors import CheckpointError, DataError, UsageError
from stawm.experiments.experiment import ALL, STAWM, Experiment, ModelConfig, record_from_dict
from stawm.experiments.recipe import changes, own_preset, told_value
from stawm.model.heads.head import HEADS
from stawm.ranges import check_ranges

NORMED = ("norm3", "mobilenet-v2")
"""Blocks with batch norm."""
ANY_SIZE = ("mobilenet-v2",)
"""Blocks whose features are averaged over their maps, so that they take glimpses of any size."""

MOVES = ("rotate", "warp", "shift", "flip", "strokes")
"""Settings of the data by which what is in a picture goes elsewhere."""
EMITTERS = ("training.pose_share", "training.paste_share")
"""Settings about what chooses where to look and where to paste."""


def check(experiment: Experiment, *, begun: bool = False) -> None:
    """Refuse the first setting that is out of range, or does not go with the others.

    A run that has `begun` may go on with settings that do nothing, or do harm unseen; a new one may not.
    """
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
    if frozen:
        _check_alone(experiment.model.kind, training.learns)
    if data.views and not (data.views > 1 and data.varies and frozen):
        raise UsageError(
            f"data.views={data.views} cannot be used: a frozen model (--training.learns classify) stores each picture "
            "as it is and varied, so give 2 or more and something that varies, such as --data.rotate 20; or leave it "
            "at 0"
        )
    _check_spread(experiment)
    _check_parts(experiment)
    if not begun:
        _check_idle(experiment)
        _check_moved(experiment)
        _check_turned(experiment)
    if frozen and not training.start_from:
        first = experiment.after or "a drawing preset"
        raise UsageError(
            f"{experiment.name} starts from a trained drawing model; train {first} first (`stawm train {first}`), then "
            f"name its run: --training.start-from runs/{first}-seed{experiment.seed}"
        )
    if training.settle and not _blocks(experiment.model) & set(NORMED):
        raise UsageError(
            f"training.settle={training.settle} cannot be used: it takes the statistics of batch norm anew from so "
            "many batches, in a model that has batch norm; leave it at 0"
        )


def _check_spread(experiment: Experiment) -> None:
    """Refuse to keep glimpses apart whose places do not learn, or of which there is one."""
    training, model = experiment.training, experiment.model
    if training.spread and not _places_learn(experiment):
        raise UsageError(
            f"training.spread={training.spread:g} cannot be used: it keeps apart glimpses whose places are learnt, and "
            "here none are; leave it at 0"
        )
    if training.spread and (fewest := min(training.glimpses or (model.glimpses,))) < 2:
        where = "a part of training.glimpses" if training.glimpses else "model.glimpses"
        raise UsageError(
            f"training.spread={training.spread:g} keeps several glimpses apart, and {where} is {fewest}; give two or "
            "more, or leave the spread at 0"
        )


def _places_learn(experiment: Experiment) -> bool:
    """Whether the run learns where to look."""
    model = experiment.model
    return experiment.training.learns == ALL and model.kind == STAWM and model.policy.kind == "learnt"


def _check_idle(experiment: Experiment) -> None:
    """Refuse to change what does nothing in a rival that only inherits it."""
    kind = experiment.model.kind
    if kind == STAWM or not RIVALS[kind].inherits:
        return
    without = {*(f"model.{name}" for name in idle(experiment.model)), *EMITTERS}
    for name, change in changes(experiment, own_preset(experiment)).items():
        if ".".join(name.split(".")[:2]) in without:
            raise UsageError(
                f"{RIVALS[kind].title} has no use for {name}; leave it as {experiment.name} has it: "
                f"{told_value(change.preset)}"
            )


def _check_moved(experiment: Experiment) -> None:
    """Refuse to move what is in a picture where the answers tell places, which labels would then name wrongly."""
    training, data, heads = experiment.training, experiment.data, experiment.model.heads
    learning = heads if training.learns == ALL else (training.learns,)
    bound = next((name for name in learning if HEADS[name].places or HEADS[name].compares), None)
    moving = next((name for name in MOVES if getattr(data, name)), None)
    if bound and moving:
        value = getattr(data, moving)
        raise UsageError(
            f"data.{moving}={value} moves what is in a picture, and the head {bound} learns where it is from labels "
            f"that stay as they are; give --data.{moving} {type(value)(0)}"
        )


def _check_turned(experiment: Experiment) -> None:
    """Refuse to turn digits that a frozen model sees once, as they are."""
    training, data = experiment.training, experiment.data
    if data.turn and training.learns != ALL and (data.views or not data.varies):
        raise UsageError(
            f"data.turn={data.turn:g} turns digits anew in every epoch, but of a frozen model what it makes of the "
            "pictures as they are, or of views of them, is stored once; give --data.turn 0"
        )


def _check_parts(experiment: Experiment) -> None:
    """Refuse numbers or sides of glimpses by parts of the run where that is of no use, or that end with others."""
    training, model = experiment.training, experiment.model
    learnt = _places_learn(experiment)
    grow = {
        "glimpses": (learnt, "looks whose places are learnt", "all glimpses of the model", (model.glimpses,)),
        "sides": (
            learnt and model.glimpse.block in ANY_SIZE,
            f"learning with a glimpse network that takes any size, such as {ANY_SIZE[0]}",
            "the side of the model's square glimpses",
            model.glimpse_size,
        ),
    }
    for name, (possible, about, end, whole) in grow.items():
        parts: tuple[int, ...] = getattr(training, name)
        given = f"training.{name}={' '.join(map(str, parts))}"
        if parts and not possible:
            raise UsageError(f"{given} cannot be used: it is about {about}, and here is none; leave it empty")
        if parts and not set(whole) == {max(parts)} == {parts[-1]}:
            has = "model.glimpses is" if name == "glimpses" else "model.glimpse_height and model.glimpse_width are"
            raise UsageError(
                f"{given} must end with {end} and have no larger number; {has} {' and '.join(map(str, whole))}"
            )


def _check_alone(kind: str, head: str) -> None:
    """Refuse a head that cannot learn while all else of the model is frozen."""
    if kind == STAWM and HEADS[head].pastes:
        raise UsageError(f"the head {head} cannot learn alone, for it draws; leave training.learns at {ALL}")
    if kind != STAWM and head not in RIVALS[kind].alone:
        raise UsageError(f"in {RIVALS[kind].title} the head {head} cannot learn alone; leave training.learns at {ALL}")


def _blocks(config: ModelConfig) -> set[str]:
    """The blocks of all networks that the model has."""
    used = None if config.kind == STAWM else RIVALS[config.kind].uses
    return {getattr(config, name).block for name in ("context", "glimpse") if used is None or name in used}


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
    _check_rival(config)
    if config.compares:
        _check_pair(config)
    _check_levels(config)
    if config.policy.starts == "inward" and config.policy.poses == "salient":
        raise UsageError(
            "model.policy.starts=inward is for affine poses, for salient ones are all of one size at first; "
            "give model.policy.starts=grid, or model.policy.poses=affine"
        )
    if config.policy.far_first and (config.policy.kind != "learnt" or config.policy.starts == "one"):
        raise UsageError(
            "model.policy.far_first=True orders starts that differ, and here none do; give model.policy.starts=grid or "
            "inward, or leave it at False"
        )
    if min(config.hidden_size, 2 * config.memory.size) < 2:
        raise UsageError(f"the model needs a hidden size of at least 2; given: {config.hidden_size}")


def _check_rival(config: ModelConfig) -> None:
    """Refuse an unknown kind of model, the settings of another, and tasks or settings that it does not have."""
    rival = None if config.kind == STAWM else RIVALS[config.kind]
    own = rival.Config if rival else RivalConfig
    if type(config.rival) is not own:
        raise UsageError(f"model.rival has the settings of another kind than {config.kind}; give {own.__name__}")
    if rival is None:
        return
    if not set(rival.must) <= set(config.heads) <= {*rival.must, *rival.may}:
        raise UsageError(f"{rival.title} {rival.does}; it cannot have the heads {', '.join(config.heads)}")
    plain = ModelConfig()
    for name in () if rival.inherits else idle(config):
        if getattr(config, name) != getattr(plain, name):
            raise UsageError(f"{rival.title} is not built from model.{name}; leave it as it is in a new ModelConfig")


def idle(config: ModelConfig) -> list[str]:
    """The settings that mean nothing to the rival that the model is; none if it is no rival."""
    uses = None if config.kind == STAWM else RIVALS[config.kind].uses
    return [] if uses is None else [part.name for part in fields(config) if part.name not in (*uses, *COMMON)]


def _check_levels(config: ModelConfig) -> None:
    """Refuse means and deviations that are not one of each for every channel, or that nobody would use."""
    given = (len(config.picture_mean), len(config.picture_deviation))
    if given == (0, 0):
        return
    if config.kind != STAWM:
        title = RIVALS[config.kind].title
        raise UsageError(f"{title} takes pictures as they are; leave model.picture_mean and its deviation empty")
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
