"""The ledger keeps whole entries of known shape, and its commands repeat their runs, one after the other."""

import json
import shlex
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stawm.cli.overrides import override
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS, preset
from stawm.experiments.recipe import changes
from stawm.files import SEAL, write_json
from stawm.ledger.entries import LEDGER, Control, Measurement, chain, read_entry, read_ledger, write_entry
from stawm.measure.question_controls import QuestionControl
from stawm.store.weights import load_trained
from tiny_entry import entry

ROOT = Path(__file__).parent.parent
WRITTEN = [path for path in sorted((ROOT / LEDGER).rglob("*.json")) if path.parent.name != "compare"]
ENTRIES = {entry.name: entry for entry in read_ledger(ROOT / LEDGER)}


def repeated(line: str) -> tuple[Experiment, str]:
    """The experiment that a command trains, and its run folder."""
    verb, name, *arguments = shlex.split(line)[1:]
    assert verb == "train"
    at = arguments.index("--run")
    return override(preset(name), arguments[:at] + arguments[at + 2 :]), arguments[at + 1]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_entries_that_are_kept_are_whole(path: Path):
    kept = read_entry(path)
    assert kept.experiment.name in PRESETS
    assert kept.experiment == kept.experiment.plain()
    assert kept.measured.split == ("test" if kept.kind == "result" else "validation")
    assert kept.chosen_by
    assert len(kept.weights) == len(kept.data.train) == len(kept.data.test) == 64
    assert 0 < kept.epochs <= kept.experiment.training.epochs
    assert kept.seconds > 0


@pytest.mark.parametrize("name", ENTRIES)
def test_commands_repeat_a_run_and_all_runs_that_it_came_from(name: str):
    made: dict[str, str] = {}
    for step in chain(ENTRIES[name], ENTRIES):
        experiment, run = repeated(step.command)
        assert (experiment.settings, experiment.seed) == (step.experiment.settings, step.seed)
        start = experiment.training.start_from
        if step.source:
            assert start in made, "the command before it writes the run that it starts from"
            assert step.started_from in ("", made[start]), "and that run had these weights"
        elif start:
            assert load_trained(start).model, "weights that are found by their name"
            assert len(step.started_from) == 64
        made[run] = step.weights
    assert list(made)[-1] == f"runs/{name}"


def test_the_chains_are_those_that_were_run():
    chains = {name: [step.name for step in chain(found, ENTRIES)][:-1] for name, found in ENTRIES.items()}
    six, twelve = "mnist-draw-6-6-seed0", "mnist-draw-6-12-seed0"
    assert {name: before for name, before in chains.items() if before} == {
        "mnist-classify-8-fast-warped-seed0": ["mnist-classify-8-fast-seed0"],
        "mnist-classify-8-fast-warped-seed1": ["mnist-classify-8-fast-seed1"],
        "mnist-classify-8-fast-long-seed0": ["mnist-classify-8-fast-seed0", "mnist-classify-8-fast-warped-seed0"],
        "mnist-classify-8-fast-long-seed1": ["mnist-classify-8-fast-seed1", "mnist-classify-8-fast-warped-seed1"],
        twelve: [six],
        "mnist-self-supervised-seed0": [six],
        "mnist-self-supervised-views-seed0": [six, twelve],
        "mnist-5k-self-supervised-seed0": ["mnist-5k-draw-seed0"],
        **{
            f"mnist-5k-self-supervised-{kind}-seed{seed}": [f"mnist-5k-draw-{kind}-seed{seed}"]
            for kind in ("plain", "unit", "apart")
            for seed in range(3)
        },
        **{
            f"cifar10-{kind}self-supervised-12-seed{seed}": [f"cifar10-{drawing}-fast-12-seed0"]
            for kind, drawing in (("", "draw-16"), ("vae-", "vae"))
            for seed in range(3)
        },
        **{
            f"cifar10-{kind}self-supervised-fast-seed{seed}": [f"cifar10-{drawing}-fast-40-seed0"]
            for kind, drawing in (("", "draw-16"), ("vae-", "vae"))
            for seed in range(3)
        },
        **{f"cifar10-vae-256-self-supervised{seed}": ["cifar10-vae-256"] for seed in ("", "-1", "-2")},
        **{f"cifar10-vae-256-self-supervised-seed{seed}": ["cifar10-vae-256-seed0"] for seed in range(3)},
        "mnist-self-supervised-unit-seed0": ["mnist-draw-6-fast-unit-seed0"],
        "mnist-self-supervised-fast-seed0": ["mnist-draw-6-fast-apart-seed0"],
        "self-supervised-dropout-0.5": [six],
        "self-supervised-rotated": [six],
        "self-supervised-views": [six, twelve],
        "self-supervised-on-saturated": ["draw-6-theta-0.5"],
        "self-supervised-on-two-epochs": ["mnist-draw-6-seed0"],
    }


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("mnist-classify-8-fast", "mnist-classify-8-fast"),
        ("mnist-classify-8-long", "mnist-classify-8-long-30"),
        ("mnist-classify-28-fast", "mnist-classify-28-fast"),
        ("mnist-draw-6-fast", "mnist-draw-6-fast-apart"),
        ("mnist-self-supervised-fast", "mnist-self-supervised-fast-shipped"),
        ("mnist-sketchpad-fast", "mnist-sketchpad-fast-apart"),
        ("cifar10-draw-16-fast", "cifar10-draw-16-fast-40"),
        ("cifar10-vae-fast", "cifar10-vae-fast-40"),
        ("cifar10-self-supervised-fast", "cifar10-self-supervised-fast"),
    ],
)
def test_a_recipe_is_one_that_was_measured_and_its_goal_what_its_seeds_reached(name: str, run: str):
    kept, goal = [found for label, found in ENTRIES.items() if label.rpartition("-seed")[0] == run], preset(name).goal
    assert kept
    assert goal
    for found in kept:
        assert changes(found.experiment, preset(name)).keys() <= {"training.checkpoint_every", "training.start_from"}
        assert found.preset == name
        assert found.epochs == goal.epochs
    reached = statistics.mean(found.measured.scores[goal.score] for found in kept)
    assert reached == pytest.approx(goal.value, rel=0.06)


def test_the_command_gives_the_same_settings_back():
    base = preset("mnist-classify-8")
    changed = replace(
        base,
        seed=3,
        model=replace(base.model, hidden=64, glimpse=replace(base.model.glimpse, filters=(8, 9))),
        data=replace(base.data, flip=True, name="folder:my pictures"),
        training=replace(base.training, epochs=20, milestones=(), average=0.999, start_from="runs/a b"),
    )
    found, run = repeated(replace(entry("mine"), experiment=changed.plain()).command)
    assert (found.settings, found.seed, run) == (changed.settings, 3, "runs/mine")


def test_an_entry_comes_back_as_it_was(tmp_path: Path):
    written = entry(
        "all-of-it",
        preset_name="mnist-sketchpad",
        seed=2,
        scores={"error": 0.01, "mse": 0.02},
        training={"milestones": (3, 4), "epochs": 12},
        controls=(Control("another's", "mean", (0.9, 0.8), 0.95),),
        question_controls=(QuestionControl("detect", "detect_error", "blank", "own", 0.25, None, 0.2),),
        validation=Measurement("validation", 5000, {"error": 0.02}, (0.3, 0.02), {"cross_entropy": 0.1}),
        note="ü",
    )
    path = write_entry(tmp_path, written)
    assert path == tmp_path / "all-of-it.json"
    back = read_entry(path)
    assert back.to_dict() == written.to_dict()
    assert back.experiment == written.experiment
    assert (back.preset, back.seed) == ("mnist-sketchpad", 2)
    assert write_entry(tmp_path, entry("tried", "trial")) == tmp_path / "trials" / "tried.json"


def test_entries_are_read_in_order_and_never_written_over(tmp_path: Path):
    names = [("b", "result", "mnist-sketchpad", 0), ("a", "trial", "mnist-classify-8", 0)]
    names += [("c", "result", "mnist-classify-8", 1), ("d", "result", "mnist-classify-8", 0)]
    for name, kind, preset_name, seed in names:
        write_entry(tmp_path, entry(name, "trial" if kind == "trial" else "result", preset_name, seed=seed))
    assert [found.name for found in read_ledger(tmp_path)] == ["d", "c", "b", "a"]
    before = (tmp_path / "b.json").read_text()
    for kind in ("result", "trial"):
        with pytest.raises(UsageError, match=r"b\.json"):
            write_entry(tmp_path, entry("b", kind, preset_name="mnist-draw-6"))
    assert (tmp_path / "b.json").read_text() == before
    assert read_ledger(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda values: values.pop("epochs"), "epochs"),
        (lambda values: values["experiment"].update(seed="zero"), "seed"),
        (lambda values: values.update(kind="guess"), "kind"),
        (lambda values: values.update(extra=1), "extra"),
        (lambda values: values["measured"].update(split="train"), "split"),
        (lambda values: values.update(name="other"), "its own name and place"),
        (lambda values: values.update(kind="trial"), "its own name and place"),
    ],
)
def test_an_entry_of_another_shape_is_told_in_one_line(tmp_path: Path, spoil: Any, why: str):
    path = write_entry(tmp_path, entry("mine"))
    values = json.loads(path.read_text())
    spoil(values)
    write_json(path, values)
    with pytest.raises(CheckpointError, match=why) as error:
        read_ledger(tmp_path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_json(tmp_path: Path):
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"broken.json"):
        read_ledger(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"none.json.*stawm record"):
        read_entry(tmp_path / "none.json")


def test_an_entry_of_an_earlier_version_is_read(tmp_path: Path):
    written = entry("old")
    path = write_entry(tmp_path, written)
    values = json.loads(path.read_text())
    words = {"about": "", "paper": "", "reach": "", "deviations": [], "after": ""}
    del values[SEAL]
    path.write_text(json.dumps(values | {"experiment": values["experiment"] | words}))
    assert read_entry(path) == written


def test_a_number_that_was_changed_by_hand_is_noticed(tmp_path: Path):
    path = write_entry(tmp_path, entry("mine"))
    text = path.read_text()
    path.write_text(text.replace('"epochs": ', '"epochs": 1', 1))
    with pytest.raises(CheckpointError, match="checksum"):
        read_entry(path)
    path.write_text(text)
    assert read_entry(path) == entry("mine")
