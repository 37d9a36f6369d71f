"""`stawm calibrate` fits what it should on what it should, and says why when it cannot."""

from pathlib import Path

import pytest
import torch

from stawm.cli import main
from stawm.errors import DataError, UsageError
from stawm.experiments.build import build
from stawm.store.weights import export, load_trained
from stawm.trust import trust
from tiny_folders import grey
from tiny_run import TINY, with_data

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("OWN", 60), ("REDRAWN", 4), ("DRAWN", 12), ("COMPOSED", 4)):
        monkeypatch.setattr(trust, name, count)


def test_a_run_that_held_pictures_out_is_calibrated(tmp_path: Path, capsys: Capture):
    torch.manual_seed(0)
    experiment = with_data(hold_out=60)
    folder = export(build(experiment.model), experiment, tmp_path / "run" / "weights")
    assert main(["calibrate", str(folder.parent), "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "60 held-out pictures" in lines[0]
    assert lines[-1] == str(folder / "trust.safetensors")
    assert load_trained(folder).trust is not None


def test_a_run_that_held_nothing_out_is_one_line(tmp_path: Path, capsys: Capture):
    folder = export(build(TINY.model), TINY, tmp_path / "weights")
    assert main(["calibrate", str(folder)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "--data.hold-out 500" in line
    assert main(["calibrate", str(folder), "--hold-out", "100"]) == 2


@pytest.mark.parametrize(
    ("flags", "told"),
    [("--hold-out 0", "at least 1"), ("--seed -1", "at least 0"), ("--test --hold-out 5", "leave out one")],
)
def test_flags_that_cannot_be_meant_are_one_line(tmp_path: Path, capsys: Capture, flags: str, told: str):
    experiment = with_data(hold_out=60)
    folder = export(build(experiment.model), experiment, tmp_path / "weights")
    assert main(["calibrate", str(folder), *flags.split(), "--device", "cpu"]) == UsageError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert told in line


def test_pictures_of_other_classes_are_one_line_and_nothing_is_written(tmp_path: Path, capsys: Capture):
    torch.manual_seed(0)
    experiment = with_data(hold_out=60)
    folder = export(build(experiment.model), experiment, tmp_path / "weights")
    for name in ("one", "two"):
        for number in range(70):
            grey(tmp_path / "pictures" / name / f"{number}.png", number + 90 * (name == "two"))
    other = ["--data", f"folder:{tmp_path / 'pictures'}", "--hold-out", "60"]
    assert main(["calibrate", str(folder), *other, "--device", "cpu"]) == DataError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert "does not know (one, two)" in line
    assert not (folder / "trust.safetensors").exists()
