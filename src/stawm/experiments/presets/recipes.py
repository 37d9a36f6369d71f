"""Recipes of our own for the paper's models of digits, found in the trials of docs/trials.md: a few epochs."""

from dataclasses import replace

from stawm.experiments.experiment import DataConfig, Experiment, PolicyConfig, TrainingConfig
from stawm.experiments.facts import Departure, Goal, held
from stawm.experiments.presets.mnist import (
    AS_THE_TEXT,
    DROPPED_AFTER,
    MNIST_CLASSIFY_8,
    MNIST_CLASSIFY_28,
    MNIST_DRAW_4,
    MNIST_DRAW_6,
    MNIST_DRAW_8,
    MNIST_SELF_SUPERVISED,
    MNIST_SKETCHPAD,
)
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.head import HeadConfig

MNIST_RECIPE = TrainingConfig(
    epochs=12, learning_rate=6e-4, pose_share=0.1, schedule="one-cycle", warmup=0.1, clip_norm=1.0, average=0.998
)
CYCLE = Departure(
    ("training.epochs", "training.learning_rate", "training.schedule", "training.warmup", "training.average"),
    "a short run, with warm-up, a cosine to zero and a moving average of the weights",
)
CYCLE_AT_ITS_RATE = tuple(name for name in CYCLE.fields if name != "training.learning_rate")
CYCLE_SETTLED = (
    "warm-up, a cosine to zero, a moving average of the weights, and statistics of batch norm that are taken anew at "
    "the end"
)
CLIPPED_SHORT = Departure(("training.clip_norm",), "part of the short recipe; not tried apart")
UNDERFITS = "a short run underfits before it overfits"
LOOKS_SLOWLY = "where to look is learnt slowly"
LOOKS_STEADILY = Departure(
    ("training.pose_share", "model.glimpse_scale"),
    f"{LOOKS_SLOWLY}, from smaller glimpses, so that they stay on the image",
)
MEASURED: dict[str, HeadConfig] = {"classify": ClassifyConfig(query_dropout="after")}
HELD_OUT = Departure(("data.hold_out",), "the last training pictures are kept for validation")
UNIT = Departure(("model.memory.normalise",), "codes and queries of length 1: no unit saturates, and it learns sooner")
APART = Departure(
    ("model.policy.starts", "model.glimpse_scale"),
    "glimpses start small and apart: later ones see something else",
)

MNIST_CLASSIFY_8_FAST = replace(
    MNIST_CLASSIFY_8,
    name="mnist-classify-8-fast",
    about="The paper's 8×8 classifier, with a short recipe of our own.",
    of=MNIST_CLASSIFY_8.name,
    goal=Goal("error", 0.005, epochs=12),
    departures=(
        *held(MNIST_CLASSIFY_8.departures, (*AS_THE_TEXT.fields, *DROPPED_AFTER.fields)),
        DROPPED_AFTER,
        Departure((*CYCLE.fields, "training.milestones"), CYCLE.reason),
        CLIPPED_SHORT,
        Departure(
            LOOKS_STEADILY.fields,
            f"{LOOKS_SLOWLY}, from smaller glimpses: at the full rate the first ones left the image, and the error "
            "after three epochs was half as high again",
        ),
        Departure(("model.dropout", "data.shift"), UNDERFITS),
        HELD_OUT,
    ),
    model=replace(MNIST_CLASSIFY_8.model, heads=MEASURED, dropout=0.3, glimpse_scale=0.75),
    data=replace(MNIST_CLASSIFY_8.data, shift=1, hold_out=5000),
    training=MNIST_RECIPE,
)

MNIST_CLASSIFY_8_LONG = replace(
    MNIST_CLASSIFY_8_FAST,
    name="mnist-classify-8-long",
    about="The paper's 8×8 classifier in one command: 30 epochs of warped digits, an hour or more on a core with bf16.",
    goal=Goal("error", 0.0041, epochs=30),
    departures=(
        *held(MNIST_CLASSIFY_8.departures, AS_THE_TEXT.fields),
        Departure(
            (*CYCLE_AT_ITS_RATE, "training.milestones", "training.settle"),
            f"a seventh of the epochs, with {CYCLE_SETTLED}",
        ),
        CLIPPED_SHORT,
        Departure(("training.pose_share",), LOOKS_SLOWLY),
        Departure(("model.dropout", "data.shift"), UNDERFITS),
        Departure(
            ("data.warp", "data.sampling"), "the runs of 12, 6 and 26 epochs, one after another, had gained from them"
        ),
        *(UNIT, APART, HELD_OUT),
    ),
    model=replace(
        MNIST_CLASSIFY_8.model,
        dropout=0.3,
        glimpse_scale=0.6,
        memory=HebbRosenblattConfig(normalise="fixed"),
        policy=PolicyConfig(starts="grid"),
    ),
    data=replace(MNIST_CLASSIFY_8_FAST.data, warp=0.6, sampling="bicubic", hold_out=1000),
    training=replace(MNIST_RECIPE, epochs=30, learning_rate=1e-3, warmup=0.05, average=0.9995, settle=100),
)

MNIST_CLASSIFY_28_FAST = replace(
    MNIST_CLASSIFY_28,
    name="mnist-classify-28-fast",
    about="The paper's 28×28 classifier: 16 epochs of warped digits, 12 of them with two views.",
    of=MNIST_CLASSIFY_28.name,
    goal=Goal("error", 0.0029, epochs=16),
    departures=(
        *held(MNIST_CLASSIFY_28.departures, AS_THE_TEXT.fields),
        Departure(
            (*CYCLE_AT_ITS_RATE, "training.milestones", "training.settle"),
            f"as mnist-classify-8-long: {CYCLE_SETTLED}",
        ),
        Departure(
            ("training.glimpses",), "two views teach most of what ten do, at a fifth of the cost; all ten come last"
        ),
        CLIPPED_SHORT,
        Departure(("training.pose_share",), LOOKS_SLOWLY),
        Departure(
            ("model.dropout", "data.shift"),
            f"{UNDERFITS}: with two glimpses of 8×8 and five epochs, 0.52 % of 5,000 validation digits were wrong at a "
            "dropout of 0.1, 0.64 % at 0.3",
        ),
        Departure(("data.warp", "data.sampling"), "as mnist-classify-8-long; not tried apart"),
        Departure(
            ("model.policy.starts", "model.policy.far_first", "model.glimpse_scale"),
            "views start as the whole picture to 0.6 of it, widest and nearest first: with three views in three epochs "
            "0.46 % of 5,000 validation digits were wrong, where all began as the whole picture 0.58 %",
        ),
        *(UNIT, HELD_OUT),
    ),
    model=replace(
        MNIST_CLASSIFY_28.model,
        dropout=0.1,
        glimpse_scale=0.6,
        memory=HebbRosenblattConfig(size=512, normalise="fixed"),
        policy=PolicyConfig(starts="inward", far_first=True),
    ),
    data=MNIST_CLASSIFY_8_LONG.data,
    training=replace(MNIST_CLASSIFY_8_LONG.training, epochs=16, glimpses=(2, 2, 2, 10)),
)

MNIST_DRAW_6_FAST = replace(
    MNIST_DRAW_6,
    name="mnist-draw-6-fast",
    about="mnist-draw-6, with a short recipe of our own.",
    of=MNIST_DRAW_6.name,
    goal=Goal("mse", 0.005, epochs=12),
    departures=(
        *MNIST_DRAW_6.departures,
        CYCLE,
        Departure((*CLIPPED_SHORT.fields, "model.dropout"), CLIPPED_SHORT.reason),
        Departure(("training.pose_share",), LOOKS_SLOWLY),
        Departure(
            ("model.memory.theta",), "with less of each code itself, twelve writes of longer codes saturated the memory"
        ),
        *(UNIT, APART, HELD_OUT),
    ),
    model=replace(
        MNIST_DRAW_6.model,
        dropout=0.2,
        glimpse_scale=0.6,
        memory=replace(MNIST_DRAW_6.model.memory, theta=4.0, normalise="fixed"),
        policy=PolicyConfig(starts="grid"),
    ),
    data=replace(MNIST_DRAW_6.data, hold_out=5000),
    training=MNIST_RECIPE,
)


def drawn_as_6(known: Experiment) -> Experiment:
    """A sibling of mnist-draw-6 with sketches of another size, by its recipe, for longer; each sketch is to be seen."""
    own, head = known.model, MNIST_DRAW_6_FAST.model.heads["draw"]
    return replace(
        known,
        name=f"{known.name}-fast",
        about=f"{known.name}, with the recipe of mnist-draw-6-fast for 20 epochs; every sketch can be seen.",
        of=known.name,
        departures=(
            *known.departures,
            *MNIST_DRAW_6_FAST.departures[len(MNIST_DRAW_6.departures) :],
            Departure(
                ("model.heads.draw.strength", "model.heads.draw.anytime"),
                "sketches are four times as large before training, and canvases before the last count too: else the "
                "first sketch stays blank, for what it alone adds to a canvas of -6 cannot be seen, nor learnt from",
            ),
        ),
        model=replace(
            MNIST_DRAW_6_FAST.model,
            heads={"draw": replace(head, strength=4.0, anytime=0.3)},
            glimpse_height=own.glimpse_height,
            glimpse_width=own.glimpse_width,
            glimpse=own.glimpse,
        ),
        data=MNIST_DRAW_6_FAST.data,
        training=replace(MNIST_DRAW_6_FAST.training, epochs=20),
    )


MNIST_DRAW_4_FAST, MNIST_DRAW_8_FAST = drawn_as_6(MNIST_DRAW_4), drawn_as_6(MNIST_DRAW_8)

MNIST_SELF_SUPERVISED_FAST = replace(
    MNIST_SELF_SUPERVISED,
    name="mnist-self-supervised-fast",
    about="mnist-self-supervised on mnist-draw-6-fast: twelve views of each digit, stored, 36 epochs in 20 minutes.",
    of=MNIST_SELF_SUPERVISED.name,
    after=MNIST_DRAW_6_FAST.name,
    goal=Goal("error", 0.0079, epochs=36),
    departures=(
        *held(MNIST_SELF_SUPERVISED.departures, ("data.rotate",)),
        CYCLE,
        Departure(CLIPPED_SHORT.fields, CLIPPED_SHORT.reason),
        Departure(
            ("data.rotate", "data.warp", "data.sampling", "data.views", "training.settle"),
            "of each digit as it is and eleven variations, turned and warped, the codes are stored; the statistics of "
            "batch norm are those of digits as they are (paper: 20°, nothing of warps)",
        ),
        Departure(("model.memory.theta", "model.dropout"), "as in the drawing model that is read"),
        *(UNIT, APART, HELD_OUT),
    ),
    model=replace(
        MNIST_DRAW_6_FAST.model,
        heads=MNIST_SELF_SUPERVISED.model.heads,
        memory=replace(MNIST_DRAW_6_FAST.model.memory, learn_rates=True),
    ),
    data=DataConfig(name="mnist", rotate=15.0, warp=0.6, sampling="bicubic", views=12, hold_out=5000),
    training=replace(
        MNIST_SELF_SUPERVISED.training,
        epochs=36,
        learning_rate=3e-3,
        schedule="one-cycle",
        decay=MNIST_RECIPE.decay,
        warmup=0.1,
        clip_norm=1.0,
        average=0.995,
        settle=100,
    ),
)

MNIST_SKETCHPAD_FAST = replace(
    MNIST_SKETCHPAD,
    name="mnist-sketchpad-fast",
    about="mnist-sketchpad, with a short recipe of our own; glimpses start apart, so that each sketch draws a part.",
    of=MNIST_SKETCHPAD.name,
    goal=Goal("error", 0.0054, epochs=10),
    departures=(
        *held(MNIST_SKETCHPAD.departures, DROPPED_AFTER.fields),
        DROPPED_AFTER,
        CYCLE,
        CLIPPED_SHORT,
        Departure(("model.dropout", "data.shift"), UNDERFITS),
        Departure(("training.pose_share",), LOOKS_SLOWLY),
        *(UNIT, APART, HELD_OUT),
    ),
    model=replace(
        MNIST_SKETCHPAD.model,
        heads=MNIST_SKETCHPAD.model.heads | MEASURED,
        dropout=0.3,
        glimpse_scale=0.6,
        memory=HebbRosenblattConfig(normalise="fixed"),
        policy=PolicyConfig(starts="grid"),
    ),
    data=replace(MNIST_SKETCHPAD.data, shift=1, hold_out=5000),
    training=replace(MNIST_RECIPE, epochs=10),
)
