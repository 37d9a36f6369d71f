"""A model small enough to be looked into by tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jaxtyping
import torch
from torch import nn

from stawm.experiments.build import build
from stawm.experiments.experiment import CnnConfig, ImageConfig, ModelConfig
from stawm.memory.hebb_rosenblatt import HebbRosenblatt, HebbRosenblattConfig
from stawm.model.heads.classify import ClassificationHead, ClassifyConfig
from stawm.model.heads.draw import DrawConfig, DrawingHead
from stawm.model.heads.head import HeadConfig
from stawm.model.policy import Emitter, Policy
from stawm.model.stawm import Stawm
from tiny_seed import SHIFT

SMALL = ModelConfig(
    image=ImageConfig(channels=1, height=12, width=12),
    heads={"classify": ClassifyConfig(classes=4)},
    glimpses=3,
    glimpse_height=5,
    glimpse_width=5,
    context=CnnConfig(filters=(4, 6), strides=(2, 2)),
    glimpse=CnnConfig(filters=(6,), strides=(1,)),
    memory=HebbRosenblattConfig(size=10),
    dropout=0.0,
)


def heads(classes: int = 0, **draw: Any) -> dict[str, HeadConfig]:
    """A head that classifies, one that draws (`latent=…`), or both."""
    classify: dict[str, HeadConfig] = {"classify": ClassifyConfig(classes=classes)} if classes else {}
    return classify | ({"draw": DrawConfig(**draw)} if draw else {})


def stawm(config: ModelConfig) -> Stawm:
    model = build(config)
    assert isinstance(model, Stawm)
    return model


def head_of(model: Stawm) -> ClassificationHead:
    head = model.head("classify")
    assert isinstance(head, ClassificationHead)
    return head


def artist_of(model: Stawm) -> DrawingHead:
    head = model.head("draw")
    assert isinstance(head, DrawingHead)
    return head


def memory_of(model: Stawm) -> HebbRosenblatt:
    assert isinstance(model.memory, HebbRosenblatt)
    return model.memory


def policy_of(model: Stawm) -> Policy:
    assert isinstance(model.policy, Policy)
    return model.policy


def emitter_of(model: Stawm) -> Emitter:
    emitter = policy_of(model).emitter
    assert isinstance(emitter, Emitter)
    return emitter


def small(seed: int = 0, **changes: Any) -> Stawm:
    torch.manual_seed(seed + SHIFT)
    model = stawm(replace(SMALL, **changes))
    with torch.no_grad():
        emitter_of(model).pose.weight.normal_(0, 0.5)
    return model


def silent(model: nn.Module) -> list[str]:
    """The names of the parameters that got no gradient."""
    weights = model.named_parameters()
    return [name for name, weight in weights if weight.grad is None or not weight.grad.any()]


@contextmanager
def unchecked() -> Iterator[None]:
    """The package as users run it: without the suite's checks of shapes, which would refuse a wrong call first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
