"""A checkpoint comes back as it was, only whole, and only into its own run."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from stawm.errors import CheckpointError, StawmError, StorageError
from stawm.experiments.facts import Departure
from stawm.files import SEAL
from stawm.store.checkpoint import (
    Checkpoint,
    check_same,
    experiment_of,
    list_checkpoints,
    load_checkpoint,
    newest_checkpoint,
    read_tensors,
    records_of,
    save_checkpoint,
    sweep,
    tensor_bytes,
)
from stawm.training.fit import fit
from tiny_run import TINY, digits, with_data, with_model, with_training

NOBODY = 2**30
"""Too large a number for a process."""


def checkpoint(step: int = 7, **changes: Any) -> Checkpoint:
    tensors = {
        "model/weight": torch.randn(3, 2).T,
        "optimiser/0/step": torch.tensor(float(step)),
        "random/cpu/0": torch.get_rng_state(),
        "model/counter": torch.tensor(2**40 + 1),
    }
    state = {"step": step, "epoch": 1, "position": 2, "world": 1, "checksum": "abc", "seconds": 0.1 + 0.2}
    return Checkpoint(**({"experiment": TINY, "sums": {"term/x": [1 / 3, 2.0]}, "tensors": tensors} | state | changes))


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The system refuses to write beyond this size, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_comes_back_bit_by_bit(tmp_path: Path):
    saved = checkpoint()
    path = save_checkpoint(tmp_path, saved)
    loaded = load_checkpoint(path)
    assert path.name == "step-00000007.safetensors"
    assert replace(loaded, tensors={}) == replace(saved, tensors={})
    assert loaded.tensors.keys() == saved.tensors.keys()
    assert all(torch.equal(value, saved.tensors[name]) for name, value in loaded.tensors.items())
    assert loaded.part("model").keys() == {"weight", "counter"}


def test_the_last_two_are_kept_in_the_order_of_their_steps(tmp_path: Path):
    for step in (90, 100, 1000):
        save_checkpoint(tmp_path, checkpoint(step))
    assert [load_checkpoint(path).step for path in list_checkpoints(tmp_path)] == [100, 1000]
    newest = newest_checkpoint(tmp_path)
    assert newest is not None and newest.step == 1000


def test_none_without_any(tmp_path: Path):
    assert newest_checkpoint(tmp_path) is None


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


@pytest.mark.parametrize(
    "spoil",
    [
        *(lambda content, kept=kept: content[:kept] for kept in (0, 5, 300, -1)),
        *(lambda content, place=place: flipped(content, place) for place in (0, 9, -1, -20_000 // 8)),
        lambda content: content.replace(b'"format":"2"', b'"format":"1"').replace(b'\\"epoch\\": 1', b'\\"epoch\\": 2'),
        lambda content: content.replace(SEAL.encode(), SEAL.upper().encode()),
    ],
)
def test_one_that_is_damaged_is_named_and_the_one_before_is_used(
    tmp_path: Path, spoil: Any, caplog: pytest.LogCaptureFixture
):
    save_checkpoint(tmp_path, checkpoint(1))
    path = save_checkpoint(tmp_path, checkpoint(2))
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))
    assert path.read_bytes() != whole
    newest = newest_checkpoint(tmp_path)
    assert newest is not None and newest.step == 1
    [told] = caplog.messages
    assert path.name in told and "step-00000001" in told and "\n" not in told
    sweep(tmp_path, newest.step)
    assert [kept.name for kept in list_checkpoints(tmp_path)] == ["step-00000001.safetensors"]


def test_none_that_is_whole(tmp_path: Path):
    for step in (1, 2):
        save_checkpoint(tmp_path, checkpoint(step)).write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"step-00000002\.safetensors.*start its run again"):
        newest_checkpoint(tmp_path)


def test_one_of_an_earlier_version_has_no_checksum(tmp_path: Path):
    saved = checkpoint()
    path = save_checkpoint(tmp_path, saved)
    tensors, header = read_tensors(path, "")
    state = json.loads(header["state"])
    del state["records"]
    header = {"format": "1", "experiment": header["experiment"], "state": json.dumps(state)}
    path.write_bytes(tensor_bytes(tensors, header))
    assert replace(load_checkpoint(path), tensors={}) == replace(saved, tensors={})


def test_the_records_of_a_run_are_read_off_the_newest_header_that_is_whole(tmp_path: Path):
    assert records_of(tmp_path) == []
    for step in (1, 2):
        path = save_checkpoint(tmp_path, checkpoint(step, records=[{"epoch": 1, "step": step}]))
    assert records_of(tmp_path) == [{"epoch": 1, "step": 2}]
    path.write_bytes(path.read_bytes()[:100])
    assert records_of(tmp_path) == [{"epoch": 1, "step": 1}]


def test_a_file_that_is_no_checkpoint(tmp_path: Path):
    path = tmp_path / "step-00000001.safetensors"
    save_file({"x": torch.ones(1)}, path)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        load_checkpoint(path)
    save_file({"x": torch.ones(1)}, path, metadata={"format": "9"})
    with pytest.raises(CheckpointError, match=r"format 9.* reads 1 and 2"):
        load_checkpoint(path)


def test_a_disk_that_is_full_leaves_the_one_before(tmp_path: Path):
    save_checkpoint(tmp_path, checkpoint(1))
    with files_no_larger_than(1000), pytest.raises(StorageError, match=r"could not write .*step-00000002"):
        save_checkpoint(tmp_path, checkpoint(2))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000001.safetensors"]
    newest = newest_checkpoint(tmp_path)
    assert newest is not None and newest.step == 1


def test_a_disk_that_fills_up_in_training_stops_the_run_which_can_go_on(tmp_path: Path):
    data = digits(64, 5)
    with files_no_larger_than(20_000), pytest.raises(StorageError, match=r"could not write .*step-00000003"):
        list(fit(TINY, tmp_path, data=data))
    assert [record.step for record in fit(TINY, tmp_path, data=data, resume=True)] == [4, 8]


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (with_training(epochs=3), r"training.epochs = 2, not 3"),
        (with_model(dropout=0.3), r"model.dropout = 0.2, not 0.3"),
        (with_data(rotate=0.0), r"data.rotate = 10.0, not 0.0"),
        (replace(TINY, seed=99), rf"seed = {TINY.seed}, not 99"),
        (with_model(heads={}), r"model.heads.classify = .*, not None"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path: Path, other: Any, field: str):
    with pytest.raises(CheckpointError, match=f"begun with {field}"):
        check_same(other, TINY, tmp_path)


def test_what_unfinished_writing_left_behind_is_swept_away(tmp_path: Path):
    for place in (tmp_path, tmp_path / "checkpoints", tmp_path / "weights"):
        place.mkdir(exist_ok=True)
        (place / f".model.safetensors.{NOBODY}.partial").touch()
        (place / "kept").touch()
    sweep(tmp_path, 0)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"kept"}


def test_the_same_settings_pass_whatever_their_text_says(tmp_path: Path):
    check_same(replace(TINY, about="reworded", departures=(Departure((), "said better"),)), TINY, tmp_path)


def test_resuming_without_a_run(tmp_path: Path):
    with pytest.raises(CheckpointError, match="no run in"):
        experiment_of(tmp_path)
    with pytest.raises(CheckpointError, match="start one without --resume"):
        next(fit(TINY, tmp_path / "nowhere", resume=True, data=digits(16, 5)))
    assert not (tmp_path / "nowhere").exists()


def test_a_broken_experiment_file(tmp_path: Path):
    for text in ("{", '{"name": 3}', "[]", "[1]"):
        (tmp_path / "experiment.json").write_text(text)
        with pytest.raises(CheckpointError):
            experiment_of(tmp_path)


class TestForeign:
    """A checkpoint put into a run that it does not belong to."""

    @pytest.fixture
    def run(self, tmp_path: Path) -> Path:
        records = fit(TINY, tmp_path, data=digits(32, 5))
        next(records)
        records.close()
        return tmp_path

    def refused(self, run: Path, newest: Checkpoint, **changes: Any) -> str:
        save_checkpoint(run, replace(newest, **changes))
        with pytest.raises(StawmError) as error:
            next(fit(TINY, run, data=digits(32, 5), resume=True))
        assert isinstance(error.value, CheckpointError)
        assert "\n" not in str(error.value)
        return str(error.value)

    def test_each_is_told_in_one_line(self, run: Path):
        newest = newest_checkpoint(run)
        assert newest is not None
        assert "model.glimpses = 5, not 2" in self.refused(run, newest, experiment=with_model(glimpses=5))
        assert "images of mnist-5k" in self.refused(run, newest, checksum="other")
        assert "2 processes" in self.refused(run, newest, world=2)
        shape = newest.tensors | {"model/what.bias": torch.zeros(3)}
        assert "of another model: " in self.refused(run, newest, tensors=shape)
        lost = {name: value for name, value in newest.tensors.items() if not name.startswith("random/")}
        assert "of another model: " in self.refused(run, newest, tensors=lost)
        save_checkpoint(run, newest)
        assert [record.epoch for record in fit(TINY, run, data=digits(32, 5), resume=True)] == [2]


def test_only_who_resumes_is_told_of_resuming(tmp_path: Path):
    for resume in (False, True):
        with pytest.raises(CheckpointError, match="no run in") as error:
            experiment_of(tmp_path, resume=resume)
        assert ("--resume" in str(error.value)) is resume
