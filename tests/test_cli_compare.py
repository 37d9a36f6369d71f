"""`stawm compare` as a person types it; the grids themselves are in `test_compare_run.py`."""

import json
from pathlib import Path

import pytest
from PIL import Image

from stawm.cli import main
from stawm.cli.grid_progress import LiveGrid, PlainGrid, watch
from stawm.cli.recall import spelled_out
from stawm.cli.vary import with_words
from stawm.compare.grid import plan_grid
from stawm.compare.outcome import Outcome, write_outcome
from stawm.compare.plan import Plan, read_plan, write_plan
from stawm.compare.run import Ended
from stawm.compare.task import Found, Progress
from stawm.errors import CheckpointError, TrainingError, UsageError
from stawm.ledger.comparison import read_comparison
from stawm.memory.protocol import MEMORIES
from tiny_command import TINY_MODEL
from tiny_grid import QUICK

FEW = ["--keys", "4", "--values", "4", "--width", "8", "--steps", "4", "--batch-size", "4", "--test-sequences", "20"]
FOUND = Found("new", 20, {"error": 0.25}, {"error_by_age": (0.1, 0.4)}, 3.0)


def grid(out: Path, *ends: Outcome) -> Plan:
    """A grid of which the first cells have ended so."""
    plan = plan_grid(QUICK, {"memory.size": [8, 12]}, (0, 1))
    write_plan(out, plan)
    for cell, outcome in zip(plan.cells, ends, strict=False):
        write_outcome(out, cell.name, outcome)
    return plan


def test_a_grid_from_its_command_to_the_ledger_and_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    words = ["recall", "--rules", "hebb-rosenblatt,delta-rule", "--pairs", "2", "--sizes", "8", *FEW]
    assert main(["compare", *words, "--seeds", "0", "--out", "tiny", "--record"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "2 cells: 2 left"
    assert told[1].startswith("1/2 hebb-rosenblatt-pairs2-size8-seed0: error ")
    assert told[-1] == "results/compare/tiny.json"
    entry = read_comparison(Path(told[-1]))
    assert [side.name for side in entry.sides] == ["memory.rule", "pairs", "memory.size"]
    assert entry.command.startswith("stawm compare recall --keys 4 --values 4 --width 8 --steps 4")
    assert entry.command.endswith("--vary memory.size=8 --seeds 0 --out runs/compare/tiny")
    assert main(["compare", "--out", "tiny", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["values"]["memory.rule"] for row in rows] == ["hebb-rosenblatt", "delta-rule"]
    assert main(["compare", "--out", "tiny", "--record"]) == UsageError.exit_code
    assert main(["figure", "compare", "tiny", "--score", "error_by_age"]) == 0
    with Image.open("tiny/compare.png") as picture:
        assert picture.width > 500


def test_the_command_of_an_entry_plans_the_same_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stawm.compare.run.compare", lambda plan, out, **_: iter(write_plan(Path(out), plan).axes[:0]))
    vary = ["--vary", "rule: slow: model.memory.delta=0.1 | delta: model.memory.rule=delta-rule", "--seeds", "0,2"]
    words = ["mnist-5k-classify", *TINY_MODEL, *vary, "--vary", "model.hidden=20,30"]
    assert main(["compare", *words, "--out", "one"]) == 0
    plan = read_plan(Path("one"))
    assert [cell.name for cell in plan.cells][:2] == ["slow-hidden20-seed0", "slow-hidden20-seed2"]
    assert main([*shlex.split(plan.command("two"))[1:]]) == 0
    assert read_plan(Path("two")) == plan


def test_the_list_runs_nothing_and_tells_how_cells_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    grid(tmp_path, Outcome("finished", FOUND), Outcome("failed", why="step 2: no"))
    assert main(["compare", "--out", str(tmp_path), "--list"]) == TrainingError.exit_code
    told = capsys.readouterr().out
    assert "25.00 %" in told and "1 of 2" in told and "0 of 2" in told
    assert "step 2: no" in told
    assert main(["compare", "--out", str(tmp_path), "--list", "--record", "--ledger", str(tmp_path / "l")]) == 4
    assert "not finished" in capsys.readouterr().err
    assert not (tmp_path / "l").exists()


def test_every_rule_is_compared_unless_some_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = [
        "compare",
        "recall",
        "--pairs",
        "2",
        "--memory.size",
        "8",
        "--list",
        "--json",
        "--out",
        str(tmp_path / "x"),
    ]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [side["name"] for side in found["sides"]] == ["memory.rule", "pairs"], "the size is given for all"
    assert found["sides"][0]["labels"] == list(MEMORIES)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("rule", MEMORIES)
def test_values_and_the_words_for_them_are_one_task(rule: str):
    own = {"memory.rule": rule, "pairs": 3, "memory.size": 12}
    wanted = with_words(QUICK, {name: str(value) for name, value in own.items()})
    assert with_words(QUICK, own) == wanted != QUICK


def test_short_names_are_spelled_out():
    words = ["recall", "--rules", "a,b", "--pairs=4,8", "--steps", "3"]
    assert spelled_out(words) == ["recall", "--vary", "memory.rule=a,b", "--vary", "pairs=4,8", "--steps", "3"]
    for words in (["--sizes"], ["--sizes", "--pairs", "4"]):
        with pytest.raises(UsageError, match="--sizes names no values"):
            spelled_out(["recall", *words])


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("no preset", []),
        ("no preset", ["--vary", "a=1"]),
        ("nonsense", ["nonsense"]),
        ("recall-letters", ["recall-lettres"]),
        ("did you mean recall?", ["recal"]),
        ("did you mean scenes-8-recall?", ["scenes-8-recal"]),
        ("model.memory.size", ["mnist-5k-classify", "--vary", "model.memory.sise=1"]),
        ("'x'", ["mnist-5k-classify", "--vary", "model.memory.size=x"]),
        ("'x'", ["mnist-5k-classify", "--seeds", "x"]),
        ("--match-parameters", ["mnist-5k-classify", "--match", "model.hidden"]),
        ("keys", ["recall", "--pairs", "100"]),
        ("name of a comparison", ["recall", "--record", "--name", "a b"]),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_left(
    named: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *words]) == UsageError.exit_code
    told = capsys.readouterr()
    assert len(told.err.splitlines()) == 1 and named in told.err
    assert not list(tmp_path.iterdir())


def test_a_folder_without_a_grid_and_one_of_another_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compare", "--out", str(tmp_path / "none")]) == CheckpointError.exit_code
    grid(tmp_path)
    assert main(["compare", "mnist-5k-classify", "--out", str(tmp_path)]) == CheckpointError.exit_code
    assert "recall" in capsys.readouterr().err.splitlines()[-1]


def test_a_line_for_each_cell_that_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plan = grid(tmp_path, Outcome("finished", FOUND))
    ends = [Ended(plan.cells[1], Outcome("finished", FOUND)), Ended(plan.cells[2], Outcome("failed", why="no"))]
    watch(ends, PlainGrid(), tmp_path, plan)
    assert capsys.readouterr().out.splitlines() == [
        "4 cells: 1 finished, 3 left",
        "2/4 size8-seed1: error 25.00 %, 3 s",
        "3/4 size12-seed0: failed: no",
    ]


def test_the_live_table_shows_what_is_done_running_and_left(tmp_path: Path):
    from rich.console import Console

    plan = grid(tmp_path)
    live = LiveGrid()
    live.console = Console(width=100, height=40)
    super(LiveGrid, live).begin(plan, {plan.cells[0].name: Outcome("finished", FOUND)})
    live.progress(plan.cells[1], Progress("step 2/6", 0.3, {"error": 0.5}))
    with live.console.capture() as told:
        live.console.print(live.table())
    lines = told.get().splitlines()
    assert lines[1].split()[:4] == ["size8-seed0", "finished", "error", "25.00"]
    assert lines[2].split()[:3] == ["size8-seed1", "step", "2/6,"]
    assert lines[3].split() == ["size12-seed0", "left"]
    assert lines[-1] == "4 cells: 1 running, 1 finished, 2 left"
