"""Every preset builds at full size, steps once on the right shapes, and gives every parameter a gradient."""

import json
from dataclasses import replace

import pytest
import torch

from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import build, learning_part, objective_for
from stawm.experiments.experiment import Experiment, ImageConfig
from stawm.experiments.presets import PRESETS, preset
from stawm.model.objectives import Batch
from stawm.model.stawm import Stawm
from stawm.training.engine import optimiser_for
from tiny_model import silent


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_takes_one_real_step(name: str) -> None:
    """At full size, with a run's optimiser: what should learn gets a gradient and moves, what is frozen neither."""
    experiment = preset(name)
    config = experiment.model
    torch.manual_seed(0)
    model = build(config)
    taught, objective = learning_part(model, experiment.training).train(), objective_for(experiment)
    batch = Batch(
        torch.rand(2, config.image.channels, config.image.height, config.image.width),
        torch.arange(2) % config.classes if config.classes else None,
    )
    optimiser = optimiser_for(taught, experiment.training)
    # An emitter's last layer starts at zero, so the layers before it learn from the second step on.
    steps = 2 if isinstance(model, Stawm) and experiment.training.learns == "all" else 1
    before = {weight: value.clone() for weight, value in model.state_dict().items()}
    for _ in range(steps):
        optimiser.zero_grad()
        sum(objective.terms(taught(batch.images), batch).values()).backward()  # pyright: ignore[reportAttributeAccessIssue]
        optimiser.step()
    frozen = [weight for weight, value in model.named_parameters() if not value.requires_grad]
    assert bool(frozen) == (experiment.training.learns == "head")
    assert silent(model) == frozen
    still = {weight for weight, value in model.state_dict().items() if torch.equal(value, before[weight])}
    assert still >= set(frozen)
    assert still.isdisjoint(weight for weight, value in model.named_parameters() if value.requires_grad)
    if frozen:
        assert all(weight in still for weight, _ in model.named_buffers() if weight in before), "statistics of norms"


@pytest.mark.parametrize("experiment", PRESETS.values(), ids=PRESETS)
def test_a_preset_survives_json(experiment: Experiment) -> None:
    assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment


@pytest.mark.parametrize("experiment", PRESETS.values(), ids=PRESETS)
def test_a_preset_says_where_it_stands(experiment: Experiment) -> None:
    assert experiment.about and experiment.paper and experiment.reach


def test_the_papers_sizes() -> None:
    """Hidden size is twice the memory (appendix); parameters counted once by hand from the appendix' layers."""
    small, large = preset("mnist-classify-8").model, preset("mnist-classify-28").model
    assert (small.hidden_size, large.hidden_size) == (512, 1024)
    assert (small.glimpses, large.glimpses) == (8, 10)
    assert sum(parameter.numel() for parameter in build(small).parameters()) == _count(256, 512, 1024, 512)


def _count(memory: int, hidden: int, context: int, glimpse: int) -> int:
    convolutions = 9 * (64 + 64 * 128 + 128 * 256) + 2 * (64 + 128 + 256) + 9 * (64 + 64 * 128) + 2 * (64 + 128)
    lstm = 2 * (2 * 4 * hidden * hidden + 2 * 4 * hidden)
    emitter = hidden * hidden // 2 + hidden // 2 + 6 * hidden // 2 + 6
    linear = (context + 1) * hidden + (glimpse + 1) * hidden + 2 * (hidden + 1) * memory
    head = (context + 1) * memory + (memory + 1) * 10
    return convolutions + lstm + emitter + linear + head


def test_an_unknown_preset_offers_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no preset 'mnist-clasify-8'; did you mean mnist-classify-8\?"):
        preset("mnist-clasify-8")


def test_settings_that_cannot_be_built_are_named() -> None:
    config = preset("mnist-classify-8").model
    with pytest.raises(UsageError, match="10×10 is too small for 3 layers"):
        build(replace(config, image=ImageConfig(height=10, width=10)))
    with pytest.raises(UsageError, match="answers nothing"):
        build(replace(config, classes=0))
    with pytest.raises(UsageError, match=r"model\.dropout is 1\.0"):
        build(replace(config, dropout=1.0))


def test_an_experiment_of_another_version_names_the_field() -> None:
    values = preset("mnist-classify-8").to_dict()
    with pytest.raises(CheckpointError, match="colour"):
        Experiment.from_dict({**values, "colour": 3})
    with pytest.raises(CheckpointError, match="epochs"):
        Experiment.from_dict({**values, "training": {**values["training"], "epochs": "many"}})
