"""Exported weights give the same answers when loaded, and say in one line why when they cannot be."""

import json
from pathlib import Path

import pytest
import torch

import stawm
from stawm.errors import CheckpointError, StorageError
from stawm.experiments.build import build
from stawm.training.checkpoint import list_checkpoints, load_checkpoint
from stawm.training.fit import fit
from stawm.training.weights import export, load, load_trained
from tiny_run import TINY, digits, with_model, with_training


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return export(build(TINY.model), TINY, tmp_path / "mine", {"error": 0.5})


def test_loaded_weights_answer_the_same(tmp_path: Path):
    model = build(TINY.model).eval()
    images = torch.rand(3, 1, 28, 28)
    export(model, TINY, tmp_path)
    loaded = load(str(tmp_path))
    assert not loaded.training
    assert torch.equal(loaded(images).logits, model(images).logits)


def test_the_folder_says_how_it_was_made(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert (config["format"], config["stawm"], config["metrics"]) == (1, stawm.__version__, {"error": 0.5})
    trained = load_trained(folder)
    assert trained.experiment == TINY
    assert trained.metrics == {"error": 0.5}


def test_the_package_exports_load(folder: Path):
    assert stawm.load is load
    assert isinstance(stawm.load(folder), stawm.Stawm)


def test_loading_draws_no_random_numbers_of_the_callers(folder: Path):
    state = torch.get_rng_state()
    load(folder)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_run_gives_its_exported_weights_or_the_average_of_its_newest_checkpoint(tmp_path: Path):
    records = fit(with_training(epochs=2), tmp_path, data=digits(32, 5))
    next(records)
    records.close()
    assert not (tmp_path / "weights").exists()
    newest = load_checkpoint(list_checkpoints(tmp_path)[-1])
    unfinished = load(tmp_path).state_dict()
    assert all(torch.equal(value, unfinished[name]) for name, value in newest.part("average").items())
    assert any(not torch.equal(value, unfinished[name]) for name, value in newest.part("model").items())
    [last] = fit(None, tmp_path, resume=True, data=digits(32, 5))
    trained = load_trained(tmp_path)
    assert trained.metrics["epoch"] == 2
    assert trained.metrics["scores"] == last.held_out["scores"]


def test_a_name_is_looked_up_in_the_package(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stawm.training.weights.files", lambda _: folder.parent)
    (folder.parent / "weights").mkdir()
    with pytest.raises(CheckpointError, match="no folder 'mine' here and no weights of that name; no weights come"):
        load("mine")
    folder.rename(folder.parent / "weights" / "mine")
    assert isinstance(load("mine"), stawm.Stawm)
    with pytest.raises(CheckpointError, match="come with the package: mine"):
        load("yours")


def one_line(error: pytest.ExceptionInfo[CheckpointError]) -> bool:
    return "\n" not in str(error.value) and len(str(error.value)) < 500


def test_an_empty_or_missing_folder(tmp_path: Path):
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(CheckpointError, match=r"there are no weights in .*give a weights folder or a run folder"):
            load(path)


def test_truncated_weights(folder: Path):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"model.safetensors is truncated or damaged .*again") as error:
        load(folder)
    assert one_line(error)


def test_one_of_the_two_files_missing(folder: Path):
    (folder / "model.safetensors").rename(folder / "other")
    with pytest.raises(CheckpointError, match=r"there is no .*model.safetensors"):
        load(folder)
    (folder / "other").rename(folder / "model.safetensors")
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config.json cannot be read"):
        load(folder)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}'])
def test_a_broken_config(folder: Path, text: str):
    (folder / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config.json cannot be read"):
        load(folder)


def test_a_later_format(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"format": 2}))
    with pytest.raises(CheckpointError, match="has format 2, this stawm reads 1"):
        load(folder)


def test_weights_of_another_model(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    other = with_model(classes=7).to_dict()
    (folder / "config.json").write_text(json.dumps(config | {"experiment": other}))
    with pytest.raises(CheckpointError, match=r"of another model: .*classify") as error:
        load(folder)
    assert one_line(error)


def test_a_run_without_a_checkpoint(tmp_path: Path):
    (tmp_path / "experiment.json").write_text(json.dumps(TINY.to_dict()))
    with pytest.raises(CheckpointError, match="has no checkpoint yet"):
        load(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="could not write"):
        export(build(TINY.model), TINY, tmp_path / "file" / "weights")
