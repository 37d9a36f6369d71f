import json
from dataclasses import replace
from pathlib import Path

import pytest

from stawm.cli import main
from stawm.errors import CheckpointError
from stawm.experiments.presets import preset


def run_folder(folder: Path, name: str, seed: int, epochs: int, error: float) -> Path:
    experiment = preset(name)
    experiment = replace(experiment, seed=seed, training=replace(experiment.training, epochs=2))
    folder.mkdir()
    (folder / "experiment.json").write_text(json.dumps(experiment.to_dict()))
    record = {"held_out": {"split": "test", "scores": {"error": error}}}
    (folder / "metrics.jsonl").write_text("".join(json.dumps({"epoch": n + 1} | record) + "\n" for n in range(epochs)))
    return folder


def test_run_folders_become_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    one = run_folder(tmp_path / "a", "mnist-classify-8", 0, 2, 0.01)
    two = run_folder(tmp_path / "b", "mnist-classify-8", 1, 2, 0.03)
    half = run_folder(tmp_path / "c", "mnist-5k-classify", 0, 1, 0.5)
    assert main(["table", *map(str, (half, one, two, one / ".." / "a"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "error 2.00 % ± 1.41" in lines[2]
    assert "error 0.41 % ± 0.03 (5 trials)" in lines[2]
    assert "2 (seeds 0, 1)" in lines[2], "a run that is given twice counts once"
    assert lines[3].startswith("mnist-5k-classify ")
    assert lines[3].endswith("1 of 2, unfinished")
    assert main(["table", str(one), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["scores"] == {"error": {"mean": 0.01, "deviation": None}}
    assert main(["table", str(one), "--format", "markdown"]) == 0
    assert "| error 1.00 % | test | 1 (seed 0) | 2 of 2 |" in capsys.readouterr().out


def test_a_folder_without_a_run_is_named_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["table", str(tmp_path / "nothing")]) == CheckpointError.exit_code
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "nothing (no experiment.json)" in told
