"""Runs as a table: seeds in one row, the paper's number or our goal beside ours, what was set otherwise."""

import json
from dataclasses import replace

import pytest

from stawm.errors import UsageError
from stawm.experiments.experiment import Experiment, TrainingConfig
from stawm.experiments.facts import Goal, Published
from stawm.experiments.presets import preset
from stawm.experiments.recipe import Change
from stawm.ledger.table import Run, rows_of, table

CLASSIFY = Experiment(
    name="classify",
    published=Published("Table 1 (a)", "Classification", "error", 0.0041, 0.0003),
    training=TrainingConfig(epochs=2),
)
DRAW = Experiment(name="draw", goal=Goal("mse", 0.0083), training=TrainingConfig(epochs=2))


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
    assert "error 0.41 % ± 0.03  error 2.00 % ± 1.00  test   3 (seeds 0, 1, 2)  2 of 2" in told
    assert "standard deviation" in told


def test_one_run_has_no_deviation():
    (row,) = rows_of([ran(DRAW, 0, {"mse": 0.1}, {"mse": 0.01234})])
    assert row.scores["mse"].deviation is None
    told = table([row])
    assert "mse 0.0083  mse 0.0123" in told
    assert "±" not in told


def test_a_sketchpad_has_both_scores():
    (row,) = rows_of([ran(CLASSIFY, 0, {}, {"mse": 0.02, "error": 0.05})])
    assert "error 5.00 %, mse 0.0200" in table([row])


def test_unfinished_runs_are_marked_and_never_mixed_into_a_mean():
    done = [ran(CLASSIFY, seed, {"error": 0.5}, {"error": 0.01}) for seed in (0, 1)]
    half, none = ran(CLASSIFY, 2, {"error": 0.5}), ran(CLASSIFY, 3)
    rows = rows_of([half, none, *done])
    assert [row.finished for row in rows] == [True, False, False]
    assert rows[0].scores["error"].mean == pytest.approx(0.01)
    lines = table(rows).splitlines()[2:]
    assert lines[1].endswith("1 of 2, unfinished")
    assert "error 50.00 %" in lines[1]
    assert "nothing yet" in lines[2]
    assert lines[2].endswith("0 of 2, unfinished")


def test_runs_with_other_settings_are_other_rows_and_say_what_was_changed():
    base = preset("mnist-5k-classify")
    short = replace(base, training=replace(base.training, epochs=1))
    done = [{"error": 0.1}] * base.training.epochs
    rows = rows_of([ran(base, 0, *done), ran(short, 1, {"error": 0.2})])
    assert [(row.epochs_asked, row.changes) for row in rows] == [(40, {}), (1, {"training.epochs": Change(1, 40)})]
    told = table(rows)
    assert "mnist-5k-classify [1]" in told
    assert "[1] training.epochs 1 (preset: 40)" in told


def test_rows_stand_in_the_order_of_the_presets():
    names = ("mine", "mnist-5k-draw", "mnist-draw-6")
    rows = rows_of([ran(replace(DRAW, name=name), 0, {"mse": 0.1}, {"mse": 0.1}) for name in names])
    assert [row.experiment for row in rows] == ["mnist-draw-6", "mnist-5k-draw", "mine"]


def test_markdown_and_json_say_the_same():
    rows = rows_of([ran(CLASSIFY, seed, {}, {"error": error}) for seed, error in ((0, 0.01), (1, 0.03))])
    lines = table(rows, "markdown").splitlines()
    assert lines[0] == "| experiment | in the paper | to reach | ours | split | runs | epochs |"
    assert lines[1] == "| --- | --- | --- | --- | --- | --- | --- |"
    assert "| Table 1 (a) | error 0.41 % ± 0.03 | error 2.00 % ± 1.41 | test | 2 (seeds 0, 1) | 2 of 2 |" in lines[2]
    (found,) = json.loads(table(rows, "json"))
    assert found["scores"]["error"]["mean"] == pytest.approx(0.02)
    assert found["published"]["value"] == 0.0041
    assert found["published"]["where"] == "Table 1 (a)"
    assert found["runs"] == ["runs/classify-0", "runs/classify-1"]


def test_different_splits_are_not_averaged():
    runs = [ran(CLASSIFY, 0, {}, {"error": 0.1}), ran(CLASSIFY, 1, {}, {"error": 0.1}, split="validation")]
    with pytest.raises(UsageError, match="test and validation"):
        rows_of(runs)
