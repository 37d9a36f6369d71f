"""What a step of the optimiser moves, and by how much: decay, and the shares that emitters learn at."""

from dataclasses import replace

import pytest
import torch

from stawm.data import batch_of
from stawm.experiments.experiment import PolicyConfig
from stawm.model.policy import Poses
from stawm.training.engine import optimiser_for, start_engine
from stawm.training.trainer import Trainer
from tiny_model import heads, stawm
from tiny_run import PLAIN, TINY, digits, with_model, with_training


@pytest.mark.parametrize("optimiser", ["adam", "adamw"])
def test_matrices_decay_and_vectors_do_not(optimiser: str):
    model = stawm(TINY.model)
    config = replace(TINY.training, optimiser=optimiser, weight_decay=0.1)
    made = optimiser_for(model, config)
    assert type(made).__name__.lower() == optimiser
    groups = {group["weight_decay"]: {id(weight) for weight in group["params"]} for group in made.param_groups}
    assert id(model.what.weight) in groups[0.1]
    assert id(model.what.bias) in groups[0.0]
    assert id(model.memory.shift) in groups[0.0]
    assert sum(map(len, groups.values())) == len(list(model.parameters()))


@pytest.mark.parametrize("poses", ["affine", "salient"])
def test_starts_of_glimpses_do_not_decay_and_keep_their_place(poses: Poses):
    """Without a gradient only decay moves weights; the order, by which checkpoints are stored, has matrices first."""
    model = stawm(replace(TINY.model, heads=heads(10, latent=2), policy=PolicyConfig(starts="grid", poses=poses)))
    made = optimiser_for(model, replace(TINY.training, optimiser="adamw", weight_decay=0.5))
    named = dict(model.named_parameters())
    before = {name: weight.detach().clone() for name, weight in named.items()}
    for weight in named.values():
        weight.grad = torch.zeros_like(weight)
    made.step()
    moved = {name for name, weight in named.items() if not torch.equal(weight, before[name])}
    starts = {name for name in named if name.endswith(".starts")}
    assert "policy.emitter.starts" in starts and ("policy.inverse.starts" in starts) == (poses == "affine")
    assert moved == {name for name, was in before.items() if was.dim() > 1 and was.any()} - starts
    order = [id(weight) for group in made.param_groups for weight in group["params"]]
    assert order == [id(each) for many in (True, False) for each in named.values() if (each.dim() > 1) == many]


def test_emitters_of_poses_learn_at_their_shares_of_the_rate():
    """The first step of Adam moves every weight by the learning rate, whatever its gradient."""
    model = stawm(replace(TINY.model, heads=heads(10, latent=2)))
    config = replace(TINY.training, pose_share=0.125, paste_share=0.25, learning_rate=1e-2)
    shares = {"policy.emitter": 0.125, "policy.inverse": 0.25}
    made = optimiser_for(model, config)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for group in made.param_groups:
        group["lr"] = group["share"] * config.learning_rate
        for weight in group["params"]:
            weight.grad = torch.ones_like(weight)
    made.step()
    for name, weight in model.named_parameters():
        moved = 1e-2 * shares.get(".".join(name.split(".")[:2]), 1)
        torch.testing.assert_close(before[name] - weight, torch.full_like(weight, moved), rtol=1e-3, atol=1e-6)
    assert {name for name, _ in model.named_parameters()} > {f"{part}.pose.bias" for part in shares}
    assert len(optimiser_for(model, TINY.training).param_groups) == 2


@pytest.mark.parametrize("pose_share", [0.125, 0.0])
def test_a_step_moves_emitters_by_their_shares_of_the_rate(pose_share: float):
    """The first step of Adam moves a weight by the learning rate, unless next to no gradient reaches it."""
    changes = {"pose_share": pose_share, "paste_share": 0.25, "learning_rate": 1e-2, "clip_norm": 0.0}
    experiment = with_training(with_model(PLAIN, heads=heads(10, latent=2)), **changes)
    trainer = Trainer(start_engine("cpu"), experiment, 2)
    shares = {"policy.emitter": pose_share, "policy.inverse": 0.25}
    batch = batch_of(digits(16).train, torch.arange(16))
    with torch.no_grad():
        for name, weight in trainer.model.named_parameters():
            if name.endswith("pose.weight"):
                weight.normal_(0, 0.1)
    before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    trainer.step(batch.images, batch.labels, 0)
    reached = set[str]()
    for name, weight in trainer.model.named_parameters():
        part = ".".join(name.split(".")[:2])
        if weight.grad is not None and weight.grad.abs().max() > 1e-5:
            reached.add(part)
            moved = (weight.detach() - before[name]).abs().max().item()
            assert moved == pytest.approx(1e-2 * shares.get(part, 1), rel=0.01, abs=1e-7), name
    assert reached > {*shares, "what.weight", "heads.draw"}
