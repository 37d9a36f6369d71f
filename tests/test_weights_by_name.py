"""Weights are found by their name: in the package, in the clone, here, and only as their manifest says."""

import json
from pathlib import Path
from typing import Any

import pytest

import stawm
from stawm.errors import CheckpointError
from stawm.experiments.build import build
from stawm.store.weights import export, load, packaged, sha256_of
from tiny_run import TINY


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package (in a clone) whose weights are `mine`, with their manifest."""
    package = tmp_path / "clone" / "src" / "stawm"
    export(build(TINY.model), TINY, package / "weights" / "mine", {"error": 0.5})
    write_manifest(package / "weights", "mine")
    monkeypatch.setattr("stawm.store.weights.files", lambda _: package)
    monkeypatch.chdir(package.parent)
    return package


def write_manifest(home: Path, name: str) -> None:
    known = {file: {"sha256": sha256_of(home / name / file)} for file in ("model.safetensors", "config.json")}
    (home / "manifest.json").write_text(json.dumps({name: {"files": known}}))


def test_a_name_is_looked_up_in_the_package(package: Path):
    assert packaged() == ("mine",)
    assert isinstance(load("mine"), stawm.Stawm)
    with pytest.raises(CheckpointError, match="known are mine"):
        load("yours")
    (package / "weights" / "manifest.json").unlink()
    assert packaged() == ()
    with pytest.raises(CheckpointError, match=r"'mine'.*no weights"):
        load("mine")


def test_a_folder_without_weights_does_not_hide_those_of_its_name(package: Path, tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "stages.png").touch()
    assert isinstance(load("mine"), stawm.Stawm)
    (tmp_path / "mine" / "config.json").touch()
    with pytest.raises(CheckpointError):
        load("mine")
    with pytest.raises(CheckpointError, match="no weights"):
        load(tmp_path)


def test_a_name_is_looked_up_in_the_weights_here_too(package: Path, tmp_path: Path, monkeypatch: Any):
    (package / "weights").rename(tmp_path / "weights")
    with pytest.raises(CheckpointError, match="no weights"):
        load("mine")
    monkeypatch.chdir(tmp_path)
    assert isinstance(load("mine"), stawm.Stawm)


def test_a_name_is_looked_up_in_the_clone_too(package: Path):
    (package / "weights").rename(package.parent.parent / "weights")
    assert packaged() == ()
    assert isinstance(load("mine"), stawm.Stawm)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
@pytest.mark.parametrize("by_name", [True, False])
def test_files_that_the_manifest_does_not_tell_of_are_refused(package: Path, file: str, by_name: bool):
    path = package / "weights" / "mine" / file
    content = path.read_bytes()
    # Still a whole file that could be loaded.
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if file == "model.safetensors" else content + b" ")
    with pytest.raises(CheckpointError, match=rf"{file}.*manifest\.json.*SHA-256") as error:
        load("mine" if by_name else path.parent)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500
    path.unlink()
    with pytest.raises(CheckpointError, match=rf"no .*{file}.*manifest\.json"):
        load("mine")


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "\xff", "[" * 2000, '{"mine": 3}', '{"mine": {}}', '{"mine": {"files": 3}}'),
        *('{"mine": {"files": {"config.json": {}}}}', '{"mine": {"files": {"config.json": {"sha256": 3}}}}'),
    ],
)
def test_a_broken_manifest(package: Path, text: str):
    (package / "weights" / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(CheckpointError, match=r"manifest\.json") as error:
        load("mine")
    assert "\n" not in str(error.value) and len(str(error.value)) < 500
