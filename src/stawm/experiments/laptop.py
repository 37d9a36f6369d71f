"""Small siblings of the paper's experiments, on the digits that come with the package."""

from dataclasses import replace

from stawm.experiments.experiment import (
    CnnConfig,
    DataConfig,
    TrainingConfig,
)
from stawm.experiments.mnist import (
    MNIST_CLASSIFY_8,
    MNIST_DRAW_6,
    MNIST_SELF_SUPERVISED,
    MNIST_SKETCHPAD,
)
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.draw import DrawConfig

MNIST_5K_CLASSIFY = replace(
    MNIST_CLASSIFY_8,
    name="mnist-5k-classify",
    about="A small sibling for laptops and the demo, on the 5,000 digits that come with the package.",
    paper="after Table 1 (a); not in the paper",
    reach="3 % error on the embedded 1,000 within ten minutes on two cores",
    deviations=(
        *MNIST_CLASSIFY_8.deviations,
        "40 epochs: warm-up, a cosine to zero and a running average of the weights; digits shifted by up to 2 pixels",
        "4,000 training digits, a memory of 128 and half the filters: minutes, not hours",
    ),
    model=replace(
        MNIST_CLASSIFY_8.model,
        glimpses=6,
        memory=HebbRosenblattConfig(size=128),
        context=CnnConfig(filters=(32, 64, 128), strides=(2, 2, 2)),
        glimpse=CnnConfig(filters=(32, 64), strides=(1, 2)),
        dropout=0.3,
    ),
    data=DataConfig(name="mnist-5k", rotate=20.0, shift=2),
    training=TrainingConfig(
        epochs=40, batch_size=64, learning_rate=1e-3, schedule="one-cycle", warmup=0.05, average=0.99
    ),
)

MNIST_5K_DRAW = replace(
    MNIST_DRAW_6,
    name="mnist-5k-draw",
    about="A small sibling of mnist-draw-6 for laptops, on the digits that come with the package.",
    paper="after Figure 8 (b); not in the paper",
    model=replace(
        MNIST_5K_CLASSIFY.model,
        heads={"draw": DrawConfig(latent=4)},
        glimpses=8,
        glimpse_height=6,
        glimpse_width=6,
        glimpse=CnnConfig(filters=(64,), strides=(1,)),
    ),
    data=replace(MNIST_5K_CLASSIFY.data, shift=0),
    training=replace(MNIST_5K_CLASSIFY.training, epochs=40),
)

MNIST_5K_SELF_SUPERVISED = replace(
    MNIST_SELF_SUPERVISED,
    name="mnist-5k-self-supervised",
    about="A small sibling of mnist-self-supervised for laptops, on the digits that come with the package.",
    paper="after Table 1 (b); not in the paper",
    reach="6 % error on the embedded 1,000 within a minute",
    after=MNIST_5K_DRAW.name,
    deviations=(
        *MNIST_SELF_SUPERVISED.deviations,
        "the digits, the sizes and the recipe of mnist-5k-draw, for 60 epochs: minutes, not hours",
    ),
    model=replace(
        MNIST_5K_DRAW.model,
        heads={"classify": ClassifyConfig(classes=10), **MNIST_5K_DRAW.model.heads},
        memory=replace(MNIST_5K_DRAW.model.memory, learn_rates=True),
    ),
    data=replace(MNIST_5K_DRAW.data, rotate=0.0),
    training=replace(MNIST_5K_DRAW.training, epochs=60, learns="classify"),
)

MNIST_5K_SKETCHPAD = replace(
    MNIST_SKETCHPAD,
    name="mnist-5k-sketchpad",
    about="A small sibling of mnist-sketchpad for laptops, on the digits that come with the package.",
    paper="after Section 4.4; not in the paper",
    reach="5 % error on the embedded 1,000 and drawings that people recognise, in ten minutes on two cores",
    model=replace(MNIST_5K_CLASSIFY.model, heads=MNIST_SKETCHPAD.model.heads),
    data=MNIST_5K_CLASSIFY.data,
    training=replace(MNIST_5K_CLASSIFY.training, epochs=40),
)
