"""Masks that can be measured: the drawing model of the paper's faces, on pictures whose foreground is known."""

from dataclasses import replace

from stawm.experiments.experiment import DataConfig, Experiment, PolicyConfig, TrainingConfig
from stawm.experiments.presets.natural import CELEBA_DRAW_32
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.draw import DrawConfig

SKETCHED = DrawConfig(
    latent=8, canvas="bernoulli", mean="concrete", beta=2.0, divergence="joint", anytime=0.5, cover=0.005
)

# With glimpses that all start as the whole picture the last sketch learns to do everything, and hides those below it.
# So each starts smaller than the one before, every canvas counts, and what a sketch hides costs a little.
# Where to look and to paste is learnt slowly, as in cifar10-draw-16-fast: at the full rate five of eight glimpses had a
# fifth of themselves outside the picture after the first 312 steps (at a peak rate of 1e-3).
COMPOSITES_DRAW_32 = Experiment(
    name="composites-draw-32",
    about="Draw garments over photographs with 8 sketches that cover each other; the truth of their masks is known.",
    model=replace(
        CELEBA_DRAW_32.model,
        heads={"draw": SKETCHED},
        glimpse_scale=0.5,
        policy=PolicyConfig(starts="inward"),
        memory=HebbRosenblattConfig(normalise="fixed"),
        dropout=0.0,
    ),
    data=DataConfig(name="composites", rotate=0.0, hold_out=2000),
    training=TrainingConfig(
        epochs=12,
        batch_size=32,
        learning_rate=1e-3,
        pose_share=0.1,
        paste_share=0.1,
        schedule="one-cycle",
        warmup=0.05,
        clip_norm=5.0,
        average=0.998,
    ),
)
