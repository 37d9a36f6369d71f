"""From settings to parts: the only place that knows both."""

from stawm.errors import UsageError
from stawm.experiments.experiment import CnnConfig, Experiment, ModelConfig
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.model.heads import ClassificationHead
from stawm.model.objectives import Classification, Objective
from stawm.model.policy import Policy
from stawm.model.stawm import Stawm
from stawm.vision.encoders import ConvEncoder


def build(config: ModelConfig) -> Stawm:
    """A freshly initialised model of the given settings; settings that cannot be built are a `UsageError`."""
    image, memory, hidden = config.image, config.memory, config.hidden_size
    sizes = {
        "classes": config.classes,
        "glimpses": config.glimpses,
        "glimpse height": config.glimpse_height,
        "glimpse width": config.glimpse_width,
        "memory size": memory.size,
        "image channels": image.channels,
        "hidden size": hidden // 2,
    }
    for name, size in sizes.items():
        if size < 1:
            raise UsageError(f"the model needs a {name} of at least 1 (hidden size: 2); given: {size}")
    if not 0 <= config.dropout < 1:
        raise UsageError(f"model.dropout is {config.dropout}; give a share from 0 up to, but not including, 1")
    try:
        context = _encoder(config.context, image.channels, image.height, image.width)
        glimpse = _encoder(config.glimpse, image.channels, config.glimpse_height, config.glimpse_width, config.glimpses)
        remembered = HebbRosenblatt(
            memory.size,
            read=memory.read,
            activation=memory.activation,
            form=memory.form,
            learn_rates=memory.learn_rates,
            delta=memory.delta,
            eta=memory.eta,
            theta=memory.theta,
        )
    except ValueError as failure:
        raise UsageError(f"this model cannot be built: {failure}") from failure
    return Stawm(
        context=context,
        glimpse=glimpse,
        policy=Policy(context.features, hidden, config.dropout),
        memory=remembered,
        head=ClassificationHead(context.features, memory.size, config.classes, config.dropout),
        hidden=hidden,
        glimpses=config.glimpses,
        glimpse_size=(config.glimpse_height, config.glimpse_width),
        where=config.where,
        dropout=config.dropout,
    )


def objective_for(experiment: Experiment) -> Objective:
    """What the experiment's episodes are judged by."""
    return Classification(label_smoothing=experiment.training.label_smoothing)


def _encoder(cnn: CnnConfig, channels: int, height: int, width: int, glimpses: int = 1) -> ConvEncoder:
    return ConvEncoder(
        channels, height, width, filters=cnn.filters, strides=cnn.strides, block=cnn.block, glimpses=glimpses
    )
