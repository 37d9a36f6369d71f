"""Looks that grow over a run: how many glimpses are taken, what new ones begin with, and that it can be resumed."""

from pathlib import Path

import pytest
import torch
from torch import nn

from stawm.experiments.experiment import CnnConfig
from stawm.store.weights import load
from stawm.training import trainer as trainer_module
from stawm.training.batch_norm import norms_of, take_on
from stawm.training.fit import fit
from stawm.training.journal import Step
from stawm.vision.mobilenet import MobileNetV2
from tiny_model import stawm
from tiny_run import digits, with_model, with_training

GROWING = with_training(with_model(glimpses=4), epochs=3, glimpses=(1, 2, 4))


def test_glimpses_grow_in_training_and_in_measuring(tmp_path: Path):
    records = list(fit(GROWING, tmp_path, data=digits()))
    assert [len(record.held_out["error_after_glimpse"]) for record in records] == [1, 2, 4]
    assert [sum(name.startswith("outside/") for name in record.health) for record in records] == [1, 2, 4]
    assert vars(load(tmp_path))["glimpses"] == 4


def test_new_glimpses_begin_with_the_statistics_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before, after = [], []

    def watched(model: nn.Module, known: int) -> None:
        [first, *_] = norms_of(model.get_submodule("glimpse"))
        before.append(first.running_var.clone())
        take_on(model, known)
        after.append(first.running_var.clone())

    monkeypatch.setattr(trainer_module, "take_on", watched)
    list(fit(GROWING, tmp_path, data=digits()))
    learnt = [[not torch.equal(look, torch.ones_like(look)) for look in one] for one in before]
    assert learnt == 2 * [[True, False, False, False]] + 2 * [[True, True, True, True]], "model, average"
    for known, old, new in zip((1, 1, 2, 2), before, after, strict=True):
        assert torch.equal(new[:known], old[:known])
        assert torch.equal(new[known:], old[known - 1].expand(4 - known, -1))


def test_statistics_that_all_glimpses_share_stay():
    model = stawm(GROWING.model)
    [first, *_] = norms_of(model.context)
    first.running_mean.normal_()
    kept = first.running_mean.clone()
    take_on(model, 2)
    assert torch.equal(first.running_mean, kept)


def test_a_run_whose_glimpses_grow_is_resumed_as_if_never_stopped(tmp_path: Path):
    """Stopped where the number changes, and in the middle of an epoch after it had changed."""
    whole = list(fit(GROWING, tmp_path / "whole", data=digits()))
    first = fit(GROWING, tmp_path / "run", data=digits())
    next(first)
    first.close()

    def stop(step: Step) -> None:
        if (step.epoch, step.step) == (2, 5):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(fit(None, tmp_path / "run", resume=True, data=digits(), on_step=stop))
    rest = list(fit(None, tmp_path / "run", resume=True, data=digits()))
    assert [record.held_out for record in rest] == [record.held_out for record in whole[1:]]
    ends = [(tmp_path / name / "weights" / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert ends[0] == ends[1]


ANY_SIZE = with_training(
    with_model(glimpses=2, glimpse=CnnConfig(block="mobilenet-v2"), glimpse_height=16, glimpse_width=16),
    epochs=3,
    glimpses=(1, 2),
    sides=(8, 12, 16),
)


def test_glimpses_grow_in_size_too_and_the_run_is_resumed_as_if_never_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The glimpse network sees what the part of the run says, in training and in measuring alike."""
    seen: dict[bool, list[int]] = {True: [], False: []}
    forward = MobileNetV2.forward

    def watched(self: MobileNetV2, images: torch.Tensor, glimpse: int = 0) -> torch.Tensor:
        assert images.shape[-1] == images.shape[-2]
        seen[self.training].append(images.shape[-1])
        return forward(self, images, glimpse)

    monkeypatch.setattr(MobileNetV2, "forward", watched)
    few = digits(train=32, test=8)
    whole = list(fit(ANY_SIZE, tmp_path / "whole", data=few))
    assert {mode: list(dict.fromkeys(sizes)) for mode, sizes in seen.items()} == {True: [8, 12, 16], False: [8, 12, 16]}
    assert [len(record.held_out["error_after_glimpse"]) for record in whole] == [1, 2, 2]
    first = fit(ANY_SIZE, tmp_path / "run", data=few)
    next(first)
    first.close()
    rest = list(fit(None, tmp_path / "run", resume=True, data=few))
    assert [record.held_out for record in rest] == [record.held_out for record in whole[1:]]
    assert vars(load(tmp_path / "run"))["glimpse_size"] == (16, 16)
