"""Recall tasks: what is asked, the model against a plain loop, learning, stopping and going on."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from stawm.compare.recall.learn import CHECKPOINT, TEST, RecallRun, rate_at
from stawm.compare.recall.model import RecallModel, draw_sequences
from stawm.compare.recall.settings import RecallConfig
from stawm.compare.recall.task import GRIDS, Recall, recall_task
from stawm.errors import CheckpointError, UsageError
from stawm.memory.protocol import MEMORIES
from stawm.training.engine import generator_of
from tiny_grid import QUICK
from tiny_seed import SHIFT


def drawing() -> torch.Generator:
    return torch.Generator().manual_seed(SHIFT)


def test_keys_differ_within_a_sequence_and_queries_ask_for_different_pairs():
    config = RecallConfig(pairs=6, keys=7, values=3)
    given = draw_sequences(config, 50, drawing(), queries=4)
    assert all(len(set(keys)) == 6 for keys in given.keys.tolist())
    assert all(len(set(asked)) == 4 for asked in given.asked.tolist())
    assert int(given.keys.max()) < 7 and int(given.values.max()) < 3
    for row, (asked, wanted) in enumerate(zip(given.asked.tolist(), given.wanted.tolist(), strict=True)):
        assert wanted == [int(given.values[row, place]) for place in asked]


def test_all_pairs_are_asked_for_oldest_first_unless_fewer_are_wanted():
    config = RecallConfig(pairs=3, keys=5)
    for queries in (0, 3, 8):
        assert draw_sequences(config, 4, drawing(), queries=queries).asked.tolist() == [[0, 1, 2]] * 4


@pytest.mark.parametrize("rule", list(MEMORIES))
def test_the_model_is_the_memory_written_and_asked_by_hand(rule: str):
    config = QUICK.changed({"memory.rule": rule, "pairs": 3}).config
    torch.manual_seed(SHIFT)
    model = RecallModel(config).double().eval()
    given = draw_sequences(config, 5, drawing(), queries=2)
    told = model(given)
    state = model.memory.start(5, dtype=torch.float64)
    for place in range(3):
        what = model.what(model.value(given.values[:, place]))
        state = model.memory.write(state, (what * model.where(model.key(given.keys[:, place]))).clamp(0, 6))
    for query in range(2):
        key = given.keys[torch.arange(5), given.asked[:, query]]
        recalled = model.memory.recall(state, model.ask(model.key(key)).clamp(0, 6))
        assert torch.allclose(told[:, query], model.tell(recalled), atol=1e-9)


def learnt(rule: str, folder: Path, **more: object) -> float:
    """The error of two pairs with four values after a moment: a guess is wrong in three of four cases."""
    settings = {"memory.rule": rule, "memory.size": 24, "steps": 300, "batch_size": 32, "test_sequences": 500}
    run = RecallRun(QUICK.changed(settings | more).config, SHIFT, folder)
    run.learn()
    return run.measure()[0]


@pytest.mark.parametrize("rule", ["hebb-rosenblatt", "delta-rule"])
def test_a_memory_learns_to_recall(rule: str, tmp_path: Path):
    assert learnt(rule, tmp_path / "run") < 0.4


def test_errors_are_told_by_age(tmp_path: Path):
    run = RecallRun(QUICK.config, SHIFT, tmp_path)
    error, by_age = run.measure()
    given = draw_sequences(QUICK.config, 20, generator_of(SHIFT, TEST))
    wrong = (run.model(given).argmax(2) != given.wanted).double().mean(0).tolist()
    assert by_age == pytest.approx(wrong[::-1]), "age 1 is the pair that was written last"
    assert error == pytest.approx(sum(by_age) / len(by_age))


class Stopped(Exception):
    """The end of a run that is to go on."""


def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(tmp_path: Path):
    whole = RecallRun(QUICK.config, SHIFT, tmp_path / "whole")
    whole.learn()

    def stop(step: int, _: float) -> None:
        if step == 5:
            raise Stopped

    with pytest.raises(Stopped):
        RecallRun(QUICK.config, SHIFT, tmp_path / "stopped").learn(stop)
    assert QUICK.begun(tmp_path / "stopped")
    steps: list[int] = []
    resumed = RecallRun(QUICK.config, SHIFT, tmp_path / "stopped")
    resumed.learn(lambda step, _: steps.append(step))
    assert steps == [5, 6], "from the checkpoint after step 4"
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert whole.measure() == resumed.measure()


def test_a_checkpoint_that_is_damaged_or_of_other_settings_is_told(tmp_path: Path):
    RecallRun(QUICK.config, SHIFT, tmp_path).learn()
    with pytest.raises(CheckpointError, match="other settings"):
        RecallRun(replace(QUICK.config, steps=9), SHIFT, tmp_path).learn()
    path = tmp_path / CHECKPOINT
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="checksum"):
        RecallRun(QUICK.config, SHIFT, tmp_path).learn()


def test_the_rate_rises_and_falls():
    config = replace(QUICK.config, steps=100, learning_rate=1.0)
    rates = [rate_at(config, step) for step in range(100)]
    assert max(rates) == pytest.approx(1.0)
    assert rates[0] == pytest.approx(0.2) and rates[-1] == pytest.approx(1 / 95)
    assert rates[:5] == sorted(rates[:5]) and rates[5:] == sorted(rates[5:], reverse=True)


@pytest.mark.parametrize("name", list(GRIDS))
def test_every_grid_by_name_can_be_planned(name: str):
    from stawm.compare.grid import plan_grid

    base = recall_task(name)
    plan = plan_grid(base, GRIDS[name].vary())
    assert len(plan.cells) == len(MEMORIES) * len(GRIDS[name].pairs) * len(GRIDS[name].sizes)
    assert base.arguments() == [name]
    assert base.changed({"steps": 7}).arguments() == [name, "--steps", "7"]


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"pairs": 9}, "keys"), ({"steps": 0}, "steps"), ({"pair": 1}, "pairs"), ({"width": "x"}, "width")],
)
def test_settings_that_cannot_be_run_are_told(settings: dict[str, object], named: str):
    with pytest.raises(UsageError, match=named):
        QUICK.changed(settings)


def test_a_task_comes_back_from_plain_values():
    task = QUICK.changed({"memory.rule": "delta-rule", "memory.eta": 0.5}, seed=4)
    assert Recall.from_dict(task.to_dict()) == task
