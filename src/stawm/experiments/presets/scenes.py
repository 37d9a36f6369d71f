"""Questions after looking, which the paper promises and does not ask: scenes of several digits, remembered."""

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
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.draw import DrawConfig
from stawm.model.heads.question import QuestionConfig

SCENES_8_RECALL = Experiment(
    name="scenes-8-recall",
    about="Eight digits, each seen once in random order; then: what was at this place?",
    model=ModelConfig(
        image=ImageConfig(1, 28, 56),
        heads={"identify": QuestionConfig(rows=2, columns=4)},
        glimpses=8,
        glimpse_height=14,
        glimpse_width=14,
        policy=PolicyConfig(kind="scan", rows=2, columns=4),
        overview=14,
        context=CnnConfig(filters=(), strides=()),
        glimpse=CnnConfig(filters=(16, 32), strides=(2, 2)),
        memory=HebbRosenblattConfig(size=128, normalise="fixed"),
        dropout=0.0,
    ),
    data=DataConfig(name="scenes:2x4:8", rotate=0.0),
    training=TrainingConfig(
        epochs=6, batch_size=64, learning_rate=2e-3, schedule="one-cycle", warmup=0.1, average=0.99
    ),
)

SCENES_4_ASK = Experiment(
    name="scenes-4-ask",
    about="Up to four digits, six learnt glimpses; then: what was here, where was this, was anything there? Redraw it.",
    model=ModelConfig(
        image=ImageConfig(1, 36, 36),
        heads={
            "identify": QuestionConfig(),
            "locate": QuestionConfig(),
            "detect": QuestionConfig(),
            "draw": DrawConfig(weight=0.02, latent=8),
        },
        glimpses=6,
        glimpse_height=12,
        glimpse_width=12,
        glimpse_scale=0.4,
        policy=PolicyConfig(starts="grid"),
        overview=2,
        context=CnnConfig(filters=(32, 64), strides=(2, 2)),
        glimpse=CnnConfig(filters=(32, 64), strides=(2, 2)),
        memory=HebbRosenblattConfig(size=128, normalise="fixed"),
        dropout=0.0,
    ),
    data=DataConfig(name="scenes:2x2+4:1-4", rotate=0.0),
    training=TrainingConfig(
        epochs=16, batch_size=64, learning_rate=1e-3, schedule="one-cycle", warmup=0.1, average=0.99
    ),
)

SCENES_8_ASK = replace(
    SCENES_4_ASK,
    name="scenes-8-ask",
    about="Up to eight digits in two rows, twelve learnt glimpses; then the questions of scenes-4-ask.",
    model=replace(
        SCENES_4_ASK.model,
        image=ImageConfig(1, 36, 72),
        heads={
            name: replace(head, rows=2, columns=4) if isinstance(head, QuestionConfig) else head
            for name, head in SCENES_4_ASK.model.heads.items()
        },
        glimpses=12,
        glimpse_scale=0.3,
    ),
    data=replace(SCENES_4_ASK.data, name="scenes:2x4+4:1-8"),
)

SCENES_4_CHANGE = replace(
    SCENES_8_RECALL,
    name="scenes-4-change",
    about="Four digits, each seen once, then four again, of which one may be another: same or different, and where?",
    model=replace(
        SCENES_8_RECALL.model,
        image=ImageConfig(1, 72, 36),
        heads={"change": QuestionConfig()},
        glimpses=4,
        glimpse_height=18,
        glimpse_width=18,
        policy=PolicyConfig(kind="scan", rows=2, columns=2),
    ),
    data=DataConfig(name="changes:2x2+4:4", rotate=0.0),
    training=replace(SCENES_8_RECALL.training, epochs=10),
)
