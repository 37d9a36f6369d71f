"""A wrong flag or value is told by tyro, in its own words, with exit code 2; none is a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stawm.cli import VERBS, main

USAGE = 2


def said(told: str) -> str:
    """What tyro prints, without its box."""
    assert "Traceback" not in told
    return " ".join(re.sub("[╭╮╰╯│─]", " ", told).split())


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ("--training.epochs INT", "train mnist-5k-classify --training.epoch 3"),
        ("--training.epochs INT", "train mnist-5k-classify --epochs 3"),
        ("--model.memory.size INT", "train mnist-5k-classify --memory.size 3"),
        ("--resume", "train mnist-5k-classify --resum"),
        ("--nonsense", "train mnist-5k-classify --nonsense"),
        ("--name", "train mnist-5k-classify --name other"),
        ("'many'", "train mnist-5k-classify --training.epochs many"),
        ("'2.5'", "train mnist-5k-classify --training.epochs=2.5"),
        ("--training.epochs", "train mnist-5k-classify --training.epochs"),
        ("'codes', 'responses'", "train mnist-5k-classify --model.memory.read code"),
        ("'True', 'False'", "train mnist-5k-classify --seed 1 --data.flip maybe"),
        ("--model.hidden", "train mnist-5k-classify --model.hidden wide"),
        ("--model.context.filters", "train mnist-5k-classify --model.context.filters 1 x"),
        ("--seed", "train mnist-5k-classify --seed x"),
        ("--model.memory.theta", "train mnist-5k-classify --model.memory.rule delta-rule --model.memory.theta 1"),
        ("extra", "train mnist-5k-classify extra"),
        ("mnist-5k-draw", "train --training.epochs=3 mnist-5k-classify --seed 1 mnist-5k-draw"),
        ("'toaster'", "train mnist-5k-classify --device toaster"),
        ("PRESET", "train"),
        ("RUN_OR_WEIGHTS", "evaluate"),
        ("'burn'", "data burn"),
    ],
)
def test_tyro_tells_what_is_wrong_with_a_flag(
    named: str, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(line.split()) == USAGE
    told = capsys.readouterr()
    assert named in said(told.err)
    assert told.out == ""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flaw", ["--no-such-flag", "--no-such-flag=3", "no-such-thing --no-such-flag"])
def test_no_verb_leaves_a_traceback(verb: str, flaw: str, capsys: pytest.CaptureFixture[str]):
    assert main([verb, *flaw.split()]) == USAGE
    told = said(capsys.readouterr().err)
    assert "no-such" in told or f"stawm {verb} --help" in told


def test_a_mistake_through_a_real_process(tmp_path: Path):
    """One that is found before anything slow is imported: code, words and silence as above, nothing left behind."""
    command = [sys.executable, "-m", "stawm", "evaluate", "run", "--no-such-flag"]
    left = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert left.returncode == USAGE
    assert "no-such-flag" in said(left.stderr)
    assert left.stdout == ""
    assert not list(tmp_path.iterdir())
