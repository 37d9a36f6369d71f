"""A read-out: what is frozen stays frozen, and stored features answer as pictures do."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stawm.baselines.beta_vae import BetaVae
from stawm.experiments.build import Model, build
from stawm.experiments.experiment import DrawConfig, MemoryConfig, ModelConfig
from stawm.model.readout import LatentReadout, MemoryReadout, Readout
from stawm.model.stawm import Stawm
from tiny_model import SMALL, silent

CONFIGS = {
    "stawm": replace(SMALL, draw=DrawConfig(latent=3), memory=MemoryConfig(size=10, learn_rates=True), dropout=0.3),
    "vae": replace(SMALL, kind="vae", draw=DrawConfig(latent=3)),
}
LEARNS = {
    "stawm": ["classify.classify.bias", "classify.classify.weight", "classify.query.project.bias",
              "classify.query.project.weight", "memory.shift"],
    "vae": ["classify.bias", "classify.weight"],
}  # fmt: skip


def lively(config: ModelConfig) -> Model:
    """A model whose glimpses move, whose codes are not tiny, and whose norms have seen pictures."""
    torch.manual_seed(0)
    model = build(config)
    for name, weight in model.named_parameters():
        if name in ("what.weight", "where.weight", "classify.query.project.weight"):
            nn.init.normal_(weight, std=6.0)
        elif name == "policy.emitter.pose.weight":
            nn.init.normal_(weight, std=0.4)
    for _ in range(5):
        model(torch.rand(8, 1, 12, 12))
    return model


def readout_of(model: Model) -> Readout[BetaVae] | MemoryReadout:
    return LatentReadout(model) if isinstance(model, BetaVae) else MemoryReadout(model)


def taught_once(readout: nn.Module, pictures: Tensor) -> None:
    readout.train()
    optimiser = torch.optim.Adam([weight for weight in readout.parameters() if weight.requires_grad], lr=1e-2)
    for _ in range(3):
        optimiser.zero_grad()
        F.cross_entropy(readout(pictures).classified.logits[:, -1], torch.arange(len(pictures)) % 4).backward()
        optimiser.step()


@pytest.mark.parametrize("kind", CONFIGS)
def test_only_the_classifier_and_the_rates_learn(kind: str) -> None:
    """Everything else keeps every bit, statistics of norms included, and gets no gradient."""
    model = lively(CONFIGS[kind])
    before = copy.deepcopy(model.state_dict())
    taught_once(readout_of(model), torch.rand(8, 1, 12, 12))
    moved = [name for name, value in model.state_dict().items() if not torch.equal(value, before[name])]
    assert sorted(moved) == LEARNS[kind]
    graded = [name for name, weight in model.named_parameters() if weight.grad is not None]
    assert sorted(graded) == LEARNS[kind]
    assert set(silent(model)).isdisjoint(LEARNS[kind])


def test_norms_would_move_in_a_model_that_is_not_frozen() -> None:
    """So that the test above can fail."""
    model = lively(CONFIGS["stawm"])
    before = copy.deepcopy(model.state_dict())
    model(torch.rand(8, 1, 12, 12))
    assert any(not torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("kind", CONFIGS)
def test_all_but_the_learning_parts_stay_in_evaluation_mode(kind: str) -> None:
    model = lively(CONFIGS[kind])
    readout = nn.Sequential(readout_of(model)).train()[0]
    frozen = {name.split(".")[0] for name, part in model.named_modules() if name and not part.training}
    assert model.classify is not None and model.classify.training
    assert frozen == {name for name, _ in model.named_children()} - {"classify", "memory"}
    readout.eval()
    assert not any(part.training for part in readout.modules())


@pytest.mark.parametrize("kind", CONFIGS)
def test_stored_features_answer_as_pictures_and_as_the_whole_model(kind: str) -> None:
    model, images = lively(CONFIGS[kind]), torch.rand(6, 1, 12, 12)
    readout = readout_of(model).eval()
    features = torch.cat([readout.features(part) for part in images.split(4)])
    from_features, from_images, whole = readout(features), readout(images), model(images)
    torch.testing.assert_close(from_features.classified.logits, from_images.classified.logits, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(from_features.classified.logits, whole.classified.logits, rtol=1e-5, atol=1e-6)
    assert whole.classified.logits[:, -1].std(0).min() > 1e-3, "answers differ from image to image"
    assert not features.requires_grad


def test_a_stawm_readout_keeps_what_health_asks_for() -> None:
    model, images = lively(CONFIGS["stawm"]), torch.rand(6, 1, 12, 12)
    assert isinstance(model, Stawm)
    readout = MemoryReadout(model).eval()
    kept, whole = readout(readout.features(images)), model(images)
    torch.testing.assert_close(kept.codes, whole.codes)
    torch.testing.assert_close(readout.memory.norm(kept.state), model.memory.norm(whole.state))
    torch.testing.assert_close(kept.classified.recalls, whole.classified.recalls)


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_model_without_a_classifier_cannot_be_read_out(kind: str) -> None:
    with pytest.raises(ValueError, match="build one with classes"):
        readout_of(build(replace(CONFIGS[kind], classes=0)))
