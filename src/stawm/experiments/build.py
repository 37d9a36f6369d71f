"""From settings to parts: the only place that knows both."""

from stawm.baselines.beta_vae import BetaVae
from stawm.errors import UsageError
from stawm.experiments.experiment import CnnConfig, Experiment, MemoryConfig, ModelConfig, TrainingConfig
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.model.heads import ClassificationHead, DrawingHead
from stawm.model.objectives import Classification, Drawing, Objective, Together
from stawm.model.policy import Policy
from stawm.model.readout import LatentReadout, MemoryReadout
from stawm.model.stawm import Encoder, Stawm
from stawm.vision.canvas import AdditionCanvas, BernoulliCanvas, Canvas
from stawm.vision.decoders import ConvDecoder
from stawm.vision.encoders import ConvEncoder
from stawm.vision.mobilenet import MobileNetV2

Model = Stawm | BetaVae
"""A whole model: what is exported and loaded."""
Learning = Model | MemoryReadout | LatentReadout
"""What a run teaches: a whole model, or one that is frozen but for its classifier."""


def build(config: ModelConfig) -> Model:
    """A freshly initialised model of the given settings; settings that cannot be built are a `UsageError`."""
    _check(config)
    try:
        return _vae(config) if config.kind == "vae" else _stawm(config)
    except ValueError as failure:
        raise UsageError(f"this model cannot be built: {failure}") from failure


def learning_part(model: Model, config: TrainingConfig) -> Learning:
    """What of `model` the run teaches: all of it, or its classifier and rates, with the rest frozen."""
    if config.learns == "all":
        return model
    if model.classify is None:
        raise UsageError("training.learns=head needs a classifier to teach; set model.classes to the number of classes")
    return LatentReadout(model) if isinstance(model, BetaVae) else MemoryReadout(model)


def objective_for(experiment: Experiment) -> Objective:
    """What the experiment's answers are judged by: one objective for each head that learns."""
    model, wanted = experiment.model, experiment.objective
    parts: list[Objective] = []
    if model.classes:
        parts.append(Classification(experiment.training.label_smoothing, wanted.classify, wanted.anytime))
    if model.draw.latent and experiment.training.learns == "all":
        parts.append(Drawing(wanted.beta, wanted.beta_scale, wanted.divergence, wanted.draw))
    return parts[0] if len(parts) == 1 else Together(tuple(parts))


def _vae(config: ModelConfig) -> BetaVae:
    image, latent = config.image, config.draw.latent
    if latent < 1:
        raise ValueError(f"a β-VAE of {latent} latent numbers draws nothing; give at least 1 for model.draw.latent")
    size = (image.channels, image.height, image.width)
    encoder = _encoder(config.glimpse, *size)
    return BetaVae(encoder, _decoder(config.glimpse, *size), latent=latent, classes=config.classes)


def _stawm(config: ModelConfig) -> Stawm:
    image, hidden = config.image, config.hidden_size
    context = _encoder(config.context, image.channels, image.height, image.width)
    glimpse = _encoder(config.glimpse, image.channels, config.glimpse_height, config.glimpse_width, config.glimpses)
    memory = _memory(config.memory)
    draw = _drawing_head(config, context.features) if config.draw.latent else None
    classify = None
    if config.classes:
        classify = ClassificationHead(context.features, memory.size, config.classes, config.dropout)
    return Stawm(
        context=context,
        glimpse=glimpse,
        policy=Policy(context.features, hidden, config.dropout, draws=draw is not None, scale=config.glimpse_scale),
        memory=memory,
        classify=classify,
        draw=draw,
        hidden=hidden,
        glimpses=config.glimpses,
        glimpse_size=(config.glimpse_height, config.glimpse_width),
        where=config.where,
        dropout=config.dropout,
    )


def _check(config: ModelConfig) -> None:
    sizes = {
        "glimpses": config.glimpses,
        "glimpse height": config.glimpse_height,
        "glimpse width": config.glimpse_width,
        "memory size": config.memory.size,
        "image channels": config.image.channels,
        "hidden size": config.hidden_size // 2,
    }
    for name, size in sizes.items():
        if size < 1:
            raise UsageError(f"the model needs a {name} of at least 1 (hidden size: 2); given: {size}")
    if min(config.classes, config.draw.latent) < 0 or config.classes == config.draw.latent == 0:
        raise UsageError(
            f"a model of {config.classes} classes and {config.draw.latent} latent numbers answers nothing; "
            "give model.classes to classify, model.draw.latent to draw, or both"
        )
    if not config.glimpse_scale > 0:
        raise UsageError(f"model.glimpse_scale is {config.glimpse_scale}; give a share of the image's sides above 0")
    if not 0 <= config.dropout < 1:
        raise UsageError(f"model.dropout is {config.dropout}; give a share from 0 up to, but not including, 1")


def _memory(config: MemoryConfig) -> HebbRosenblatt:
    return HebbRosenblatt(
        config.size,
        read=config.read,
        activation=config.activation,
        form=config.form,
        learn_rates=config.learn_rates,
        delta=config.delta,
        eta=config.eta,
        theta=config.theta,
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


def _drawing_head(config: ModelConfig, features: int) -> DrawingHead:
    draw = config.draw
    canvas: Canvas = AdditionCanvas(draw.start) if draw.canvas == "addition" else BernoulliCanvas(draw.temperature)
    channels, size = canvas.channels(config.image.channels), (config.glimpse_height, config.glimpse_width)
    decoder = _decoder(config.glimpse, channels, *size, config.glimpses)
    return DrawingHead(features, config.memory.size, draw.latent, decoder, canvas)
