"""Health as numbers worked out by hand, and a warning for each illness but none for a healthy run."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stawm.measure.health import died, health, warnings
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.model.heads.classify import Classified
from stawm.model.stawm import Episode

BATCH, GLIMPSES, MEMORY = 40, 3, 8


def poses(centres: Tensor, scale: float | Tensor = 0.5) -> Tensor:
    """Poses at these centres [batch glimpse 2], scaled about them."""
    linear = torch.eye(2).expand(*centres.shape[:2], 2, 2) * torch.as_tensor(scale)
    return torch.cat([linear, centres[..., None]], -1)


class Model(nn.Module):
    """As much of a model as health asks for."""

    def __init__(self, memory: HebbRosenblatt) -> None:
        super().__init__()
        self.memory = memory


def episode(memory: HebbRosenblatt, where: Tensor, codes: Tensor, recalls: Tensor) -> Episode:
    query = torch.ones(len(codes), memory.size)
    return Episode(
        images=torch.zeros(len(codes), 1, 4, 4),
        context=torch.zeros(len(codes), 3),
        poses=where,
        glimpses=torch.zeros(*where.shape[:2], 1, 2, 2),
        codes=codes,
        state=memory(codes, query).state,
        answers={"classify": Classified(query, recalls, torch.zeros(*where.shape[:2], 2))},
    )


def examined(
    where: Tensor | None = None, recalls: Tensor | None = None, memory: HebbRosenblatt | None = None
) -> dict[str, float]:
    """The health of an episode that is well but for what is given."""
    memory = memory or HebbRosenblatt(MEMORY)
    healthy = poses(torch.rand(BATCH, GLIMPSES, 2) - 0.5)
    codes = torch.rand(BATCH, GLIMPSES, MEMORY)
    recalls = torch.rand(BATCH, GLIMPSES, MEMORY) * 6 if recalls is None else recalls
    found = health(episode(memory, healthy if where is None else where, codes, recalls), Model(memory))
    return {name: value.item() for name, value in found.items()}


def test_shares_at_either_bound_are_counted():
    memory = HebbRosenblatt(4)
    codes = torch.tensor([[[6.0, 0, 0, 1e-3], [6.0, 6, 2, 3]]])
    recalls = torch.tensor([[[6.0, 6, 6, 6], [6.0, 0, 1, 2]]])
    found = health(episode(memory, poses(torch.zeros(1, 2, 2)), codes, recalls), Model(memory))
    assert found["codes_saturated"] == 3 / 8
    assert found["codes_silent"] == 2 / 8
    assert found["recalls_saturated"] == 1 / 4, "the terminal recall alone"
    assert found["recalls_silent"] == 1 / 4


def test_the_bound_is_that_of_the_memorys_activation():
    memory = HebbRosenblatt(MEMORY, activation="sigmoid")
    found = examined(recalls=torch.full((BATCH, GLIMPSES, MEMORY), 0.9999), memory=memory)
    assert found["recalls_saturated"] == 1


def test_norm_and_rates_are_the_memorys():
    memory = HebbRosenblatt(2, delta=0.1, eta=0.5, theta=1.0)
    codes = torch.tensor([[[3.0, 4.0]]])
    found = health(episode(memory, poses(torch.zeros(1, 1, 2)), codes, codes), Model(memory))
    assert found["memory_norm"].item() == pytest.approx(0.5 * 25), "‖η e ⊗ p‖ with p = e"
    assert [found[rate].item() for rate in ("delta", "eta", "theta")] == pytest.approx([0.1, 0.5, 1.0])


def test_spreads_are_standard_deviations_over_the_batch_and_over_the_path():
    centres = torch.tensor([[[0.3, 0.0], [0.0, 0.2]], [[-0.3, 0.0], [0.0, -0.4]]])
    scale = torch.tensor([0.2, 0.4])[:, None, None, None]
    memory = HebbRosenblatt(4)
    found = health(episode(memory, poses(centres, scale), torch.rand(2, 2, 4), torch.rand(2, 2, 4)), Model(memory))
    assert found["shift_spread/1"].item() == pytest.approx(0.3)
    assert found["shift_spread/2"].item() == pytest.approx(0.3)
    assert found["scale_spread/1"].item() == pytest.approx(0.1)
    assert found["path_spread"].item() == pytest.approx((math.hypot(0.15, 0.1) + math.hypot(0.15, 0.2)) / 2)


def test_a_healthy_episode_gives_no_warning():
    assert warnings(examined()) == []


def test_a_fresh_model_that_still_sees_the_whole_image_gives_no_warning():
    found = examined(where=poses(torch.zeros(BATCH, GLIMPSES, 2), 1.0))
    assert found["moved"] == found["path_spread"] == 0
    assert warnings(found) == []


@pytest.mark.parametrize("value", [0.0, 6.0])
def test_a_saturated_memory_is_told(value: float):
    recalls = torch.where(torch.rand(BATCH, GLIMPSES, MEMORY) < 0.04, 3.0, value)
    [warning] = warnings(examined(recalls=recalls))
    assert "saturated" in warning
    assert "learning rate" in warning


def test_half_silent_recalls_are_the_way_of_relu6():
    recalls = torch.where(torch.rand(BATCH, GLIMPSES, MEMORY) < 0.5, 3.0, 0.0)
    assert warnings(examined(recalls=recalls)) == []


def test_glimpses_that_left_the_image_are_named():
    centres = torch.rand(BATCH, GLIMPSES, 2) - 0.5
    centres[:, 1] += 3
    found = examined(where=poses(centres))
    assert found["outside/2"] == 1
    [warning] = warnings(found)
    assert ": 2 (100%)" in warning
    assert "start again" in warning


def test_glimpses_half_outside_are_no_reason_to_warn():
    centres = torch.rand(BATCH, GLIMPSES, 2) * 0.1 + torch.tensor([1.0, 0.0])
    found = examined(where=poses(centres))
    assert 0.4 < found["outside/1"] < 0.7
    assert warnings(found) == []


def test_a_collapse_to_one_place_is_told():
    centres = torch.tensor([0.3, -0.2]) + 0.001 * torch.randn(BATCH, GLIMPSES, 2)
    [warning] = warnings(examined(where=poses(centres)))
    assert "one place" in warning
    assert "warm-up" in warning


def test_glimpses_at_one_place_of_different_sizes_are_no_collapse():
    """As they start inward: the first sees the whole picture, the others more and more closely."""
    same = poses(torch.zeros(BATCH, GLIMPSES, 2))
    sizes = torch.linspace(1, 0.5, GLIMPSES)[:, None, None]
    inward = torch.cat([same[..., :2] * sizes, same[..., 2:]], -1)
    found = examined(where=inward)
    wanted = torch.linalg.det(inward[0, :, :, :2]).abs().sqrt().std(correction=0)
    assert found["size_spread"] == pytest.approx(float(wanted), abs=1e-5)
    assert warnings(found) == []


@pytest.mark.parametrize("axis", [0, 1])
def test_moving_over_images_or_over_glimpses_is_no_collapse(axis: int):
    centres = torch.rand(BATCH, GLIMPSES, 2).select(axis, 0).unsqueeze(axis).expand(BATCH, GLIMPSES, 2) - 0.5
    assert warnings(examined(where=poses(centres))) == []


def epoch(
    loss: float, error: float | None = 0.9, silent: float = 1.0, norm: float = 1.0, rate: float = 1e-3
) -> dict[str, Any]:
    """As much of the record of an epoch as tells whether it was dead."""
    score = {} if error is None else {"error": error}
    health = {"recalls_silent": silent, "recalls_saturated": 0.0, "gradient_norm": norm}
    return {"learning_rate": rate, "health": health, "train": {"loss": loss} | score}


FIRST = epoch(2.6)
DEAD = epoch(2.6)


@pytest.mark.parametrize(
    ("epochs", "dead"),
    [
        ([FIRST, DEAD, DEAD, DEAD], True),
        ([FIRST, DEAD, DEAD], False),
        ([FIRST, *[epoch(2.6, silent=0.2)] * 9], False),
        ([FIRST, *[epoch(2.6, silent=0.2, norm=0.0)] * 3], True),
        ([FIRST, DEAD, epoch(2.6, error=0.8), DEAD], False),
        ([FIRST, DEAD, epoch(2.5), DEAD], False),
        ([FIRST, DEAD, epoch(2.59), DEAD], True),
        ([epoch(90.0, None), *[epoch(89.9, None)] * 3], True),
        ([epoch(90.0, None), epoch(80.0, None), epoch(70.0, None), epoch(60.0, None)], False),
        ([epoch(2.3, silent=0.1), epoch(0.4, 0.1, silent=0.1), *[DEAD] * 3], True),
        # Drawings of a memory that is stuck all the same: each epoch gains less than a hundredth, all of them more.
        ([epoch(90.0, None), epoch(13.6, None), *[epoch(13.6 - 0.1 * gain, None) for gain in (1, 2, 3)]], False),
        # And one that stands still as its schedule ends; at half the rate it may not.
        ([epoch(90.0, None), epoch(13.6, None), *[epoch(13.6, None, rate=5e-5)] * 3], False),
        ([epoch(90.0, None), epoch(13.6, None), *[epoch(13.6, None, rate=5e-4)] * 3], True),
    ],
)
def test_a_run_is_dead_if_nothing_passes_and_nothing_is_learnt(epochs: list[dict[str, Any]], dead: bool):
    assert died(epochs, 3, chance=0.9) is dead
    assert not died(epochs, 0, chance=0.9), "never"
