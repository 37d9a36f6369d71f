"""Rivals of STAWM on its own data, loop and ledger; what is published of each is in its own paper."""

from dataclasses import replace
from functools import partial

from stawm.baselines.draw import DrawWriterConfig
from stawm.baselines.ram import RamConfig
from stawm.experiments.experiment import CnnConfig, DataConfig, Experiment, ModelConfig
from stawm.experiments.facts import Departure, Published, held
from stawm.experiments.presets.large import MNIST_CLUTTERED_60, MNIST_CLUTTERED_100
from stawm.experiments.presets.natural import CIFAR10_VAE
from stawm.experiments.presets.recipes_natural import (
    CIFAR10_VAE_FAST,
    CIFAR10_VAE_SELF_SUPERVISED_FAST,
)
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.draw import DrawConfig

elsewhere = partial(Published, elsewhere=True)
"""What the paper of a rival reports."""

OWN_CLUTTER = Departure(
    ("data.name", "data.turn", "data.hold_out"),
    "clutter of our own making by their recipe, digits turned a little, and some held out",
)
SAME_LENGTH = Departure(("training.epochs",), "as long as our own model of the same pictures")
SAME_LOOP = Departure(
    ("training.batch_size", "training.optimiser", "training.schedule", "training.average"),
    "trained as our own model of the same pictures is, so that the models alone differ",
)
WIDE_FILTERS = Departure((), "filters start wide, so that the first glimpse sees all of the picture: not said there")
IN_THE_BATCH = Departure((), "what does not fill the last batch of an epoch is left out, other pictures each time")

CLASSIFIER = ModelConfig(image=MNIST_CLUTTERED_60.model.image, heads={"classify": ClassifyConfig()})
EIGHT_GLIMPSES = replace(CLASSIFIER, glimpses=8, glimpse_height=12, glimpse_width=12, hidden=256)

RAM_CLUTTERED_60 = Experiment(
    name="ram-cluttered-60",
    about="Classify cluttered digits of 60 × 60 pixels with RAM: 8 glimpses of 12 × 12 in 3 scales, by REINFORCE.",
    published=elsewhere("Mnih et al. 2014, Table 2", score="error", value=0.0404, note="60 × 60, 8 glimpses, 3 scales"),
    departures=(
        *(OWN_CLUTTER, SAME_LOOP, SAME_LENGTH, IN_THE_BATCH),
        Departure((), "the mean of a place goes through tanh, so that it lies in the picture; theirs is linear"),
        Departure((), "the first place is learnt; theirs is not said"),
        Departure(("model.rival.deviation",), "not said there"),
    ),
    model=replace(EIGHT_GLIMPSES, kind="ram", rival=RamConfig(scales=3)),
    data=MNIST_CLUTTERED_60.data,
    training=MNIST_CLUTTERED_60.training,
)

RAM_CLUTTERED_100 = replace(
    RAM_CLUTTERED_60,
    name="ram-cluttered-100",
    about="Classify cluttered digits of 100 × 100 pixels with RAM: 8 glimpses of 12 × 12 in 4 scales, by REINFORCE.",
    published=elsewhere("Mnih et al. 2014, Table 2", note="that of 100 × 100 could not be checked"),
    model=replace(RAM_CLUTTERED_60.model, image=MNIST_CLUTTERED_100.model.image, rival=RamConfig(scales=4)),
    data=MNIST_CLUTTERED_100.data,
    training=MNIST_CLUTTERED_100.training,
)

DRAW_CLUTTERED_100 = Experiment(
    name="draw-cluttered-100",
    about="Classify cluttered digits of 100 × 100 pixels with DRAW's reader: 8 glimpses by 12 × 12 Gaussian filters.",
    published=elsewhere("Gregor et al. 2015, Table 1", score="error", value=0.0336, note="100 × 100, 8 glimpses"),
    departures=(
        *(OWN_CLUTTER, SAME_LOOP, SAME_LENGTH, IN_THE_BATCH),
        WIDE_FILTERS,
        Departure(("training.clip_norm",), "a longer gradient can throw the filters out of the picture for good"),
        Departure(
            ("training.learning_rate",), "at the rate of our own model it lost the digit, at 60 × 60 in its third epoch"
        ),
    ),
    model=replace(EIGHT_GLIMPSES, kind="draw-reader", image=MNIST_CLUTTERED_100.model.image),
    data=MNIST_CLUTTERED_100.data,
    training=replace(MNIST_CLUTTERED_100.training, clip_norm=1.0, learning_rate=3e-4),
)

DRAW_CLUTTERED_60 = replace(
    DRAW_CLUTTERED_100,
    name="draw-cluttered-60",
    about="Classify cluttered digits of 60 × 60 pixels with DRAW's reader: 8 glimpses by 12 × 12 Gaussian filters.",
    of=DRAW_CLUTTERED_100.name,
    published=None,
    departures=(
        *held(DRAW_CLUTTERED_100.departures, ("data.name", "training.epochs", "training.learning_rate")),
        Departure(
            ("data.name", "model.image.height", "model.image.width", "training.epochs"),
            "the pictures of mnist-cluttered-60, and its epochs",
        ),
        Departure(
            ("training.learning_rate",),
            "at that of our own model it lost the digit in its third epoch; 0.0003 was slow",
        ),
    ),
    model=replace(DRAW_CLUTTERED_100.model, image=MNIST_CLUTTERED_60.model.image),
    data=MNIST_CLUTTERED_60.data,
    training=replace(DRAW_CLUTTERED_100.training, epochs=MNIST_CLUTTERED_60.training.epochs, learning_rate=6e-4),
)

STN_CLUTTERED_60 = Experiment(
    name="stn-cluttered-60",
    about="Classify cluttered digits of 60 × 60 pixels with a spatial-transformer CNN: one glimpse of 28 × 28.",
    published=elsewhere("Jaderberg et al. 2015, Section 4.1", score="error", value=0.017, note="60 × 60, ST-CNN"),
    departures=(
        *(OWN_CLUTTER, SAME_LOOP, SAME_LENGTH, IN_THE_BATCH),
        Departure(
            ("model.context.filters", "model.glimpse.filters", "model.hidden", "model.glimpse_height"),
            "networks of our own blocks (strided, with batch norm) and sizes; theirs pool",
        ),
    ),
    model=replace(
        CLASSIFIER,
        kind="stn",
        glimpse_height=28,
        glimpse_width=28,
        hidden=128,
        context=CnnConfig(filters=(16, 32, 32), strides=(2, 2, 2)),
        glimpse=CnnConfig(filters=(32, 64, 128), strides=(1, 2, 2)),
        dropout=0.3,
    ),
    data=MNIST_CLUTTERED_60.data,
    training=MNIST_CLUTTERED_60.training,
)

CNN_CLUTTERED_60 = Experiment(
    name="cnn-cluttered-60",
    about="Classify cluttered digits of 60 × 60 pixels with a plain CNN of less arithmetic than mnist-cluttered-60.",
    model=replace(
        CLASSIFIER,
        kind="cnn",
        hidden=256,
        glimpse=CnnConfig(filters=(32, 64, 128), strides=(2, 2, 2)),
        dropout=0.3,
    ),
    data=MNIST_CLUTTERED_60.data,
    training=MNIST_CLUTTERED_60.training,
)

CNN_CLUTTERED_60_DEEP = replace(
    CNN_CLUTTERED_60,
    name="cnn-cluttered-60-deep",
    about="The same with a deeper CNN of three times the arithmetic of mnist-cluttered-60: what a plain CNN can do.",
    model=replace(
        CNN_CLUTTERED_60.model,
        glimpse=CnnConfig(filters=(32, 32, 64, 64, 128, 128), strides=(1, 2, 1, 2, 1, 2)),
    ),
)

CNN_CLUTTERED_100 = replace(
    CNN_CLUTTERED_60,
    name="cnn-cluttered-100",
    about="Classify cluttered digits of 100 × 100 pixels with a plain CNN of about the arithmetic of "
    "mnist-cluttered-100.",
    model=replace(
        CNN_CLUTTERED_60.model,
        image=MNIST_CLUTTERED_100.model.image,
        glimpse=CnnConfig(filters=(32, 64, 128), strides=(3, 2, 2)),
    ),
    data=MNIST_CLUTTERED_100.data,
    training=MNIST_CLUTTERED_100.training,
)

CNN_CLUTTERED_100_DEEP = replace(
    CNN_CLUTTERED_100,
    name="cnn-cluttered-100-deep",
    about="The same with a deeper CNN of several times the arithmetic: what a plain CNN can do.",
    model=replace(
        CNN_CLUTTERED_100.model,
        glimpse=CnnConfig(filters=(32, 32, 64, 64, 128, 128), strides=(2, 1, 2, 1, 2, 1)),
    ),
)

CNN_CLUTTERED_100_NARROW = replace(
    CNN_CLUTTERED_100,
    name="cnn-cluttered-100-narrow",
    about="The deeper CNN with half of its filters: 1.6 times the arithmetic of mnist-cluttered-100.",
    model=replace(
        CNN_CLUTTERED_100.model,
        glimpse=CnnConfig(filters=(16, 16, 32, 32, 64, 64), strides=(2, 1, 2, 1, 2, 1)),
    ),
)

DRAW_MNIST = Experiment(
    name="draw-mnist",
    about="Draw black and white MNIST digits with DRAW: 64 glimpses that read by 2 × 2 filters and write by 5 × 5.",
    published=elsewhere("Gregor et al. 2015, Section 4.2", note="digits drawn stroke by stroke"),
    departures=(
        *(IN_THE_BATCH, WIDE_FILTERS),
        Departure(("model.rival.binary",), "by a new chance in each epoch; theirs were made black and white once"),
        Departure(("training.epochs", "training.learning_rate"), "not said there"),
        Departure((), "at evaluation drawings are of means, and the bound is of one sample by a fixed chance"),
    ),
    model=ModelConfig(
        kind="draw",
        heads={"draw": DrawConfig(latent=100, beta=1.0, beta_scale=1.0)},
        glimpses=64,
        glimpse_height=2,
        glimpse_width=2,
        hidden=256,
        rival=DrawWriterConfig(write=5),
    ),
    data=DataConfig(name="mnist", rotate=0.0, hold_out=5000),
    training=replace(MNIST_CLUTTERED_60.training, epochs=100, batch_size=128),
)

DRAW_MNIST_GREY = replace(
    DRAW_MNIST,
    name="draw-mnist-grey",
    about="Draw MNIST digits in grey with DRAW, to compare its squared error with that of mnist-draw-8.",
    of=DRAW_MNIST.name,
    published=None,
    departures=(
        *(one for one in DRAW_MNIST.departures if one.fields != ("model.rival.binary",)),
        Departure(("model.rival.binary",), "the pictures of mnist-draw-8; the bound is then no likelihood"),
    ),
    model=replace(DRAW_MNIST.model, rival=DrawWriterConfig(write=5, binary=False)),
)

AS_MANY_NUMBERS = Departure(
    ("model.heads.draw.latent",),
    "as many numbers of a picture as cifar10-draw-16 keeps, eight sketches of 32; the paper's baseline keeps 32",
)

CIFAR10_VAE_256 = replace(
    CIFAR10_VAE_FAST,
    name="cifar10-vae-256",
    about="A β-VAE that keeps 256 numbers of a picture, as cifar10-draw-16-fast does; all else as cifar10-vae-fast.",
    of="",
    published=None,
    goal=None,
    departures=(*CIFAR10_VAE.departures, AS_MANY_NUMBERS),
    model=replace(CIFAR10_VAE_FAST.model, heads={"draw": replace(CIFAR10_VAE_FAST.model.heads["draw"], latent=256)}),
)

CIFAR10_VAE_256_SELF_SUPERVISED = replace(
    CIFAR10_VAE_SELF_SUPERVISED_FAST,
    name="cifar10-vae-256-self-supervised",
    about="Classify CIFAR-10 from the latent means of the frozen cifar10-vae-256, learnt without labels.",
    of="",
    after=CIFAR10_VAE_256.name,
    published=None,
    departures=(*CIFAR10_VAE_SELF_SUPERVISED_FAST.departures, AS_MANY_NUMBERS),
    model=replace(
        CIFAR10_VAE_SELF_SUPERVISED_FAST.model,
        heads=CIFAR10_VAE_SELF_SUPERVISED_FAST.model.heads | CIFAR10_VAE_256.model.heads,
    ),
)
