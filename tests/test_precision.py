"""Half precision: what a setting means, what stays in float32 whatever it is, and that a run keeps what it began in."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from stawm.errors import UsageError
from stawm.experiments.build import build, judge_of
from stawm.experiments.presets import preset
from stawm.measure.evaluate import evaluate
from stawm.model.heads.head import Batch, Scene
from stawm.model.stawm import Stawm
from stawm.precision import VARIABLE, Chosen, resolved
from stawm.store.checkpoint import newest_checkpoint, precision_of
from stawm.store.sessions import read_sessions
from stawm.training.engine import start_engine
from stawm.training.fit import fit, precision_for
from stawm.training.trainer import Trainer
from stawm.vision.glimpse import cut
from stawm.vision.norms import GlimpseNorm
from tiny_model import memory_of
from tiny_run import TINY, digits

BF16 = replace(TINY, training=replace(TINY.training, precision="bf16-mixed", epochs=1))


@pytest.mark.parametrize(("here", "meant"), [(True, "bf16-mixed"), (False, "32")])
def test_auto_is_what_the_machine_has_in_hardware(here: bool, meant: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: here, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False, raising=False)
    chosen = resolved("auto", "cpu")
    assert chosen.name == meant and "bfloat16" in chosen.why
    assert resolved("bf16-mixed", "cpu").name == "bf16-mixed" and resolved("32", "cpu").name == "32"


def test_the_environment_decides_what_auto_means(monkeypatch: pytest.MonkeyPatch):
    for wanted in ("32", "bf16-mixed"):
        monkeypatch.setenv(VARIABLE, wanted)
        assert resolved("auto", "cpu").name == wanted and VARIABLE in resolved("auto", "cpu").why
        assert resolved("32", "cpu").name == "32"
    monkeypatch.setenv(VARIABLE, "64")
    with pytest.raises(UsageError, match="unknown precision"):
        resolved("auto", "cpu")
    monkeypatch.setenv(VARIABLE, "auto")
    assert VARIABLE not in resolved("auto", "cpu").why, "auto by the environment is the machine's choice"


def test_a_run_writes_down_what_it_computed_in(tmp_path: Path):
    list(fit(BF16, tmp_path, data=digits()))
    assert [session.machine.precision for session in read_sessions(tmp_path)] == ["bf16-mixed"]


def test_float16_is_for_gpus():
    with pytest.raises(UsageError, match="GPUs"):
        resolved("16-mixed", "cpu")
    with pytest.raises(UsageError, match="unknown precision"):
        resolved("64")


def test_places_are_exact_under_autocast():
    images, poses = torch.rand(2, 1, 28, 28), torch.eye(2, 3).repeat(2, 1, 1) * torch.tensor([0.731])
    with torch.autocast("cpu", torch.bfloat16):
        seen = cut(images, poses, 9, 9)
    assert torch.equal(seen, cut(images, poses, 9, 9))


@pytest.mark.parametrize("name", ["mnist-5k-sketchpad", "cifar10-vae"])
def test_answers_losses_and_statistics_stay_single(name: str):
    experiment = preset(name)
    model, judge = build(experiment.model), judge_of(experiment)
    images = torch.rand(4, *experiment.model.image.shape)
    batch = Batch(images, torch.arange(4) % max(experiment.model.classes, 1))
    halves: list[torch.dtype] = []
    convolution = next(part for part in model.modules() if isinstance(part, torch.nn.Conv2d))
    convolution.register_forward_hook(lambda _, given, result: halves.append(result.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        answered = model(images)
        terms = judge.terms(answered, batch)
    assert set(halves) == {torch.bfloat16}, "nothing was mixed"
    assert all(term.dtype == torch.float32 for term in terms.values())
    if isinstance(model, Stawm):
        kept = [answered.poses, answered.glimpses, answered.codes, answered.state.codes, answered.state.responses]
        kept += [answered.answers["classify"].logits, answered.answers["draw"].canvas, answered.answers["draw"].mean]
        assert all(part.dtype == torch.float32 for part in kept)
        assert memory_of(model).rates().delta.dtype == torch.float64
    norms = [part for part in model.modules() if isinstance(part, GlimpseNorm)]
    assert all(norm.running_mean.dtype == norm.running_var.dtype == torch.float32 for norm in norms)
    torch.stack(list(terms.values())).sum().backward()
    assert all(weight.grad.dtype == torch.float32 for weight in model.parameters() if weight.grad is not None)


def test_what_is_written_is_recalled_exactly_under_autocast():
    torch.manual_seed(0)
    model = build(preset("mnist-5k-classify").model).eval()
    assert isinstance(model, Stawm)
    codes, query = torch.rand(2, 3, model.memory.size), torch.rand(2, model.memory.size)
    context = torch.rand(2, model.context.features)
    plain = model.ask(context, codes, Scene(0, 0, None), queries={"classify": query})
    with torch.autocast("cpu", torch.bfloat16):
        mixed = model.ask(context, codes, Scene(0, 0, None), queries={"classify": query})
    assert torch.equal(mixed.answers["classify"].recalls, plain.answers["classify"].recalls)


def stepped(precision: str) -> tuple[Trainer, dict[str, float]]:
    trainer = Trainer(start_engine("cpu", precision), replace(TINY, training=replace(TINY.training, average=0.9)), 2)
    torch.manual_seed(3)
    channels, height, width = TINY.model.image.shape
    images, labels = torch.rand(8, channels, height, width), torch.arange(8) % TINY.model.classes
    trainer.step(images, labels, 0)
    return trainer, trainer.step(images, labels, 1)


def test_a_mixed_step_is_near_a_single_one_and_keeps_weights_and_averages_single():
    (_, plain), (trainer, mixed) = stepped("32"), stepped("bf16-mixed")
    assert mixed["term/cross_entropy"] != plain["term/cross_entropy"], "nothing was mixed"
    assert mixed["term/cross_entropy"] == pytest.approx(plain["term/cross_entropy"], rel=0.05)
    for model in trainer.models:
        floats = [part for part in (*model.parameters(), *model.buffers()) if part.is_floating_point()]
        assert {part.dtype for part in floats} == {torch.float32}


def test_pictures_reach_the_loss_as_they_are():
    seen: list[Tensor] = []
    trainer = Trainer(start_engine("cpu", "bf16-mixed"), TINY, 2)
    trainer.taught.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    images = torch.rand(4, *TINY.model.image.shape)
    trainer.step(images, torch.arange(4) % TINY.model.classes, 0)
    assert torch.equal(seen[0], images)


def test_a_run_keeps_the_precision_it_was_begun_in(tmp_path: Path):
    list(fit(BF16, tmp_path, data=digits(), accelerator="cpu"))
    assert precision_of(tmp_path) == "bf16-mixed"
    told = precision_for(TINY, tmp_path, resume=True, accelerator="cpu")
    assert told == Chosen("bf16-mixed", "as this run was begun")
    assert precision_for(TINY, tmp_path, accelerator="cpu").name == "32"


def test_a_mixed_run_that_was_stopped_ends_with_the_bits_of_an_unbroken_one(tmp_path: Path):
    twice = replace(BF16, training=replace(BF16.training, epochs=2))
    list(fit(twice, tmp_path / "whole", data=digits(), accelerator="cpu"))
    stopped = fit(twice, tmp_path / "stopped", data=digits(), accelerator="cpu")
    next(stopped)
    stopped.close()
    list(fit(None, tmp_path / "stopped", data=digits(), resume=True, accelerator="cpu"))
    whole, resumed = (newest_checkpoint(tmp_path / name) for name in ("whole", "stopped"))
    assert whole is not None and resumed is not None and whole.step == resumed.step
    for name, weight in whole.part("model").items():
        assert torch.equal(weight, resumed.part("model")[name]), name


def test_a_run_of_auto_is_stored_as_what_it_was(tmp_path: Path):
    next(fit(TINY, tmp_path, data=digits(), accelerator="cpu"))
    checkpoint = newest_checkpoint(tmp_path)
    assert checkpoint is not None and checkpoint.precision == "32"
    assert checkpoint.experiment.training.precision == "auto"


def test_evaluation_in_half_precision_is_near():
    model, pictures = build(TINY.model), digits().test
    plain, mixed = (evaluate(model, pictures, precision=kind) for kind in ("32", "bf16-mixed"))
    assert plain["terms"] != mixed["terms"]
    assert mixed["terms"]["cross_entropy"] == pytest.approx(plain["terms"]["cross_entropy"], rel=0.05)


def test_sizes_can_be_found_without_numbers():
    with torch.device("meta"):
        model = build(preset("mnist-5k-sketchpad").model)
        answered = model(torch.rand(2, 1, 28, 28))
        answered.answers["classify"].logits.sum().backward()
    assert answered.answers["draw"].canvas.shape == (2, 1, 28, 28)
