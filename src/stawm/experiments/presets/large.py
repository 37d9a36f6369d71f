"""Digits in larger pictures, of which the paper has none: a coarse overview, and glimpses that are needed."""

from dataclasses import replace

from stawm.experiments.experiment import (
    CnnConfig,
    DataConfig,
    Experiment,
    ImageConfig,
    ModelConfig,
    PolicyConfig,
    TrainingConfig,
)
from stawm.experiments.facts import Goal
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.classify import ClassifyConfig

MNIST_CLUTTERED_60 = Experiment(
    name="mnist-cluttered-60",
    about="A digit among pieces of others in 60 × 60 pixels: an overview of 20 × 20, then eight glimpses of 12 × 12.",
    goal=Goal("error", 0.02, minutes=180),
    model=ModelConfig(
        image=ImageConfig(1, 60, 60),
        heads={"classify": ClassifyConfig(anytime=1.0, query="constant")},
        glimpses=8,
        glimpse_height=12,
        glimpse_width=12,
        glimpse_scale=0.25,
        policy=PolicyConfig(starts="grid", poses="salient"),
        overview_size=20,
        hidden=192,
        context=CnnConfig(filters=(32, 64), strides=(2, 1)),
        glimpse=CnnConfig(filters=(32, 64), strides=(1, 2)),
        memory=HebbRosenblattConfig(size=192, normalise="fixed"),
        where="pose",
        dropout=0.0,
    ),
    data=DataConfig(name="mnist-cluttered:60", rotate=0.0, turn=15.0, hold_out=5000),
    training=TrainingConfig(
        epochs=14,
        batch_size=64,
        learning_rate=1e-3,
        schedule="one-cycle",
        warmup=0.05,
        pose_share=0.3,
        clip_norm=1.0,
        average=0.999,
        checkpoint_every=1000,
    ),
)

MNIST_CLUTTERED_100 = replace(
    MNIST_CLUTTERED_60,
    name="mnist-cluttered-100",
    about="A digit among pieces of others in 100 × 100 pixels: an overview of 25 × 25, then eight glimpses of 12 × 12.",
    goal=Goal("error", 0.0336, minutes=180),
    model=replace(
        MNIST_CLUTTERED_60.model,
        image=ImageConfig(1, 100, 100),
        overview_size=25,
        glimpse_scale=0.15,
        glimpse=CnnConfig(filters=(32, 64), strides=(2, 1)),
    ),
    data=replace(MNIST_CLUTTERED_60.data, name="mnist-cluttered:100"),
    training=replace(MNIST_CLUTTERED_60.training, epochs=8, pose_share=1.0),
)

MNIST_5K_CLUTTERED_60 = replace(
    MNIST_CLUTTERED_60,
    name="mnist-5k-cluttered-60",
    about="A small sibling of mnist-cluttered-60 for laptops, on the 5,000 digits that come with the package.",
    goal=None,
    model=replace(
        MNIST_CLUTTERED_60.model,
        memory=replace(MNIST_CLUTTERED_60.model.memory, size=128),
        context=CnnConfig(filters=(16, 32), strides=(2, 2)),
        glimpse=CnnConfig(filters=(16, 32), strides=(2, 2)),
        hidden=128,
    ),
    data=DataConfig(name="mnist-cluttered:60:mnist-5k", rotate=0.0, turn=20.0),
    training=replace(MNIST_CLUTTERED_60.training, epochs=60, average=0.99, checkpoint_every=250),
)
