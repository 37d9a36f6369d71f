"""Two processes under torchrun do what one does on the joined batch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import tiny_processes
from stawm.errors import CheckpointError
from stawm.store.checkpoint import list_checkpoints, load_checkpoint
from stawm.training import engine
from stawm.training.fit import fit
from stawm.training.journal import read_metrics
from test_resume import assert_same
from tiny_run import digits, with_training


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which two processes did everything."""
    folder = tmp_path_factory.mktemp("two")
    launch = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
    command = [sys.executable, *launch, tiny_processes.__file__, str(folder)]
    place = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=place)
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which this process did the same alone."""
    folder = tmp_path_factory.mktemp("one")
    tiny_processes.gradients(folder / "gradients.safetensors")
    list(fit(tiny_processes.SURE, folder / "sure", data=digits(44, 29)))
    return folder


def test_gradients_are_those_of_the_joined_batch(one: Path, two: Path):
    alone, together = (load_file(folder / "gradients.safetensors") for folder in (one, two))
    assert alone.keys() == together.keys()
    assert len(alone) > 30
    for name, value in alone.items():
        assert torch.allclose(together[name], value, rtol=1e-6, atol=1e-12), name


def test_training_agrees_with_one_process(one: Path, two: Path):
    alone, together = read_metrics(one / "sure"), read_metrics(two / "sure")
    assert [entry["step"] for entry in together] == [5, 10]
    for mine, theirs in zip(alone, together, strict=True):
        assert theirs["held_out"]["count"] == 29, "an odd count, exactly"
        assert theirs["train"] == pytest.approx(mine["train"], rel=1e-4)
        assert theirs["held_out"]["terms"] == pytest.approx(mine["held_out"]["terms"], rel=1e-4)
        assert theirs["held_out"]["scores"] == pytest.approx(mine["held_out"]["scores"], rel=1e-4)
        assert theirs["health"]["gradient_norm"] == pytest.approx(mine["health"]["gradient_norm"], rel=1e-3)
    weights = [load_file(folder / "sure" / "weights" / "model.safetensors") for folder in (one, two)]
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-3, atol=1e-5)


def test_two_processes_resume_to_the_same_end(two: Path):
    assert_same(two / "resumed", two / "unbroken")


def test_each_process_has_a_random_state_of_its_own(two: Path):
    random = load_checkpoint(list_checkpoints(two / "unbroken")[-1]).part("random")
    assert random.keys() == {"cpu/0", "cpu/1"}
    assert not torch.equal(random["cpu/0"], random["cpu/1"])


def test_a_run_of_two_is_not_resumed_by_one(two: Path):
    with pytest.raises(CheckpointError, match=r"2 processes.* 1.*torchrun"):
        next(fit(with_training(batch_size=8), two / "unbroken", data=digits(44, 29), resume=True))


def test_one_of_two_processes_speaks_for_the_command_line(two: Path):
    said = (two / "said").read_text()
    assert said.count("epoch 1/1") == 1
    assert said.count("the weights are in") == 1
    assert (two / "command" / "weights" / "model.safetensors").is_file()


def test_the_group_of_processes_ends_before_python_does(monkeypatch: pytest.MonkeyPatch):
    """Else gloo's threads abort, now and then, a process that has done all its work (`terminate called`)."""
    at_exit = []
    monkeypatch.setattr(engine.atexit, "register", at_exit.append)
    place = {"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    for name, value in (place | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}).items():
        monkeypatch.setenv(name, value)
    engine.start_engine("cpu")
    try:
        assert torch.distributed.is_initialized()
        for part in at_exit:
            part()
        assert not torch.distributed.is_initialized()
        for part in at_exit:
            part()
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
