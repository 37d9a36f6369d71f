"""Every preset builds at full size, steps once on the right shapes, and gives every parameter a gradient."""

import json
from dataclasses import replace

import pytest
import torch

from stawm.baselines.stn import SpatialTransformer
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import build, judge_of, learning_part
from stawm.experiments.describe import parameters
from stawm.experiments.experiment import ALL, Experiment, ImageConfig
from stawm.experiments.presets import PRESETS, preset
from stawm.experiments.presets.mnist import CLIPPED_BY_NORM, STATISTICS_APART, WHOLE_BATCHES
from stawm.experiments.recipe import changes
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.head import Batch
from stawm.model.heads.question import QuestionConfig
from stawm.model.stawm import Stawm
from stawm.training.engine import optimiser_for
from stawm.training.schedule import learning_rate
from tiny_model import silent

BEYOND = [
    name for name in PRESETS if name.startswith(("scenes-", "composites-", "cifar10-vae-256")) or "-cluttered-" in name
]
"""Experiments that the paper does not have."""
RIVALS = [name for name, known in PRESETS.items() if known.model.kind not in ("stawm", "vae")]
"""Whole models of other papers."""
OF_THE_PAPER = [known for name, known in PRESETS.items() if name not in (*BEYOND, *RIVALS)]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_takes_one_real_step(name: str) -> None:
    """At full size, with a run's optimiser: what should learn gets a gradient and moves, what is frozen neither."""
    experiment = preset(name)
    config = experiment.model
    torch.manual_seed(0)
    model = build(config)
    taught, objective = learning_part(model, experiment.training).train(), judge_of(experiment)
    labels = torch.arange(2) % config.classes if config.classes else None
    if asked := [head for head in config.heads.values() if isinstance(head, QuestionConfig)]:
        pictures = 2 if config.compares else 1
        labels = torch.arange(2 * pictures * asked[0].cells).reshape(2, -1) % 10
    batch = Batch(torch.rand(2, config.image.channels, config.image.height, config.image.width), labels)
    optimiser = optimiser_for(taught, experiment.training)
    # An emitter's last layer starts at zero, so the layers before it learn from the second step on.
    steps = 2 if isinstance(model, Stawm | SpatialTransformer) and experiment.training.learns == "all" else 1
    before = {weight: value.clone() for weight, value in _values(model).items()}
    for _ in range(steps):
        optimiser.zero_grad()
        sum(objective.terms(taught(batch.images), batch).values()).backward()  # pyright: ignore[reportAttributeAccessIssue]
        optimiser.step()
    frozen = [weight for weight, value in model.named_parameters() if not value.requires_grad]
    assert bool(frozen) == (experiment.training.learns == "classify")
    # Of two glimpses the aggregator meets one, before which it holds nothing: its recurrent weights have no part.
    idle = ["policy.aggregator.weight_hh"] if isinstance(model, Stawm) and config.glimpses == 2 else []
    assert silent(model) == frozen + idle
    still = {weight for weight, value in _values(model).items() if torch.equal(value, before[weight])}
    assert still >= set(frozen)
    assert still.isdisjoint(
        weight for weight, value in model.named_parameters() if value.requires_grad and weight not in idle
    )
    if frozen:
        assert still.issuperset(weight for weight, _ in model.named_buffers()), "statistics of norms"


def _values(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach() for name, value in (*model.named_parameters(), *model.named_buffers())}


@pytest.mark.parametrize("experiment", PRESETS.values(), ids=PRESETS)
def test_a_preset_survives_json(experiment: Experiment) -> None:
    assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment


@pytest.mark.parametrize("experiment", PRESETS.values(), ids=PRESETS)
def test_a_preset_says_where_it_stands(experiment: Experiment) -> None:
    assert experiment.about
    assert experiment.published or experiment.of or experiment.name in BEYOND or experiment.model.kind == "cnn"
    if experiment.published and not experiment.of and experiment.name not in RIVALS:
        assert experiment.published.epochs == experiment.training.epochs


@pytest.mark.parametrize("experiment", PRESETS.values(), ids=PRESETS)
def test_departures_are_about_settings_and_a_recipe_departs_where_it_says(experiment: Experiment) -> None:
    """From the paper's experiment that it is a recipe or a small sibling of, in these settings and in no others."""
    named = [name for departure in experiment.departures for name in departure.fields]
    assert set(named) <= set(experiment.settings)
    assert all(departure.reason for departure in experiment.departures)
    if experiment.of:
        paper = preset(experiment.of)
        assert not paper.of
        own = [one for one in experiment.departures if one not in paper.departures]
        assert sorted(name for one in own for name in one.fields) == sorted(changes(experiment, paper))
        inherited = {name for one in experiment.departures if one in paper.departures for name in one.fields}
        assert inherited.isdisjoint(changes(experiment, paper))


@pytest.mark.parametrize("experiment", OF_THE_PAPER, ids=lambda experiment: experiment.name)
def test_what_paper_and_scripts_say_otherwise_is_told(experiment: Experiment) -> None:
    """Derived from the settings: whoever has a memory says how it is read and whether its rates learn, and so on."""
    model, told = experiment.model, {name for one in experiment.departures for name in one.fields}
    heads = {f"model.heads.{name}" for name in model.heads}
    expected = {"model.heads.draw.beta_scale"} if "draw" in model.heads else set()
    if model.kind == "stawm":
        expected |= {"model.memory.read", "model.where", "model.memory.learn_rates"}
        expected |= {"model.heads.classify.query_dropout"} & {f"{head}.query_dropout" for head in heads}
        normed = "norm3" in (model.context.block, model.glimpse.block) or model.glimpse.block == "mobilenet-v2"
        assert (STATISTICS_APART in experiment.departures) == normed
    if experiment.data.name == "cifar10":
        expected |= {"data.shift"}
    if model.draws and model.draws.canvas == "bernoulli":
        expected |= {"model.heads.draw.mean"}
    if len(model.heads) > 1 and experiment.training.learns == ALL:
        expected |= {"model.heads.draw.weight"}
    if "scripts" in experiment.name:
        expected |= {"training.clip_norm"}
    assert expected <= told
    assert WHOLE_BATCHES in experiment.departures
    assert (CLIPPED_BY_NORM in experiment.departures) == bool(experiment.training.clip_norm)


def test_presets_as_the_scripts_ran_are_set_as_the_scripts_were() -> None:
    """The facts of the authors' scripts, not of this package; the rate is read off the schedule."""
    scripted = [known for name, known in PRESETS.items() if name.endswith("-scripts")]
    assert len(scripted) == 8
    for one in scripted:
        memory = one.model.memory
        assert isinstance(memory, HebbRosenblattConfig)
        assert (memory.read, memory.learn_rates, one.model.where) == ("responses", True, "pose")
        assert one.training.clip_norm == 0
        assert not one.data.rotate or one.data.sampling == "nearest"
        assert bool(one.model.picture_mean) == (set(one.model.heads) == {"classify"})
    classifier, sketchpad = preset("mnist-classify-8-scripts"), preset("mnist-sketchpad-scripts").model
    assert [learning_rate(classifier.training, epoch, 1) for epoch in (0, 60, 199)] == pytest.approx(
        [1e-3 * 0.99**epoch for epoch in (0, 60, 199)]
    )
    assert [head.weight for head in sketchpad.heads.values()] == [1.0, 1.0]


@pytest.mark.parametrize("name", [name for name in PRESETS if name.startswith("mnist-5k-") and name not in BEYOND])
def test_a_small_sibling_is_smaller_in_sizes_and_data(name: str) -> None:
    small, full = PRESETS[name], preset(PRESETS[name].of)
    assert small.data.name == "mnist-5k" and small.model.memory.size < full.model.memory.size
    assert (
        small.model.hidden_size == 2 * small.model.memory.size and full.model.hidden_size == 2 * full.model.memory.size
    )
    assert parameters(small).learning < parameters(full).learning


def test_a_script_adds_a_preset_of_its_own() -> None:
    mine = replace(preset("mnist-classify-8"), name="mine-of-the-tests")
    PRESETS.add(mine.name, mine)
    try:
        assert preset("mine-of-the-tests") is mine
        with pytest.raises(UsageError, match="mine-of-the-tests"):
            PRESETS.add(mine.name, replace(mine, seed=1))
    finally:
        del PRESETS._things[mine.name]  # pyright: ignore[reportPrivateUsage]


def test_the_papers_experiments_come_first() -> None:
    kinds = [(bool(known.of), known.published is None) for known in OF_THE_PAPER]
    assert kinds == sorted(kinds)
    assert len(kinds) == 39


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
    with pytest.raises(UsageError, match=r"mnist-clasify-8.*mnist-classify-8\?"):
        preset("mnist-clasify-8")


def test_settings_that_cannot_be_built_are_named() -> None:
    config = preset("mnist-classify-8").model
    with pytest.raises(UsageError, match="10×10"):
        build(replace(config, image=ImageConfig(height=10, width=10)))
    with pytest.raises(UsageError, match="answers nothing"):
        build(replace(config, heads={}))
    with pytest.raises(UsageError, match=r"model\.dropout is 1"):
        build(replace(config, dropout=1.0))


def test_an_experiment_of_another_version_names_the_field() -> None:
    values = preset("mnist-classify-8").to_dict()
    with pytest.raises(CheckpointError, match="colour"):
        Experiment.from_dict({**values, "colour": 3})
    with pytest.raises(CheckpointError, match="epochs"):
        Experiment.from_dict({**values, "training": {**values["training"], "epochs": "many"}})
