"""From settings to parts: the only place that knows both."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from stawm.baselines.rival import RIVALS, Rival, Site
from stawm.errors import UsageError
from stawm.experiments.check import check_model
from stawm.experiments.experiment import ALL, STAWM, CnnConfig, Experiment, ModelConfig, TrainingConfig
from stawm.memory.protocol import build_memory
from stawm.model.heads.head import HEADS, Head, Host, Judge
from stawm.model.policy import Policy, far_first, start_centres, start_sizes
from stawm.model.readout import MemoryReadout, Readout
from stawm.model.scan import Scan, cell_poses
from stawm.model.stawm import Encoder, Stawm
from stawm.vision.decoders import ConvDecoder
from stawm.vision.encoders import ConvEncoder
from stawm.vision.levels import Levels
from stawm.vision.mobilenet import PER_PIXEL, MobileNetV2
from stawm.vision.overview import FixedOverview, Overview, blurred_size

Model = Stawm | Rival
"""A whole model: what is exported and loaded."""
Learning = Model | Readout[Any]
"""What a run teaches: a whole model, or one that is frozen but for a head."""
MOST_WEIGHTS = 500_000_000
"""Numbers in a model: 2 GB in single precision, and four times that in training."""
MOST_HELD = 2**28
"""Numbers that one picture may take in a network, over all glimpses: 1 GiB."""
MAKERS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)


class Budget(TorchFunctionMode):
    """While it holds, the numbers of new tensors are counted, and more than `most` are refused before they are made.

    So a model whose settings are large only together takes no memory before it is refused.
    """

    def __init__(self, most: int = MOST_WEIGHTS) -> None:
        super().__init__()
        self.most, self.numbers = most, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What `func` makes, if it is not too much."""
        if func in MAKERS:
            size = (kwargs or {}).get("size", args[0] if args and not isinstance(args[0], int) else args)
            self.numbers += math.prod(size)
            if self.numbers > self.most:
                raise UsageError(f"this model has more than {self.most:,} weights; give smaller sizes")
        return func(*args, **(kwargs or {}))


def build(config: ModelConfig) -> Model:
    """A freshly initialised model of the given settings; settings that cannot be built are a `UsageError`."""
    check_model(config)
    try:
        with Budget():
            return _stawm(config) if config.kind == STAWM else _rival(config)
    except ValueError as failure:
        raise UsageError(f"this model cannot be built: {failure}") from failure


def learning_part(model: Model, config: TrainingConfig) -> Learning:
    """What of `model` the run teaches: all of it, or one head and the memory's rates, with the rest frozen."""
    if config.learns == ALL:
        return model
    return model.readout() if isinstance(model, Rival) else MemoryReadout(model, config.learns)


def judge_of(experiment: Experiment) -> Judge:
    """What the experiment's answers are judged by: one objective for each head that learns."""
    learns = experiment.training.learns
    learning = {name: head for name, head in experiment.model.heads.items() if learns in (ALL, name)}
    if experiment.model.kind == STAWM:
        return Judge({name: HEADS[name].objective(head) for name, head in learning.items()})
    rival, own = RIVALS[experiment.model.kind], experiment.model.rival
    return Judge({name: rival.objective(own, name, head) for name, head in learning.items()})


def judge_of_all(experiment: Experiment) -> Judge:
    """The same for all heads, as the settings say: also for those that were frozen."""
    return judge_of(replace(experiment, training=replace(experiment.training, learns=ALL)))


def _rival(config: ModelConfig) -> Rival:
    rival = RIVALS[config.kind]
    if rival.looks:
        _check_held(config.glimpses * math.prod(config.image.shape))
    site = Site(
        image=config.image.shape,
        classes=config.classes,
        latent=config.draws.latent if config.draws else 0,
        glimpses=config.glimpses,
        glimpse_size=config.glimpse_size,
        glimpse_scale=config.glimpse_scale,
        hidden=config.hidden_size,
        dropout=config.dropout,
        context=lambda *shape: _encoder(config.context, *shape),
        glimpse=lambda *shape: _encoder(config.glimpse, *shape),
        decoder=lambda *shape: _decoder(config.glimpse, *shape),
    )
    return rival.build(config.rival, site)


def _stawm(config: ModelConfig) -> Stawm:
    size = config.glimpse_size
    context = _context(config)
    # Glimpses at given places are alike, and are seen as one batch; those of a policy differ from first to last.
    kinds = config.glimpses if config.policy.kind == "learnt" else 1
    glimpse = _encoder(config.glimpse, config.glimpse_scales * config.image.channels, *size, kinds)
    if isinstance(glimpse, ConvEncoder):
        _check_held(config.glimpses * glimpse.held)
    memory = build_memory(config.memory)
    host = Host(
        features=context.features,
        memory=memory.size,
        channels=config.image.channels,
        glimpses=config.glimpses,
        dropout=config.dropout,
        decoder=lambda channels: _decoder(config.glimpse, channels, *size, config.glimpses),
    )
    # The last head draws its first weights first: a seed then gives the weights that it always gave.
    heads: dict[str, Head] = {name: HEADS[name].build(config.heads[name], host) for name in reversed(config.heads)}
    pastes = any(head.pastes for head in heads.values())
    if pastes:
        _check_held(config.glimpses * math.prod(config.picture))
    return Stawm(
        context=context,
        glimpse=glimpse,
        policy=_policy(config, context, pastes),
        memory=memory,
        heads={name: heads[name] for name in config.heads},
        hidden=config.hidden_size,
        glimpses=config.glimpses,
        glimpse_size=size,
        where=config.where,
        dropout=config.dropout,
        scales=config.glimpse_scales,
        levels=Levels(config.picture_mean, config.picture_deviation) if config.picture_mean else None,
    )


def _policy(config: ModelConfig, context: Encoder | Overview | FixedOverview, draws: bool) -> Policy | Scan:
    """Who decides where to look."""
    policy, scale = config.policy, config.glimpse_scale
    _, height, width = config.picture
    if policy.kind == "learnt":
        apart, inward = policy.starts not in ("one", "inward"), policy.starts == "inward"
        starts = start_centres(config.glimpses, policy.starts, width / height) if apart else None
        sizes = start_sizes(config.glimpses, scale) if inward else None
        if policy.far_first:
            starts = None if starts is None else starts[far_first(starts)]
            sizes = None if sizes is None else sizes[far_first(sizes[:, None])]
        cells = _places(context) if policy.poses == "salient" else None
        size, dropout = config.hidden_size, config.dropout
        options = {"draws": draws, "scale": scale, "starts": starts, "sizes": sizes, "cells": cells}
        return Policy(context.features, size, dropout, **options)
    cells = cell_poses(policy.rows, policy.columns, height, width) if policy.kind == "scan" else None
    options = {"glimpses": config.glimpses, "order": policy.order, "draws": draws, "scale": scale}
    return Scan(config.hidden_size, cells, **options)


def _places(context: Encoder | Overview | FixedOverview) -> Tensor:
    """Where in the picture each place of the last map of a context network lies."""
    encoder = context.encoder if isinstance(context, Overview | FixedOverview) else context
    if not isinstance(encoder, ConvEncoder):
        raise UsageError(
            "salient poses are chosen on the maps of a context of plain convolutions; give model.context.filters and "
            "model.context.block norm3 or plain4, or model.policy.poses affine"
        )
    return encoder.cells


def _context(config: ModelConfig) -> Encoder | Overview | FixedOverview:
    """What sees the whole picture, blurred if that is asked for: a network, or no network if it has no filters."""
    (channels, height, width), fixed = config.picture, config.overview_size
    if not fixed and config.overview == 1 and config.context.filters:
        return _encoder(config.context, channels, height, width)
    size = (fixed, fixed) if fixed else blurred_size(height, width, config.overview)
    encoder = _encoder(config.context, channels, *size) if config.context.filters else None
    if isinstance(encoder, MobileNetV2):
        raise ValueError(
            "mobilenet-v2 takes no blurred pictures; leave model.overview at 1 and model.overview_size at 0"
        )
    if fixed:
        return FixedOverview(channels, fixed, encoder)
    return Overview(channels, height, width, config.overview, encoder)


def _encoder(cnn: CnnConfig, channels: int, height: int, width: int, glimpses: int = 1) -> Encoder:
    if cnn.block == "mobilenet-v2":
        _check_held(glimpses * height * width * (channels + PER_PIXEL))
        return MobileNetV2(channels, glimpses=glimpses)
    encoder = ConvEncoder(
        channels, height, width, filters=cnn.filters, strides=cnn.strides, block=cnn.block, glimpses=glimpses
    )
    _check_held(glimpses * encoder.held)
    return encoder


def _check_held(numbers: int) -> None:
    if numbers > MOST_HELD:
        raise UsageError(
            f"one picture would take {numbers:,} numbers in this model, which may hold {MOST_HELD:,}; give smaller "
            "pictures, fewer glimpses or filters, or larger strides"
        )


def _decoder(cnn: CnnConfig, channels: int, height: int, width: int, glimpses: int = 1) -> ConvDecoder:
    if cnn.block == "mobilenet-v2":
        raise ValueError("mobilenet-v2 has no mirror to draw with; choose norm3 or plain4 for model.glimpse.block")
    return ConvDecoder(
        channels, height, width, filters=cnn.filters, strides=cnn.strides, block=cnn.block, glimpses=glimpses
    )
