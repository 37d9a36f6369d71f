"""From settings to parts: the only place that knows both."""

from stawm.baselines.beta_vae import BetaVae, LatentReadout
from stawm.errors import UsageError
from stawm.experiments.check import check_model
from stawm.experiments.experiment import ALL, CnnConfig, Experiment, ModelConfig, TrainingConfig
from stawm.memory.protocol import build_memory
from stawm.model.heads.head import HEADS, Head, Host, Judge
from stawm.model.policy import Policy
from stawm.model.readout import MemoryReadout
from stawm.model.stawm import Encoder, Stawm
from stawm.vision.decoders import ConvDecoder
from stawm.vision.encoders import ConvEncoder
from stawm.vision.mobilenet import MobileNetV2

Model = Stawm | BetaVae
"""A whole model: what is exported and loaded."""
Learning = Model | MemoryReadout | LatentReadout
"""What a run teaches: a whole model, or one that is frozen but for a head."""


def build(config: ModelConfig) -> Model:
    """A freshly initialised model of the given settings; settings that cannot be built are a `UsageError`."""
    check_model(config)
    try:
        return _vae(config) if config.kind == "vae" else _stawm(config)
    except ValueError as failure:
        raise UsageError(f"this model cannot be built: {failure}") from failure


def learning_part(model: Model, config: TrainingConfig) -> Learning:
    """What of `model` the run teaches: all of it, or one head and the memory's rates, with the rest frozen."""
    if config.learns == ALL:
        return model
    return LatentReadout(model) if isinstance(model, BetaVae) else MemoryReadout(model, config.learns)


def judge_of(experiment: Experiment) -> Judge:
    """What the experiment's answers are judged by: one objective for each head that learns."""
    learns = experiment.training.learns
    learning = {name: head for name, head in experiment.model.heads.items() if learns in (ALL, name)}
    return Judge({name: HEADS[name].objective(head) for name, head in learning.items()})


def _vae(config: ModelConfig) -> BetaVae:
    assert config.draws is not None, "checked before"
    encoder, decoder = _encoder(config.glimpse, *config.image.shape), _decoder(config.glimpse, *config.image.shape)
    return BetaVae(encoder, decoder, latent=config.draws.latent, classes=config.classes)


def _stawm(config: ModelConfig) -> Stawm:
    size = (config.glimpse_height, config.glimpse_width)
    context = _encoder(config.context, *config.image.shape)
    glimpse = _encoder(config.glimpse, config.image.channels, *size, config.glimpses)
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
    return Stawm(
        context=context,
        glimpse=glimpse,
        policy=Policy(context.features, config.hidden_size, config.dropout, draws=pastes, scale=config.glimpse_scale),
        memory=memory,
        heads={name: heads[name] for name in config.heads},
        hidden=config.hidden_size,
        glimpses=config.glimpses,
        glimpse_size=size,
        where=config.where,
        dropout=config.dropout,
    )


def _encoder(cnn: CnnConfig, channels: int, height: int, width: int, glimpses: int = 1) -> Encoder:
    if cnn.block == "mobilenet-v2":
        return MobileNetV2(channels, glimpses=glimpses)
    return ConvEncoder(
        channels, height, width, filters=cnn.filters, strides=cnn.strides, block=cnn.block, glimpses=glimpses
    )


def _decoder(cnn: CnnConfig, channels: int, height: int, width: int, glimpses: int = 1) -> ConvDecoder:
    if cnn.block == "mobilenet-v2":
        raise ValueError("mobilenet-v2 has no mirror to draw with; choose norm3 or plain4 for model.glimpse.block")
    return ConvDecoder(
        channels, height, width, filters=cnn.filters, strides=cnn.strides, block=cnn.block, glimpses=glimpses
    )
