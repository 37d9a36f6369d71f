"""Small siblings of the paper's experiments, on the digits that come with the package."""

from dataclasses import replace

from stawm.experiments.experiment import CnnConfig, DataConfig, PolicyConfig, TrainingConfig
from stawm.experiments.facts import Departure, Goal, held
from stawm.experiments.presets.mnist import (
    AS_THE_TEXT,
    DROPPED_AFTER,
    MNIST_CLASSIFY_8,
    MNIST_DRAW_6,
    MNIST_SELF_SUPERVISED,
    MNIST_SKETCHPAD,
)
from stawm.experiments.presets.recipes import APART, MEASURED, UNIT
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.draw import DrawConfig

CYCLE = Departure(
    ("training.epochs", "training.schedule", "training.warmup", "training.average"),
    "few steps, with warm-up, a cosine to zero and a moving average of the weights",
)
SMALLER = ("data.name", "training.batch_size", "model.memory.size", "model.context.filters", "model.glimpse.filters")
VARIED_MORE = Departure(("model.dropout", "data.shift"), "4,000 digits, varied more")
MINUTES = "4,000 training digits and a small model: minutes, not hours"

STARTS = Departure(("model.policy.starts",), "glimpses start apart: later ones see something else")
SMALL = replace(
    MNIST_CLASSIFY_8.model,
    glimpses=6,
    memory=HebbRosenblattConfig(size=128, normalise="fixed"),
    context=CnnConfig(filters=(32, 64, 128), strides=(2, 2, 2)),
    glimpse=CnnConfig(filters=(32, 64), strides=(1, 2)),
    dropout=0.3,
)

MNIST_5K_CLASSIFY = replace(
    MNIST_CLASSIFY_8,
    name="mnist-5k-classify",
    about="A small sibling of mnist-classify-8 for laptops, on the 5,000 digits that come with the package.",
    of=MNIST_CLASSIFY_8.name,
    published=None,
    goal=Goal("error", 0.03, minutes=10),
    departures=(
        *held(MNIST_CLASSIFY_8.departures, (*AS_THE_TEXT.fields, *DROPPED_AFTER.fields)),
        DROPPED_AFTER,
        Departure((*CYCLE.fields, "training.milestones"), CYCLE.reason),
        Departure((*SMALLER, "model.glimpses"), MINUTES),
        *(VARIED_MORE, UNIT, APART),
    ),
    model=replace(SMALL, heads=MEASURED, glimpse_scale=0.6, policy=PolicyConfig(starts="grid")),
    data=DataConfig(name="mnist-5k", rotate=20.0, shift=2),
    training=TrainingConfig(
        epochs=40, batch_size=64, learning_rate=1e-3, schedule="one-cycle", warmup=0.05, average=0.99
    ),
)

MNIST_5K_DRAW = replace(
    MNIST_DRAW_6,
    name="mnist-5k-draw",
    about="A small sibling of mnist-draw-6 for laptops, on the digits that come with the package.",
    of=MNIST_DRAW_6.name,
    published=None,
    departures=(
        *MNIST_DRAW_6.departures,
        CYCLE,
        Departure((*SMALLER, "model.glimpses", "model.dropout"), MINUTES),
        *(UNIT, STARTS),
    ),
    model=replace(
        SMALL,
        heads={"draw": DrawConfig(latent=4)},
        glimpses=8,
        glimpse_height=6,
        glimpse_width=6,
        glimpse=CnnConfig(filters=(64,), strides=(1,)),
        policy=PolicyConfig(starts="grid"),
    ),
    data=replace(MNIST_5K_CLASSIFY.data, shift=0),
    training=MNIST_5K_CLASSIFY.training,
)

MNIST_5K_SELF_SUPERVISED = replace(
    MNIST_SELF_SUPERVISED,
    name="mnist-5k-self-supervised",
    about="A small sibling of mnist-self-supervised for laptops, on the digits that come with the package.",
    of=MNIST_SELF_SUPERVISED.name,
    published=None,
    goal=Goal("error", 0.06, minutes=1),
    after=MNIST_5K_DRAW.name,
    departures=(
        *held(MNIST_SELF_SUPERVISED.departures, DROPPED_AFTER.fields),
        DROPPED_AFTER,
        CYCLE,
        Departure((*SMALLER, "model.glimpses", "model.dropout"), "the digits and the sizes of mnist-5k-draw"),
        *(UNIT, STARTS),
    ),
    model=replace(
        MNIST_5K_DRAW.model,
        heads={**MEASURED, **MNIST_5K_DRAW.model.heads},
        memory=replace(MNIST_5K_DRAW.model.memory, learn_rates=True),
    ),
    data=replace(MNIST_5K_DRAW.data, rotate=0.0),
    training=replace(MNIST_5K_DRAW.training, epochs=60, learns="classify"),
)

MNIST_5K_SKETCHPAD = replace(
    MNIST_SKETCHPAD,
    name="mnist-5k-sketchpad",
    about="A small sibling of mnist-sketchpad for laptops, on the digits that come with the package.",
    of=MNIST_SKETCHPAD.name,
    published=None,
    goal=Goal("error", 0.05, minutes=10),
    departures=(
        *held(MNIST_SKETCHPAD.departures, DROPPED_AFTER.fields),
        *(DROPPED_AFTER, CYCLE, Departure(SMALLER, MINUTES), VARIED_MORE, UNIT, APART),
        Departure(
            ("data.warp", "data.sampling", "training.settle"),
            "4,000 digits, warped anew each time: fewer are mistaken, and beliefs are nearer to the truth",
        ),
    ),
    model=replace(MNIST_5K_CLASSIFY.model, heads=MNIST_SKETCHPAD.model.heads | MEASURED),
    data=replace(MNIST_5K_CLASSIFY.data, warp=0.8, sampling="bicubic"),
    training=replace(MNIST_5K_CLASSIFY.training, epochs=60, average=0.998, settle=60),
)
