"""Grids in real processes: run, stopped, killed, gone on with; one that fails beside others; what a folder tells."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from fresh_process import start
from stawm.compare.grid import plan_grid
from stawm.compare.outcome import folder_of, log_of, outcomes_of
from stawm.compare.plan import CELLS, Plan, write_plan
from stawm.compare.run import check_finished, compare, threads_of
from stawm.compare.summary import comparison_of
from stawm.compare.training import Training
from stawm.errors import CheckpointError, UsageError
from stawm.training.journal import read_metrics
from tiny_grid import QUICK
from tiny_run import with_training

LONG = 10**6
"""Steps that nobody waits for."""
PATIENCE = 120.0


def states(out: Path, plan: Plan) -> dict[str, str]:
    return {name: outcome.state for name, outcome in outcomes_of(out, plan).items()}


def run_all(plan: Plan | None, out: str) -> int:
    """Run a grid in a process of its own."""
    for _ in compare(plan, out):
        pass
    return 0


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid of two runs, of which one cannot learn, and goes on after it was run."""
    out = tmp_path_factory.mktemp("grid") / "rates"
    base = Training(with_training(batch_size=1000, epochs=1, clip_norm=1e30, checkpoint_every=0, warmup=0.0))
    plan = plan_grid(base, {"training.learning_rate": [1e30, 1e-3]}, (3,))
    ended = list(compare(plan, out, jobs=2, device="cpu"))
    assert {one.cell.name: one.outcome.state for one in ended} == states(out, plan)
    return out


def test_a_cell_is_an_ordinary_run_and_one_that_fails_does_not_stop_the_others(trained: Path):
    comparison = comparison_of(trained)
    failed, finished = comparison.cells
    assert (failed.state, finished.state) == ("failed", "finished")
    assert "step" in failed.why and "\n" not in failed.why
    last = read_metrics(folder_of(trained, finished.name))[-1]
    assert finished.scores == last["held_out"]["scores"]
    assert finished.lists["error_after_glimpse"] == tuple(last["held_out"]["error_after_glimpse"])
    assert (finished.seed, finished.split, finished.count) == (3, "test", 1000)
    assert finished.machine is not None and finished.machine.threads == 1
    assert finished.settings["training.learning_rate"] == 1e-3
    assert comparison.settings["training.batch_size"] == 1000


def test_finished_cells_are_skipped_and_failed_ones_tried_again(trained: Path):
    before = {path: path.stat().st_mtime_ns for path in trained.rglob("*.safetensors")}
    ended = list(compare(None, trained, device="cpu"))
    assert [(one.cell.values["training.learning_rate"], one.outcome.state) for one in ended] == [("1e+30", "failed")]
    assert before == {path: path.stat().st_mtime_ns for path in trained.rglob("*.safetensors")}
    check_finished(trained, plan_of(trained))


def plan_of(out: Path) -> Plan:
    from stawm.compare.plan import read_plan

    return read_plan(out)


def waited_for(path: Path) -> None:
    for _ in range(int(PATIENCE / 0.05)):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"no {path} came")


def alive(out: Path) -> list[int]:
    """The processes of cells of this grid."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"stawm.compare.work" in words and str(out).encode() in words:
            found.append(int(place.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found by /proc")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_grid_that_is_stopped_or_killed_leaves_no_process_and_goes_on(ending: signal.Signals, tmp_path: Path):
    out = tmp_path / "grid"
    plan = plan_grid(QUICK.changed({"steps": LONG}), {"memory.size": [8]})
    started = start(run_all, plan, str(out), home=tmp_path / "home")
    waited_for(out / CELLS / "size8-seed0" / "recall.safetensors")
    os.kill(started.pid, ending)
    started.end()
    for _ in range(int(PATIENCE / 0.05)):
        if not alive(out):
            break
        time.sleep(0.05)
    assert not alive(out)
    assert states(out, plan) == {"size8-seed0": "begun"}
    with pytest.raises(CheckpointError, match="size8-seed0"):
        check_finished(out, plan)


def test_cells_that_were_begun_go_on_and_new_ones_are_added(tmp_path: Path):
    from stawm.compare.recall.learn import RecallRun

    plan = plan_grid(QUICK, {"memory.size": [8]})
    write_plan(tmp_path, plan)
    folder = folder_of(tmp_path, "size8-seed0")
    run = RecallRun(plan.cells[0].task.config, 0, folder)  # pyright: ignore[reportAttributeAccessIssue]

    def stop(step: int, _: float) -> None:
        if step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.learn(stop)
    heard: list[str] = []
    grown = plan_grid(QUICK, {"memory.size": [8]}, (0, 1))
    ended = list(compare(grown, tmp_path, on_progress=lambda cell, _: heard.append(cell.name)))
    assert [one.outcome.state for one in ended] == ["finished", "finished"]
    assert set(heard) <= {"size8-seed0", "size8-seed1"}
    sessions = [json.loads(line)["step"] for line in (folder / "sessions.jsonl").read_text().splitlines()]
    assert sessions == [0, 2], "the second time from the checkpoint"
    row = comparison_of(tmp_path).rows[0]
    assert (row.seeds, row.asked) == ((0, 1), 2)
    assert len(row.lists["error_by_age"]) == 2


def test_a_process_that_breaks_off_is_told_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    (ended,) = compare(plan_grid(QUICK, {}), tmp_path / "grid")
    assert ended.outcome.state == "failed"
    assert "ended with code" in ended.outcome.why
    assert str(log_of(tmp_path / "grid", ended.cell.name)) in ended.outcome.why


def test_one_grid_has_one_owner_and_at_least_one_job(tmp_path: Path):
    from stawm.store.lock import RunLock

    plan = plan_grid(QUICK, {})
    with pytest.raises(UsageError, match="jobs"):
        list(compare(plan, tmp_path, jobs=0))
    lock = RunLock(tmp_path)
    lock.take()
    with pytest.raises(CheckpointError, match="another process"):
        list(compare(plan, tmp_path))
    lock.free()
    with pytest.raises(CheckpointError, match="no grid"):
        list(compare(None, tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_cores_are_shared(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [threads_of(jobs) for jobs in (1, 2, 3, 20)] == [8, 4, 2, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [threads_of(jobs) for jobs in (1, 2, 3)] == [3, 3, 2]
