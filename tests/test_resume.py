"""Runs that die by SIGKILL and are resumed end as if nothing had happened."""

import json
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fresh_process import start
from stawm.store.checkpoint import CHECKPOINTS, list_checkpoints, load_checkpoint
from stawm.store.weights import load
from stawm.training.fit import fit
from stawm.training.journal import read_metrics
from tiny_run import STEPS, TINY, digits, train

LAST = 2 * STEPS


def killed(run: Path, **when: Any) -> None:
    """A real process trains until it dies as told."""
    assert start(partial(train, run, **when), home=run.parent).end() == -signal.SIGKILL


def steps_kept(run: Path) -> list[int]:
    return [load_checkpoint(path).step for path in list_checkpoints(run)]


def metrics(run: Path) -> list[dict[str, Any]]:
    """The records of a run without their timing, which alone may differ."""
    return [{name: value for name, value in entry.items() if name != "timing"} for entry in read_metrics(run)]


def outcome(run: Path) -> tuple[dict[str, Tensor], list[dict[str, Any]], bytes]:
    [*_, newest] = list_checkpoints(run)
    return load_checkpoint(newest).tensors, metrics(run), (run / "weights" / "model.safetensors").read_bytes()


def assert_same(run: Path, other: Path) -> None:
    (tensors, lines, weights), (other_tensors, other_lines, other_weights) = outcome(run), outcome(other)
    assert tensors.keys() == other_tensors.keys()
    assert [name for name in tensors if not torch.equal(tensors[name], other_tensors[name])] == []
    assert lines == other_lines
    assert weights == other_weights


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "unbroken"
    assert [record.epoch for record in fit(TINY, run, data=digits())] == [1, 2]
    return run


def test_the_end_of_a_run_holds_every_part(unbroken: Path):
    tensors, lines, _ = outcome(unbroken)
    assert {name.split("/")[0] for name in tensors} == {"model", "average", "optimiser", "random"}
    assert [line["step"] for line in lines] == [STEPS, LAST]
    assert steps_kept(unbroken) == [LAST - 1, LAST]


def test_killed_in_the_middle_of_an_epoch_and_resumed_in_a_new_process(unbroken: Path, tmp_path: Path):
    run = tmp_path / "run"
    killed(run, die_after=STEPS + 6)
    assert steps_kept(run) == [STEPS + 1, STEPS + 4]
    assert len(metrics(run)) == 1
    assert start(partial(train, run, resume=True), home=tmp_path).end() == 0
    assert_same(run, unbroken)


def test_killed_before_the_first_checkpoint(unbroken: Path, tmp_path: Path):
    run = tmp_path / "run"
    killed(run, die_after=2)
    assert steps_kept(run) == []
    assert [record.epoch for record in fit(None, run, resume=True, data=digits())] == [1, 2]
    assert_same(run, unbroken)


def test_killed_while_writing_a_checkpoint_goes_on_from_the_one_before(unbroken: Path, tmp_path: Path):
    run = tmp_path / "run"
    killed(run, die_writing="step-00000006")
    assert steps_kept(run) == [3]
    [leftover] = (run / CHECKPOINTS).glob(".*")
    assert leftover.stat().st_size > 0
    assert len(list(fit(TINY, run, resume=True, data=digits()))) == 2
    assert not leftover.exists()
    assert_same(run, unbroken)


def test_killed_between_the_record_of_an_epoch_and_its_checkpoint(unbroken: Path, tmp_path: Path):
    run = tmp_path / "run"
    killed(run, die_writing=f"step-{STEPS:08d}")
    assert len(metrics(run)) == 1
    assert steps_kept(run) == [3, 6]
    records = fit(TINY, run, resume=True, data=digits())
    assert next(records).epoch == 1
    assert [json.loads(line)["epoch"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [1]
    assert next(records).epoch == 2
    assert_same(run, unbroken)


def test_killed_while_exporting_the_weights(unbroken: Path, tmp_path: Path):
    run = tmp_path / "run"
    killed(run, die_writing="model.safetensors")
    assert steps_kept(run) == [LAST - 1, LAST]
    newest = load(run).state_dict()
    assert list(fit(None, run, resume=True, data=digits())) == []
    assert_same(run, unbroken)
    assert all(torch.equal(value, newest[name]) for name, value in load(run / "weights").state_dict().items())
