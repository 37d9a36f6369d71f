"""A read-out: what is frozen stays frozen, and stored features answer as pictures do."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stawm.baselines.beta_vae import BetaVae, LatentReadout
from stawm.errors import UsageError
from stawm.experiments.build import Model, build
from stawm.experiments.experiment import ModelConfig
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.readout import MemoryReadout, Readout
from stawm.model.stawm import Stawm
from tiny_learning import taught
from tiny_model import SMALL, heads, silent

CONFIGS = {
    "stawm": replace(
        SMALL, heads=heads(4, latent=3), memory=HebbRosenblattConfig(size=10, learn_rates=True), dropout=0.3
    ),
    "vae": replace(SMALL, kind="vae", heads=heads(4, latent=3)),
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
        if name in ("what.weight", "where.weight", "heads.classify.query.project.weight"):
            nn.init.normal_(weight, std=6.0)
        elif name == "policy.emitter.pose.weight":
            nn.init.normal_(weight, std=0.4)
    for _ in range(5):
        model(torch.rand(8, 1, 12, 12))
    return model


def readout_of(model: Model) -> Readout[BetaVae] | MemoryReadout:
    if isinstance(model, BetaVae):
        return LatentReadout(model)
    assert isinstance(model, Stawm)
    return MemoryReadout(model, "classify")


def taught_once(readout: nn.Module, pictures: Tensor) -> None:
    readout.train()
    optimiser = torch.optim.Adam([weight for weight in readout.parameters() if weight.requires_grad], lr=1e-2)
    wanted = torch.arange(len(pictures)) % 4
    taught(optimiser, lambda: F.cross_entropy(readout(pictures).answers["classify"].logits[:, -1], wanted), 3)


@pytest.mark.parametrize("kind", CONFIGS)
def test_only_the_classifier_and_the_rates_learn(kind: str) -> None:
    """Everything else keeps every bit, statistics of norms included, and gets no gradient."""
    model = lively(CONFIGS[kind])
    before = copy.deepcopy(model.state_dict())
    taught_once(readout_of(model), torch.rand(8, 1, 12, 12))
    moved = [name for name, value in model.state_dict().items() if not torch.equal(value, before[name])]
    assert sorted(moved) == LEARNS[kind]
    graded = [name.removeprefix("heads.") for name, weight in model.named_parameters() if weight.grad is not None]
    assert sorted(graded) == LEARNS[kind]
    assert {name.removeprefix("heads.") for name in silent(model)}.isdisjoint(LEARNS[kind])


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
    learning = {"stawm": ("heads.classify", "memory"), "vae": ("classify",)}[kind]
    for name, part in model.named_modules():
        assert part.training == name.startswith(learning), name
    readout.eval()
    assert not any(part.training for part in readout.modules())


@pytest.mark.parametrize("kind", CONFIGS)
def test_stored_features_answer_as_pictures_and_as_the_whole_model(kind: str) -> None:
    model, images = lively(CONFIGS[kind]), torch.rand(6, 1, 12, 12)
    readout = readout_of(model).eval()
    features = torch.cat([readout.features(part) for part in images.split(4)])
    answered = (readout(features), readout(images), model(images))
    from_features, from_images, whole = (one.answers["classify"].logits for one in answered)
    torch.testing.assert_close(from_features, from_images, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(from_features, whole, rtol=1e-5, atol=1e-6)
    assert whole[:, -1].std(0).min() > 1e-3, "answers differ from image to image"
    assert not features.requires_grad


def test_a_stawm_readout_keeps_what_health_asks_for() -> None:
    model, images = lively(CONFIGS["stawm"]), torch.rand(6, 1, 12, 12)
    assert isinstance(model, Stawm)
    readout = MemoryReadout(model, "classify").eval()
    kept, whole = readout(readout.features(images)), model(images)
    torch.testing.assert_close(kept.codes, whole.codes)
    assert readout.memory is model.memory
    torch.testing.assert_close(model.memory.norm(kept.state), model.memory.norm(whole.state))
    torch.testing.assert_close(kept.answers["classify"].recalls, whole.answers["classify"].recalls)


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_model_without_a_classifier_cannot_be_read_out(kind: str) -> None:
    with pytest.raises(UsageError, match="classif"):
        readout_of(build(replace(CONFIGS[kind], heads=heads(latent=3))))
