"""What each process does for `test_distributed.py`, under torchrun or alone; the results are to be the same."""

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from stawm import cli
from stawm.data import batch_of
from stawm.experiments.build import judge_of
from stawm.training.engine import start_engine
from stawm.training.fit import fit
from stawm.training.journal import Step
from stawm.training.trainer import Learner
from tiny_command import TINY_MODEL
from tiny_model import head_of, stawm
from tiny_run import digits, with_data, with_model, with_training

SURE = with_training(
    with_data(with_model(dropout=0.0), rotate=0.0), epochs=2, batch_size=8, learning_rate=1e-3, clip_norm=5.0, settle=3
)
"""Without dropout and augmentation, which every process draws for itself."""
STOP = 7


class Stopped(Exception):
    """The end of a run that is to be resumed."""


def stop(step: Step) -> None:
    if (step.epoch - 1) * step.steps + step.step == STOP:
        raise Stopped


def gradients(out: Path) -> None:
    """Save the averaged gradients, the running statistics and the loss of one joined batch, in float64."""
    engine = start_engine("cpu")
    torch.manual_seed(3)
    model = stawm(replace(SURE.model, memory=replace(SURE.model.memory, size=12))).double()
    for layer in (model.what, model.where, head_of(model).classify):
        torch.nn.init.normal_(layer.weight, std=0.5)
    learner = engine.setup_module(Learner(model, judge_of(SURE)))
    share = 12 // engine.world_size
    batch = batch_of(digits().train, torch.arange(12)[engine.global_rank * share :][:share])
    terms = learner(batch.images.double(), batch.labels)
    engine.backward(terms["term/cross_entropy"])
    found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    loss = engine.all_reduce(terms["term/cross_entropy"].detach())
    assert isinstance(loss, torch.Tensor)
    found |= dict(model.named_buffers()) | {"loss": loss}
    if engine.is_global_zero:
        save_file({name: value.contiguous() for name, value in found.items()}, out)
    engine.barrier()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    torch.set_num_threads(1)
    gradients(folder / "gradients.safetensors")
    data = digits(44, 29)
    list(fit(SURE, folder / "sure", data=data))
    list(fit(with_training(batch_size=8), folder / "unbroken", data=data))
    try:
        list(fit(with_training(batch_size=8), folder / "resumed", data=data, on_step=stop))
    except Stopped:
        list(fit(None, folder / "resumed", data=data, resume=True))
    few = ["--training.batch-size", "1000", "--training.epochs", "1", "--device", "cpu"]
    assert cli.main(["train", "mnist-5k-classify", "--run-dir", str(folder / "command"), *TINY_MODEL, *few]) == 0


if __name__ == "__main__":
    main()
