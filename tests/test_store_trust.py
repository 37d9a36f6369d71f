"""Trust lies beside the weights that it was fitted to, and is refused beside others or when damaged."""

from pathlib import Path

import pytest
import torch

from stawm.errors import CheckpointError
from stawm.experiments.build import build
from stawm.store.trust import FILE
from stawm.store.weights import CONFIG, MODEL, entrust, export, load_trained, read_manifest
from tiny_run import TINY
from tiny_trust import tiny_trust


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return export(build(TINY.model), TINY, tmp_path / "mine", trust=tiny_trust())


def test_it_is_loaded_with_the_weights(folder: Path):
    trust = load_trained(folder).trust
    assert trust is not None and trust.temperatures is not None
    assert trust.temperatures.tolist() == [1.0, 2.0]
    assert torch.equal(trust.judgement.outer, tiny_trust().judgement.outer)


def test_weights_without_it_have_none_and_exporting_them_anew_takes_it_away(folder: Path):
    export(build(TINY.model), TINY, folder)
    assert load_trained(folder).trust is None


def test_it_is_refused_beside_other_weights(folder: Path, tmp_path: Path):
    torch.manual_seed(1)
    other = export(build(TINY.model), TINY, tmp_path / "other")
    for name in (MODEL, CONFIG):
        (folder / name).write_bytes((other / name).read_bytes())
    with pytest.raises(CheckpointError, match="other weights"):
        load_trained(folder)


@pytest.mark.parametrize("place", [-1, -40, 20, 200])
def test_a_flipped_bit_is_found(folder: Path, place: int):
    content = bytearray((folder / FILE).read_bytes())
    content[place] ^= 1
    (folder / FILE).write_bytes(content)
    with pytest.raises(CheckpointError):
        load_trained(folder)


def test_it_is_entered_in_the_manifest_beside_the_weights(tmp_path: Path):
    folder = export(build(TINY.model), TINY, tmp_path / "mine")
    (tmp_path / "manifest.json").write_text('{"mine": {"files": {}, "note": "kept"}}')
    assert entrust(folder, tiny_trust()) == folder / FILE
    entry = read_manifest(tmp_path)["mine"]
    assert set(entry["files"]) == {"config.json", "model.safetensors", FILE}
    assert entry["note"] == "kept"
    assert load_trained(folder).trust is not None
