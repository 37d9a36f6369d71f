"""The ledger keeps whole entries of known shape, its commands repeat them, and the README says what it says."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stawm.cli.overrides import override
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.presets import PRESETS, preset
from stawm.ledger.entries import (
    LEDGER,
    PAPER,
    WORDS,
    Change,
    Control,
    Measurement,
    changes,
    command,
    read_entry,
    read_ledger,
    without_places,
    write_entry,
)
from stawm.ledger.results import block, standing
from test_promises import COMMANDS
from tiny_entry import entry

ROOT = Path(__file__).parent.parent
WRITTEN = sorted((ROOT / LEDGER).rglob("*.json"))


def test_the_readme_says_what_the_ledger_says_and_nothing_else():
    entries = read_ledger(ROOT / LEDGER)
    assert standing(ROOT / "README.md", "result") == block("result", entries, ROOT / LEDGER, ROOT), (
        "run `stawm table --into README.md`"
    )


def test_the_page_of_trials_says_what_the_ledger_says():
    entries, docs = read_ledger(ROOT / LEDGER), ROOT / "docs"
    assert standing(docs / "trials.md", "trial") == block("trial", entries, ROOT / LEDGER, docs), (
        "run `stawm table --kind trial --into docs/trials.md`"
    )


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_entries_that_are_kept_are_whole_and_can_be_repeated(path: Path):
    kept = read_entry(path)
    assert kept.preset in PRESETS
    assert kept.measured.split == ("test" if kept.kind == "result" else "validation")
    assert kept.chosen_by
    assert len(kept.weights) == len(kept.data.train) == len(kept.data.test) == 64
    assert 0 < kept.epochs <= kept.experiment.training.epochs
    assert kept.seconds > 0
    assert replace(repeated(command(kept.experiment)), name=kept.preset) == replace(kept.experiment, **WORDS)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mnist-classify-8-fast", "mnist-classify-8-fast-seed0"),
        ("mnist-draw-6-fast", "mnist-draw-6-6-seed0"),
        ("mnist-sketchpad-fast", "mnist-sketchpad-seed0"),
        ("cifar10-draw-16-fast", "cifar10-draw-16-4-seed0"),
        ("cifar10-vae-fast", "cifar10-vae-4-seed0"),
    ],
)
def test_a_fast_preset_is_the_recipe_that_was_measured(name: str, found: str):
    """So that its command repeats the number, which is the one that it says to reach."""
    kept = read_entry(ROOT / LEDGER / f"{found}.json")
    assert changes(kept.experiment, name).keys() <= {"training.checkpoint_every"}
    assert command(kept.experiment).startswith(f"stawm train {name} --seed 0")
    told = re.match(r"[\d.]+", preset(name).reach)
    assert told
    scores, decimals = kept.measured.scores, len(told[0].partition(".")[2])
    reached = 100 * scores["error"] if "error" in scores else scores["mse"]
    assert round(reached, decimals) == float(told[0])


def test_an_experiment_of_a_preset_that_is_gone_has_no_command():
    with pytest.raises(UsageError, match="no preset 'gone'"):
        command(replace(preset("mnist-draw-6"), name="gone"))


def test_every_result_of_a_preset_in_the_paper_has_the_papers_numbers_beside_it():
    for name, experiment in PRESETS.items():
        assert (name in PAPER) != ("not in the paper" in experiment.paper), name
    for name, published in PAPER.items():
        if published.score and name != "cifar10-classify-mobilenet":  # told as accuracy there
            reach = preset(name).reach
            number = re.search(r"paper's.*: ([\d.]+)", reach) or re.match(r"([\d.]+)", reach)
            assert number, name
            told = float(number[1])
            assert told == pytest.approx(published.value * (100 if published.score == "error" else 1)), name


def repeated(line: str) -> Any:
    verb, name, *arguments = shlex.split(line)[1:]
    assert verb == "train"
    return replace(override(preset(name), arguments), **WORDS)


def test_commands_of_the_readme_that_name_the_run_of_an_entry_repeat_it():
    named = [re.fullmatch(r"(stawm train .*) --run runs/(\S+) (.*)", line) for line in COMMANDS]
    chain = [found for found in named if found and (ROOT / LEDGER / f"{found[2]}.json").exists()]
    assert len(chain) == 2
    for found in chain:
        kept = read_entry(ROOT / LEDGER / f"{found[2]}.json")
        assert repeated(f"{found[1]} {found[3]}") == replace(kept.experiment, **WORDS)


def test_the_command_gives_the_same_settings_back():
    base = preset("mnist-classify-8")
    changed = replace(
        base,
        seed=3,
        model=replace(base.model, hidden=64, glimpse=replace(base.model.glimpse, filters=(8, 9))),
        data=replace(base.data, flip=True, name="folder:my pictures"),
        training=replace(base.training, epochs=20, milestones=(), average=0.999, start_from="runs/a b"),
    )
    line = command(changed)
    assert line.startswith("stawm train mnist-classify-8 --seed 3 --model.hidden 64 ")
    assert "--training.milestones --training.average 0.999" in line
    assert repeated(line) == replace(changed, **WORDS)
    assert command(base) == "stawm train mnist-classify-8 --seed 0"


def test_folders_of_one_machine_are_not_told():
    base = preset("mnist-self-supervised")
    place = "/home/me/here/drawing-seed0"
    started = override(base, ["--training.start-from", place])
    shown = without_places(started)
    assert shown.training.start_from == "runs/drawing-seed0"
    assert place in repr(started)
    assert "/home/me" not in repr(shown)
    assert without_places(shown) == shown
    assert without_places(base) == base


def test_overrides_are_what_differs_from_the_preset():
    base = preset("mnist-classify-8")
    changed = replace(base, seed=1, about="other words", training=replace(base.training, epochs=20))
    assert changes(changed) == {"training.epochs": Change(preset=200, run=20)}
    assert changes(base) == {}


def test_an_entry_comes_back_as_it_was(tmp_path: Path):
    written = entry(
        "all-of-it",
        preset_name="mnist-sketchpad",
        seed=2,
        scores={"error": 0.01, "mse": 0.02},
        training={"milestones": (3, 4), "epochs": 12},
        controls=(Control("another's", "mean", (0.9, 0.8), 0.95),),
        validation=Measurement("validation", 5000, {"error": 0.02}, (0.3, 0.02)),
        note="ü",
    )
    path = write_entry(tmp_path, written)
    assert path == tmp_path / "all-of-it.json"
    back = read_entry(path)
    assert back.to_dict() == written.to_dict()
    assert back.experiment == written.experiment
    assert back.overrides["training.epochs"] == Change(preset=20, run=12)
    assert write_entry(tmp_path, entry("tried", "trial")) == tmp_path / "trials" / "tried.json"


def test_entries_are_read_in_order_and_never_written_over(tmp_path: Path):
    names = [("b", "result", "mnist-sketchpad", 0), ("a", "trial", "mnist-classify-8", 0)]
    names += [("c", "result", "mnist-classify-8", 1), ("d", "result", "mnist-classify-8", 0)]
    for name, kind, preset_name, seed in names:
        write_entry(tmp_path, entry(name, "trial" if kind == "trial" else "result", preset_name, seed=seed))
    assert [found.name for found in read_ledger(tmp_path)] == ["d", "c", "b", "a"]
    before = (tmp_path / "b.json").read_text()
    with pytest.raises(UsageError, match=r"b.json is recorded already"):
        write_entry(tmp_path, entry("b", preset_name="mnist-draw-6"))
    assert (tmp_path / "b.json").read_text() == before
    assert read_ledger(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda values: values.pop("seed"), "seed"),
        (lambda values: values.update(seed="zero"), "seed"),
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
    path.write_text(json.dumps(values))
    with pytest.raises(CheckpointError, match=why) as error:
        read_ledger(tmp_path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_json(tmp_path: Path):
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"broken.json is not an entry of the ledger .*; record its run again"):
        read_ledger(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"there is no entry .*none.json in the ledger; `stawm record RUN` makes"):
        read_entry(tmp_path / "none.json")
