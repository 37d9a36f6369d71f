"""`stawm train` on pictures of one's own: nothing about them needs to be said."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from stawm.cli import main
from stawm.errors import CheckpointError, DataError, UsageError
from stawm.store.checkpoint import experiment_of
from stawm.store.weights import load_trained
from tiny_command import TINY_MODEL

TINY = [*TINY_MODEL, "--training.epochs", "1", "--training.batch-size", "12", "--device", "cpu"]
Capture = pytest.CaptureFixture[str]


def paint(root: Path, classes: tuple[str, ...] = ("red", "green", "blue"), size: tuple[int, int] = (40, 30)) -> Path:
    """Twelve pictures of each colour, of size width × height; all in one folder if there are no classes."""
    for label, colour in enumerate(classes or ("",)):
        (root / colour).mkdir(parents=True)
        for number in range(12):
            level = [20, 20, 20]
            level[label] = 100 + 10 * number
            Image.new("RGB", size, tuple(level)).save(root / colour / f"{number}.png")
    return root


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_folder_of_classes_is_learnt_evaluated_and_looked_at(tmp_path: Path, capsys: Capture):
    paint(tmp_path / "colours")
    assert main(["train", "folder:colours", *TINY]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 classes, 3 × 30 × 40 pixels, from colours"
    run = Path("runs/colours-seed0")
    experiment = experiment_of(run)
    assert (experiment.name, experiment.data.name) == ("folder", "folder:colours")
    assert (experiment.model.image.shape, experiment.model.classes) == ((3, 30, 40), 3)
    assert main(["evaluate", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] == 3
    assert main(["look", "colours/red/0.png", "--weights", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prediction"] in ("red", "green", "blue")
    assert main(["train", "folder:colours", "--resume"]) == 0
    assert main(["train", "--resume", "--run", str(run), "folder:colours"]) == 0
    (run / "weights").rename(tmp_path / "aside")
    assert load_trained(run).classes == ("blue", "green", "red")
    (tmp_path / "aside").rename(run / "weights")
    paint(tmp_path / "other" / "colours")
    capsys.readouterr()
    assert main(["train", "folder:other/colours", "--resume"]) == CheckpointError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert "learns from folder:colours, not from folder:other/colours" in line
    (tmp_path / "colours" / "red").rename(tmp_path / "colours" / "zinnober")
    assert main(["evaluate", str(run)]) == DataError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert "does not know (zinnober)" in line
    assert main(["record", str(run), "--ledger", "ledger"]) == UsageError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert "folder:colours, of no preset" in line


def test_a_flat_folder_is_drawn(tmp_path: Path, capsys: Capture):
    paint(tmp_path / "flat", classes=())
    assert main(["train", "folder:flat", *TINY, "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert list(told[0]["held_out"]["scores"]) == ["mse"]
    assert list(experiment_of(Path("runs/flat-seed0")).model.heads) == ["draw"]


def test_a_preset_takes_the_pictures_unless_something_is_set(tmp_path: Path, capsys: Capture):
    paint(tmp_path / "colours")
    size = ["--model.image.height", "20", "--model.image.width", "24"]
    command = ["train", "mnist-5k-classify", "--data.name", "folder:colours", "--run", "run", *size, *TINY]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("3 classes, 3 × 20 × 24 pixels, from colours\n")
    assert experiment_of(Path("run")).model.image.shape == (3, 20, 24)


def test_another_rule_and_another_head_are_trained_and_come_back(capsys: Capture):
    change = ["--model.memory.rule", "delta-rule", "--model.memory.eta", "0.5", "--model.heads.draw.latent", "2"]
    quick = [*TINY, "--training.batch-size", "400", "--model.glimpse.strides", "1", "1"]
    assert main(["train", "mnist-5k-classify", "--run", "run", *change, *quick]) == 0
    capsys.readouterr()
    assert main(["evaluate", "run", "--json"]) == 0
    assert {"error", "mse"} <= set(json.loads(capsys.readouterr().out)["scores"])
    stored = experiment_of(Path("run")).model
    assert (stored.memory.rule, stored.memory.size, list(stored.heads)) == ("delta-rule", 12, ["classify", "draw"])


def test_other_data_by_name_give_their_size_and_classes_too(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    started: list[Any] = []
    monkeypatch.setattr("stawm.training.fit.fit", lambda experiment, run, **_: started.append(experiment) or iter(()))
    assert main(["train", "mnist-5k-classify", "--data.name", "cifar10"]) == 0
    assert started[0].model.image.shape == (3, 32, 32)
    assert capsys.readouterr().out.startswith("10 classes, 3 × 32 × 32 pixels, from cifar10\n")


def test_folders_that_cannot_be_learnt_from_are_one_line(tmp_path: Path, capsys: Capture):
    paint(tmp_path / "small", size=(9, 9))
    paint(tmp_path / "flat", classes=())
    paint(tmp_path / "alike", classes=("red",))
    (tmp_path / "empty").mkdir()
    for code, name, line in (
        (UsageError, "9×9", "train folder:small"),
        (DataError, "one class only (red)", "train folder:alike"),
        (DataError, "empty", "train folder:empty"),
        (DataError, "nowhere", "train folder:nowhere"),
        (DataError, "flat", "train mnist-5k-classify --data.name folder:flat"),
        (DataError, "3 classes", "train mnist-5k-classify --data.name folder:small --model.heads.classify.classes 2"),
    ):
        larger = ["--model.image.height", "28", "--model.image.width", "28"] if "classify" in line else []
        assert main([*line.split(), *larger]) == code.exit_code
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert name in told
