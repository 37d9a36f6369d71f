import json
from dataclasses import replace

import pytest

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment, TrainingConfig
from stawm.ledger.table import Run, rows_of, table

CLASSIFY = Experiment(
    name="classify", paper="Table 1 (a); appendix", reach="0.41 % ± 0.03 test error", training=TrainingConfig(epochs=2)
)
DRAW = Experiment(name="draw", reach="0.0083 mean squared error", training=TrainingConfig(epochs=2))


def ran(experiment: Experiment, seed: int, *scores: dict[str, float], split: str = "test") -> Run:
    records = [{"epoch": epoch, "held_out": {"split": split, "scores": score}} for epoch, score in enumerate(scores, 1)]
    return Run(f"runs/{experiment.name}-{seed}", replace(experiment, seed=seed), records)


def test_seeds_are_one_row_with_mean_and_standard_deviation_of_the_last_epoch():
    runs = [ran(CLASSIFY, seed, {"error": 0.5}, {"error": error}) for seed, error in ((2, 0.03), (0, 0.01), (1, 0.02))]
    runs[1] = replace(runs[1], experiment=replace(runs[1].experiment, about="in other words"))
    (row,) = rows_of(runs)
    assert row.scores["error"].mean == pytest.approx(0.02)
    assert row.scores["error"].deviation == pytest.approx(0.01), "of a sample: n - 1"
    assert (row.seeds, row.split, row.epochs, row.finished) == ((0, 1, 2), "test", 2, True)
    told = table([row])
    assert "0.41 % ± 0.03 test error  2.00 % ± 1.00 error  test   3 (seeds 0, 1, 2)  2 of 2" in told
    assert "standard deviation" in told


def test_one_run_has_no_deviation():
    (row,) = rows_of([ran(DRAW, 0, {"mse": 0.1}, {"mse": 0.01234})])
    assert row.scores["mse"].deviation is None
    told = table([row])
    assert "0.0083 mean squared error  0.0123 mse" in told
    assert "±" not in told


def test_a_sketchpad_has_both_scores():
    (row,) = rows_of([ran(CLASSIFY, 0, {}, {"mse": 0.02, "error": 0.05})])
    assert "5.00 % error, 0.0200 mse" in table([row])


def test_unfinished_runs_are_marked_and_never_mixed_into_a_mean():
    done = [ran(CLASSIFY, seed, {"error": 0.5}, {"error": 0.01}) for seed in (0, 1)]
    half, none = ran(CLASSIFY, 2, {"error": 0.5}), ran(CLASSIFY, 3)
    rows = rows_of([half, none, *done])
    assert [row.finished for row in rows] == [True, False, False]
    assert rows[0].scores["error"].mean == pytest.approx(0.01)
    lines = table(rows).splitlines()[2:]
    assert lines[1].endswith("1 of 2, unfinished")
    assert "50.00 % error" in lines[1]
    assert "nothing yet" in lines[2]
    assert lines[2].endswith("0 of 2, unfinished")


def test_runs_with_other_settings_are_other_rows_and_say_what_was_changed():
    change = "training.epochs = 1, not 2: set on the command line"
    short = replace(CLASSIFY, training=TrainingConfig(epochs=1), deviations=("as ever", change))
    rows = rows_of([ran(CLASSIFY, 0, {"error": 0.3}, {"error": 0.1}), ran(short, 1, {"error": 0.2})])
    assert [(row.epochs_asked, row.changes) for row in rows] == [(2, ()), (1, ("training.epochs = 1, not 2",))]
    told = table(rows)
    assert "classify [1]" in told
    assert "[1] training.epochs = 1, not 2" in told
    assert "as ever" not in told


def test_rows_stand_in_the_order_of_the_presets():
    runs = [ran(replace(DRAW, name=name), 0, {"mse": 0.1}, {"mse": 0.1}) for name in ("mine", "second", "first")]
    assert [row.experiment for row in rows_of(runs, ["first", "second"])] == ["first", "second", "mine"]


def test_markdown_and_json_say_the_same():
    rows = rows_of([ran(CLASSIFY, seed, {}, {"error": error}) for seed, error in ((0, 0.01), (1, 0.03))])
    lines = table(rows, "markdown").splitlines()
    assert lines[0] == "| experiment | paper | to reach | ours | split | runs | epochs |"
    assert lines[1] == "| --- | --- | --- | --- | --- | --- | --- |"
    assert (
        "| Table 1 (a) | 0.41 % ± 0.03 test error | 2.00 % ± 1.41 error | test | 2 (seeds 0, 1) | 2 of 2 |" in lines[2]
    )
    (found,) = json.loads(table(rows, "json"))
    assert found["scores"]["error"]["mean"] == pytest.approx(0.02)
    assert found["reach"] == "0.41 % ± 0.03 test error"
    assert found["paper"] == "Table 1 (a); appendix"
    assert found["runs"] == ["runs/classify-0", "runs/classify-1"]


def test_different_splits_are_not_averaged():
    runs = [ran(CLASSIFY, 0, {}, {"error": 0.1}), ran(CLASSIFY, 1, {}, {"error": 0.1}, split="validation")]
    with pytest.raises(UsageError, match="test and validation"):
        rows_of(runs)
