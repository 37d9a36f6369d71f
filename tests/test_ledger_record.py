"""Runs are entered in the ledger with what they were and reached; a trial never touches the test set."""

import json
import re
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from stawm.cli import main
from stawm.cli.overrides import override
from stawm.data import Splits, load_data
from stawm.data.sets.cluttered import cluttered
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import judge_of
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset
from stawm.ledger.entries import read_entry
from stawm.ledger.record import Told, entry_of
from stawm.measure.controls import controls
from stawm.measure.evaluate import evaluate
from stawm.store.lock import RunLock
from stawm.store.sessions import SESSIONS, note_session, this_machine
from stawm.store.weights import fingerprint, load
from stawm.training.fit import fit
from tiny_command import TINY_MODEL
from tiny_entry import entry
from tiny_run import some

FEW = ["--training.batch-size", "20", "--training.epochs", "2", "--data.rotate", "0", "--data.shift", "0"]


def few() -> Splits:
    splits = load_data("mnist-5k")
    return Splits(some(splits.train, 60), some(splits.test, 40))


@pytest.fixture(autouse=True)
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stawm.ledger.record.load_data", lambda *_, **__: few())


def trained(folder: Path, *more: str, epochs: int = 2) -> Experiment:
    experiment = override(preset("mnist-5k-classify"), [*TINY_MODEL, *FEW, *more])
    records = fit(experiment, folder, data=few())
    for _ in range(epochs):
        next(records)
    records.close()
    return experiment


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "plain"
    trained(folder, "--seed", "4")
    return folder


@pytest.fixture(scope="module")
def holding_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "holding-out"
    trained(folder, "--data.hold-out", "20")
    return folder


def test_a_result_is_measured_on_the_whole_test_set(plain: Path):
    told = Told("mine", chosen_by="the paper", note="quick")
    found = entry_of(plain, told, with_controls=True)
    model, test = load(plain), few().test
    measured = evaluate(model, test)
    assert (found.measured.split, found.measured.count) == ("test", 40)
    assert found.measured.scores == measured["scores"]
    assert list(found.measured.error_after_glimpse) == measured["error_after_glimpse"]
    assert found.controls == controls(model, test)
    assert (found.name, found.kind, found.experiment.name, found.seed, found.note) == (
        *("mine", "result", "mnist-5k-classify", 4, "quick"),
    )
    assert found.weights == fingerprint(load(plain))
    assert found.data.train == few().train.checksum
    assert found.data.test == few().test.checksum
    assert (found.epochs, found.validation, found.source) == (2, None, "")
    assert found.machine == this_machine()
    assert found.measured.terms == measured["terms"]


def test_terms_are_judged_as_the_run_judged_them(tmp_path: Path, plain: Path):
    experiment = trained(tmp_path, "--model.heads.classify.anytime", "0.5")
    found = entry_of(tmp_path, Told("mine", chosen_by="the paper")).measured
    model, test = load(tmp_path), few().test
    assert found.terms == evaluate(model, test, judge_of(experiment))["terms"] != evaluate(model, test)["terms"]


def test_the_weights_are_of_the_last_record(plain: Path, tmp_path: Path):
    copytree(plain, tmp_path / "run")
    rmtree(tmp_path / "run" / "weights")
    max((tmp_path / "run" / "checkpoints").iterdir()).unlink()
    with pytest.raises(CheckpointError, match=r"epoch 1, its last record is of epoch 2; .*--resume"):
        entry_of(tmp_path / "run", Told("mine", chosen_by="the paper"))


def test_stretches_without_a_step_are_not_in_the_entry(plain: Path, tmp_path: Path):
    copytree(plain, tmp_path / "run")
    (tmp_path / "run" / SESSIONS).unlink()
    for step, processes in ((0, 3), (0, 1), (6, 2)):
        note_session(tmp_path / "run", step, processes)
    found = entry_of(tmp_path / "run", Told("mine", chosen_by="the paper"))
    assert found.machine.processes == 1, "the run has six steps: one stretch died at once, and the last did nothing"


def test_the_time_is_that_of_training_and_of_evaluation(plain: Path):
    lines = [json.loads(line)["timing"] for line in (plain / "metrics.jsonl").read_text().splitlines()]
    spent = sum(line["seconds"] + line["evaluation_seconds"] for line in lines)
    assert spent > sum(line["seconds"] for line in lines) > 0
    assert entry_of(plain, Told("mine", chosen_by="the paper")).seconds == pytest.approx(spent, abs=0.051)


def test_a_trial_keeps_its_validation_and_never_sees_the_test_set(holding_out: Path, monkeypatch: pytest.MonkeyPatch):
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr("stawm.ledger.record.evaluate", never)
    found = entry_of(holding_out, Told("tried", "trial"))
    last = json.loads((holding_out / "metrics.jsonl").read_text().splitlines()[-1])["held_out"]
    assert last["split"] == "validation"
    assert (found.measured.split, found.measured.count) == ("validation", 20)
    assert found.measured.scores == last["scores"]
    assert found.chosen_by == "the last 20 training pictures"
    with pytest.raises(UsageError, match="test set"):
        entry_of(holding_out, Told("tried", "trial"), with_controls=True)


def test_a_trial_that_was_measured_on_the_test_set_is_refused(plain: Path):
    with pytest.raises(UsageError, match="hold-out"):
        entry_of(plain, Told("tried", "trial"))


def test_a_result_says_what_chose_its_recipe(plain: Path, holding_out: Path):
    with pytest.raises(UsageError, match="--chosen-by"):
        entry_of(plain, Told("mine"))
    found = entry_of(holding_out, Told("mine"))
    assert found.chosen_by == "the last 20 training pictures"
    assert found.validation is not None
    assert (found.validation.split, found.validation.count) == ("validation", 20)
    assert found.measured.split == "test"


def test_the_entry_that_a_run_started_from_is_found_by_its_weights(plain: Path, tmp_path: Path):
    trained(tmp_path / "run", "--training.start-from", str(plain))
    told = Told("mine", chosen_by="the paper")
    other, first = entry("other"), entry_of(plain, Told("first", chosen_by="the paper"))
    found = entry_of(tmp_path / "run", told, [other, first])
    assert found.source == "first"
    assert found.started_from == first.weights == fingerprint(load(plain))
    assert found.experiment.training.start_from == "runs/first"
    assert "--run runs/mine " in found.command
    assert found.command.endswith("--training.start-from runs/first")
    assert str(plain) not in json.dumps(found.to_dict())
    with pytest.raises(UsageError, match="--source"):
        entry_of(tmp_path / "run", told, [other])
    with pytest.raises(UsageError, match="no entry other"):
        entry_of(tmp_path / "run", replace(told, source="other"), [other, first])


def test_the_weights_it_started_from_are_those_that_it_took_up(plain: Path, tmp_path: Path):
    """Whatever lies at that place when the run is recorded."""
    copytree(plain, tmp_path / "first")
    trained(tmp_path / "run", "--training.start-from", str(tmp_path / "first"))
    first = entry_of(plain, Told("first", chosen_by="the paper"))
    rmtree(tmp_path / "first")
    trained(tmp_path / "first", "--seed", "5")
    other = entry_of(tmp_path / "first", Told("other", chosen_by="the paper"))
    found = entry_of(tmp_path / "run", Told("mine", chosen_by="the paper"), [other, first])
    assert (found.source, found.started_from) == ("first", first.weights)


def test_the_entry_is_told_where_the_weights_are_gone(plain: Path, tmp_path: Path):
    copytree(plain, tmp_path / "gone")
    trained(tmp_path / "run", "--training.start-from", str(tmp_path / "gone"))
    rmtree(tmp_path / "gone")
    (tmp_path / "run" / SESSIONS).unlink()  # As of an earlier version, which did not write them down.
    told, ledger = Told("mine", chosen_by="the paper"), [entry("first")]
    with pytest.raises(UsageError, match=r"gone, where no weights are found .* --source"):
        entry_of(tmp_path / "run", told, ledger)
    found = entry_of(tmp_path / "run", replace(told, source="first"), ledger)
    assert (found.source, found.started_from) == ("first", "")
    assert found.experiment.training.start_from == "runs/first"


def test_an_unfinished_run_tells_the_epochs_done(tmp_path: Path):
    experiment = trained(tmp_path, epochs=1)
    found = entry_of(tmp_path, Told("half", chosen_by="the paper"))
    assert (found.epochs, found.experiment.training.epochs) == (1, experiment.training.epochs)


def test_a_result_of_a_run_that_still_learns_is_refused_before_the_test_set_is_read(
    plain: Path, monkeypatch: pytest.MonkeyPatch
):
    told = Told("mine", chosen_by="the paper")
    owner = RunLock(plain)
    owner.take()
    with monkeypatch.context() as patched, pytest.raises(CheckpointError, match=r"another process trains in .*plain"):
        patched.setattr("stawm.ledger.record.evaluate", lambda *_, **__: pytest.fail("the test set was read"))
        entry_of(plain, told)
    owner.free()
    assert entry_of(plain, told).epochs == 2


def test_a_run_of_an_earlier_version_knows_neither_code_nor_threads(tmp_path: Path):
    trained(tmp_path)
    (tmp_path / SESSIONS).unlink()
    found = entry_of(tmp_path, Told("old", chosen_by="the paper"))
    assert (found.commits, found.machine.threads) == ((), None)
    found = entry_of(tmp_path, Told("old", chosen_by="the paper", commit="abc", threads=2))
    assert (found.commits, found.machine.threads) == (("abc",), 2)


def test_other_pictures_than_those_learnt_from_are_refused(plain: Path, monkeypatch: pytest.MonkeyPatch):
    other = few()
    other = Splits(replace(other.train, checksum="other"), other.test)
    monkeypatch.setattr("stawm.ledger.record.load_data", lambda *_, **__: other)
    with pytest.raises(CheckpointError, match="pictures"):
        entry_of(plain, Told("mine", chosen_by="the paper"))


def test_pictures_that_are_made_are_compared_as_they_were_learnt_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With some held out, pictures of the others are made anew: other pictures than those of all digits."""
    made = Splits(*(cluttered("few", part, 40, 2) for part in (few().train, few().test)))
    assert made.train.split(20)[0].checksum != made.train.checksum
    sizes = ["--model.image.height", "40", "--model.image.width", "40", "--data.hold-out", "20"]
    experiment = override(preset("mnist-5k-cluttered-60"), [*TINY_MODEL, *FEW, *sizes])
    list(fit(experiment, tmp_path, data=made))
    monkeypatch.setattr("stawm.ledger.record.load_data", lambda *_, **__: made)
    found = entry_of(tmp_path, Told("mine"))
    assert found.data.train == made.train.checksum
    others = Splits(cluttered("few", few().train, 40, 3), made.test)
    monkeypatch.setattr("stawm.ledger.record.load_data", lambda *_, **__: others)
    with pytest.raises(CheckpointError, match="pictures"):
        entry_of(tmp_path, Told("mine"))


def test_a_run_without_an_epoch_is_refused(tmp_path: Path):
    (tmp_path / "experiment.json").write_text(json.dumps(preset("mnist-5k-classify").to_dict()))
    with pytest.raises(CheckpointError, match="epoch"):
        entry_of(tmp_path, Told("mine", chosen_by="the paper"))


def test_the_verb_writes_the_entry_once(holding_out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    ledger = ["--ledger", str(tmp_path / "results"), "--device", "cpu"]
    assert main(["record", str(holding_out), "--controls", "--note", "first", *ledger]) == 0
    assert main(["record", str(holding_out), "--kind", "trial", "--name", "tried", *ledger]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"mnist-5k-classify: error [\d.]+ % on", lines[0])
    assert lines[0].endswith(" on 40 test pictures")
    assert lines[2].endswith(" on 20 validation pictures")
    assert [Path(line) for line in lines[1::2]] == [
        tmp_path / "results" / "holding-out.json",
        tmp_path / "results" / "trials" / "tried.json",
    ]
    recorded = read_entry(Path(lines[1]))
    assert recorded.note == "first"
    assert len(recorded.controls) == 4
    assert main(["record", str(holding_out), *ledger]) == UsageError.exit_code
    assert main(["record", str(holding_out), "--name", "../up", *ledger]) == UsageError.exit_code
    told = capsys.readouterr().err
    assert "already" in told
    assert "../up" in told
