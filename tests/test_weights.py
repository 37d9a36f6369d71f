"""Exported weights give the same answers when loaded, and say in one line why when they cannot be."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import stawm
from stawm.errors import CheckpointError, StorageError, UsageError
from stawm.experiments.build import build
from stawm.files import SEAL, write_json
from stawm.store.checkpoint import list_checkpoints, load_checkpoint, read_tensors, tensor_bytes
from stawm.store.weights import export, fingerprint, load, load_trained, sha256_of
from stawm.training.fit import fit
from tiny_model import heads
from tiny_run import TINY, digits, with_data, with_model, with_training


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
    assert (config["format"], config["stawm"], config["metrics"]) == (3, stawm.__version__, {"error": 0.5})
    assert config["sha256"] == {"model.safetensors": sha256_of(folder / "model.safetensors")}
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


def test_half_precision_is_for_matrices_only_and_comes_back_as_single(tmp_path: Path):
    model = build(TINY.model).eval()
    with torch.no_grad():
        for name, values in model.named_buffers():
            if "running_var" in name:
                values.fill_(1e6)  # more than float16 can hold
    export(model, TINY, tmp_path / "half", half=True)
    export(model, TINY, tmp_path / "full")
    half, full = (read_tensors(tmp_path / form / "model.safetensors", "")[0] for form in ("half", "full"))
    large = {name.removeprefix("heads.") for name, weight in model.named_parameters() if weight.dim() > 1}
    assert {name for name, value in half.items() if value.dtype == torch.float16} == large
    assert all(torch.equal(half[name], full[name]) for name in full.keys() - large)
    loaded = load(tmp_path / "half")
    assert {weight.dtype for weight in loaded.parameters()} == {torch.float32}
    images = torch.rand(3, 1, 28, 28)
    torch.testing.assert_close(loaded(images).logits, model(images).logits, atol=1e-3, rtol=1e-2)
    assert not torch.equal(loaded(images).logits, model(images).logits)


def test_the_fingerprint_is_that_of_a_file_without_rates_as_earlier_versions_wrote_it():
    model = build(TINY.model)
    state = model.state_dict()
    del state["memory.starting_rates"]
    assert fingerprint(model) == hashlib.sha256(tensor_bytes(state, {"format": "pt"})).hexdigest()


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """Change the tensors of a folder of weights, with a checksum that fits them."""
    path = folder / "model.safetensors"
    tensors, header = read_tensors(path, "")
    change(tensors)
    path.write_bytes(tensor_bytes(tensors, header))
    config = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", config | {"sha256": {path.name: sha256_of(path)}})


def test_files_without_rates_have_those_of_their_settings(folder: Path):
    before = load(folder).state_dict()
    rewrite(folder, lambda tensors: tensors.pop("memory.starting_rates"))
    after = load(folder).state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def test_rates_that_are_not_those_of_the_settings_are_of_another_model(folder: Path):
    rewrite(folder, lambda tensors: tensors["memory.starting_rates"].mul_(1.01))
    with pytest.raises(CheckpointError, match=r"another model.*starting_rates") as error:
        load(folder)
    assert one_line(error)


def test_classes_have_the_names_of_their_data_set(tmp_path: Path):
    assert load_trained(export(build(TINY.model), TINY, tmp_path / "a")).classes == tuple("0123456789")
    clothes = with_data(name="fashion-mnist")
    assert load_trained(export(build(TINY.model), clothes, tmp_path / "b")).classes[1] == "trouser"
    own = with_model(with_data(name="folder:pets"), heads=heads(2))
    assert load_trained(export(build(own.model), own, tmp_path / "c", classes=("cat", "dog"))).classes == ("cat", "dog")
    config = json.loads((tmp_path / "c" / "config.json").read_text())
    del config["classes"]
    (tmp_path / "c" / "config.json").write_text(json.dumps(earlier(config)))
    assert load_trained(tmp_path / "c").classes == ("0", "1"), "weights of an earlier version"


def earlier(config: dict[str, Any]) -> dict[str, Any]:
    """A config as the second format had it: without checksums."""
    return {name: value for name, value in config.items() if name not in (SEAL, "sha256")} | {"format": 2}


def one_line(error: pytest.ExceptionInfo[CheckpointError]) -> bool:
    return "\n" not in str(error.value) and len(str(error.value)) < 500


def test_an_empty_or_missing_folder(tmp_path: Path):
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(CheckpointError, match=r"no weights in "):
            load(path)


def test_truncated_weights(folder: Path):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"model\.safetensors.*damaged") as error:
        load(folder)
    assert one_line(error)


def test_one_of_the_two_files_missing(folder: Path):
    (folder / "model.safetensors").rename(folder / "other")
    with pytest.raises(CheckpointError, match=r"there is no .*model.safetensors"):
        load(folder)
    (folder / "other").rename(folder / "model.safetensors")
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load(folder)


def test_weights_that_were_changed_or_exchanged_are_refused(folder: Path, tmp_path: Path):
    other = export(build(TINY.model), TINY, tmp_path / "other", {"error": 0.5})
    weights, config = folder / "model.safetensors", folder / "config.json"
    whole = weights.read_bytes()
    for content in (other.joinpath(weights.name).read_bytes(), whole[:-1] + bytes([whole[-1] ^ 1])):
        weights.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"model\.safetensors.*SHA-256"):
            load(folder)
    weights.write_bytes(whole)
    text = config.read_text()
    for changed in (text.replace('"error": 0.5', '"error": 0.4'), text.replace(SEAL, SEAL.upper())):
        config.write_text(changed)
        with pytest.raises(CheckpointError, match=r"config\.json.*checksum"):
            load(folder)
    config.write_text(text)
    assert load_trained(folder).metrics == {"error": 0.5}


def test_weights_of_an_earlier_version_need_no_checksum(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(earlier(config)))
    assert load_trained(folder).experiment == TINY


@pytest.mark.parametrize("name", ["x" * 5000, "x/" * 3000, "a\0b", "\ud800"])
def test_a_name_that_no_folder_can_have(name: str):
    with pytest.raises(UsageError, match="name"):
        load(name)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', "[" * 2000])
def test_a_broken_config(folder: Path, text: str):
    (folder / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load(folder)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("experiment", "model", "memory", "size"), 10**9),
        (("experiment", "model", "hidden"), 65_536),
        (("experiment", "model", "glimpses"), 10**400),
        (("experiment", "model", "context", "filters"), [4, 0]),
        (("experiment", "model", "context", "strides"), [2, 0]),
        (("experiment", "model", "context", "strides"), "x"),
        (("experiment", "model", "memory"), {}),
        (("experiment", "model", "image", "channels"), True),
        (("experiment", "training", "learning_rate"), float("nan")),
        (("classes",), ["0", "1"]),
        (("classes",), list(range(10))),
        (("metrics",), 3),
    ],
)
def test_settings_that_no_model_can_have(folder: Path, place: tuple[str, ...], value: Any):
    config = json.loads((folder / "config.json").read_text())
    part = config
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    write_json(folder / "config.json", config)
    with pytest.raises(CheckpointError) as error:
        load(folder)
    assert one_line(error)


def test_a_later_format(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", config | {"format": 4})
    with pytest.raises(CheckpointError, match=r"format 4.* reads 1, 2, 3"):
        load(folder)


def test_the_first_format_with_its_sentences(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    words = {"paper": "Table 1", "reach": "0.41 %", "deviations": ["said in a sentence"]}
    facts = ("of", "published", "goal", "departures")
    experiment = {name: value for name, value in config["experiment"].items() if name not in facts} | words
    (folder / "config.json").write_text(json.dumps(earlier(config) | {"format": 1, "experiment": experiment}))
    assert load_trained(folder).experiment == TINY


def test_weights_of_another_model(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    other = with_model(hidden=20).to_dict()
    write_json(folder / "config.json", config | {"experiment": other})
    with pytest.raises(CheckpointError, match=r"of another model: .*policy") as error:
        load(folder)
    assert one_line(error)


def test_a_run_without_a_checkpoint(tmp_path: Path):
    (tmp_path / "experiment.json").write_text(json.dumps(TINY.to_dict()))
    with pytest.raises(CheckpointError, match="no checkpoint"):
        load(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="could not write"):
        export(build(TINY.model), TINY, tmp_path / "file" / "weights")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_not_finite_is_named(folder: Path, value: float):
    rewrite(folder, lambda tensors: tensors["what.bias"].fill_(value))
    with pytest.raises(CheckpointError, match=r"what\.bias") as error:
        load(folder)
    assert one_line(error)
