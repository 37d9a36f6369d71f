"""A model for larger pictures, small enough for tests."""

from dataclasses import replace

import torch

from stawm.experiments.experiment import CnnConfig, ImageConfig, PolicyConfig
from stawm.experiments.presets import preset
from stawm.model.policy import Poses
from stawm.store.weights import Trained
from tiny_model import policy_of, stawm
from tiny_run import TINY

TINY_LARGE = replace(
    preset("mnist-5k-cluttered-60"),
    model=replace(
        preset("mnist-5k-cluttered-60").model,
        image=ImageConfig(1, 40, 40),
        glimpses=3,
        glimpse_scales=2,
        hidden=16,
        memory=replace(preset("mnist-5k-cluttered-60").model.memory, size=16),
        context=CnnConfig(filters=(4,), strides=(2,)),
        glimpse=CnnConfig(filters=(4,), strides=(2,)),
    ),
    data=replace(preset("mnist-5k-cluttered-60").data, name="mnist-cluttered:40:2:mnist-5k"),
    training=replace(TINY.training, spread=0.5, epochs=1),
)


def large(poses: Poses) -> Trained:
    """One that looks here and there, with an overview whose side is no whole part of the picture's."""
    torch.manual_seed(0)
    overview = {"glimpses": 2, "overview_size": 12, "policy": PolicyConfig(starts="grid", poses=poses)}
    experiment = replace(TINY_LARGE, model=replace(TINY_LARGE.model, **overview))
    model = stawm(experiment.model).eval()
    with torch.no_grad():
        for weight in policy_of(model).emitter.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return Trained(model, experiment, {}, tuple("0123456789"))
