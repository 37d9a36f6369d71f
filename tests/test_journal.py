"""The journal of a run is whole, or is written anew from the checkpoint, and never loses an epoch in silence."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from stawm.cli import main
from stawm.errors import CheckpointError
from stawm.store.checkpoint import list_checkpoints, load_checkpoint, save_checkpoint
from stawm.store.weights import load_trained
from stawm.training.fit import fit
from stawm.training.journal import METRICS, read_metrics
from tiny_run import TINY, digits

SPOILT = {
    "emptied": lambda text: "",
    "shortened": lambda text: text.splitlines()[0] + "\n",
    "cut": lambda text: text[:-5],
    "changed": lambda text: text.replace('"step": ', '"step": 1'),
    "exchanged": lambda text: "\n".join(reversed(text.splitlines())),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("journal") / "run"
    assert len(list(fit(TINY, run, data=digits(32, 5)))) == 2
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(copytree(finished, tmp_path / "run"))


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_was_lost_is_told_and_comes_back_from_the_checkpoint(
    run: Path, spoil: Any, caplog: pytest.LogCaptureFixture
):
    whole = (run / METRICS).read_text()
    (run / METRICS).write_text(spoil(whole))
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl.*--resume"):
        read_metrics(run)
    assert list(fit(None, run, data=digits(32, 5), resume=True)) == []
    assert [METRICS in told for told in caplog.messages] == [True]
    assert (run / METRICS).read_text() == whole
    assert load_trained(run).metrics["epoch"] == 2


def test_a_run_of_an_earlier_version_must_have_its_lines(run: Path):
    for path in list_checkpoints(run):
        saved = load_checkpoint(path)
        object.__setattr__(saved, "records", None)
        save_checkpoint(run, saved)
    whole = (run / METRICS).read_text()
    assert list(fit(None, run, data=digits(32, 5), resume=True)) == []
    (run / METRICS).write_text(whole.splitlines()[1] + "\n")
    with pytest.raises(CheckpointError, match="lacks some of the 2 epochs"):
        next(fit(None, run, data=digits(32, 5), resume=True))


@pytest.mark.parametrize(
    "line", ["{}", "[]", "3", '{"epoch": 1}', '{"epoch": 1, "held_out": 3}', "[" * 3000, "\xff", "\0"]
)
def test_lines_that_are_no_records_are_one_line(tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "experiment.json").write_text(json.dumps(TINY.to_dict()))
    (tmp_path / METRICS).write_text(line, encoding="latin-1")
    for verb in (["table"], ["figure", "curve"], ["record", "--ledger", str(tmp_path / "ledger")]):
        assert main([*verb, str(tmp_path)]) == CheckpointError.exit_code
        told = capsys.readouterr().err
        assert METRICS in told and told.count("\n") == 1


def test_a_run_that_has_just_begun_has_no_records(tmp_path: Path):
    assert read_metrics(tmp_path) == []
    (tmp_path / METRICS).write_text("")
    assert read_metrics(tmp_path) == []
