"""The ledger as tables (seeds in one row, the best recipe of each experiment), and the pages that are made of it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from stawm.cli import main
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.describe import describe
from stawm.ledger.entries import Control, Entry, Measurement, write_entry
from stawm.ledger.results import EMPTY, controls, pages, result_rows, results, summary, trials, write_pages
from stawm.measure.question_controls import QuestionControl
from tiny_entry import entry

ROOT = Path(__file__).parent.parent
LEDGER = Path("results")
described = cache(describe)


def test_seeds_share_a_row_with_the_papers_number_and_the_cut_of_the_epochs():
    short = {"epochs": 20, "schedule": "one-cycle"}
    entries = [entry(f"s{seed}", seed=seed, scores={"error": 0.004 + 0.001 * seed}, training=short) for seed in (1, 0)]
    lines = results(entries, LEDGER).splitlines()
    assert lines[0] == "| run | paper | ours | pictures | seeds | epochs, of the paper's | time |"
    assert lines[2] == (
        "| `mnist-classify-8` (1) | error 0.41 % ± 0.03 | error 0.45 % ± 0.07 | 10,000 test, mnist | "
        "[0](results/s0.json), [1](results/s1.json) | 20 of 200 | 2.0 h |"
    )
    assert lines[4].startswith("± ")
    command = "stawm train mnist-classify-8 --seed 0 --run runs/s0 --training.epochs 20 --training.schedule one-cycle"
    assert lines[6].startswith(f"1. `{command}` ")
    assert all(part in lines[6] for part in ("the paper", "A CPU, 2 cores, 2 threads", "torch 2.13.0"))
    assert len(lines) == 7


def test_a_note_tells_each_machine_and_code_that_was_not_committed():
    one, two, three = (entry(f"s{seed}", seed=seed) for seed in range(3))
    half = replace(one.machine, precision="bf16-mixed")
    rows = [one, replace(two, machine=half), replace(three, machine=half, commits=("a" * 40, "b" * 40 + "-dirty"))]
    note = results(rows, LEDGER).splitlines()[6]
    assert "Its code was bbbbbbb with changes that were not committed." in note
    assert "Seed 0 on A CPU, 2 cores, 2 threads, torch 2.13.0. Seeds 1, 2 on A CPU, " in note
    assert "bf16-mixed." in note
    assert "commit" not in results([one], LEDGER)


def test_other_settings_other_pictures_and_other_epochs_are_other_rows():
    one = entry("one")
    others = [
        entry("two", training={"epochs": 100}),
        entry("three", epochs=150),
        replace(entry("four"), data=replace(one.data, test="another")),
        entry("five", preset_name="mnist-sketchpad"),
        entry("six", seed=1),
    ]
    rows = result_rows([one, *others])
    assert [[found.name for found in row.entries] for row in rows] == [
        ["one", "six"],
        ["two"],
        ["three"],
        ["four"],
        ["five"],
    ]


def onward(name: str, seed: int, source: str, **more: object) -> Entry:
    return entry(name, seed=seed, training={"epochs": 6}, source=source, **more)  # pyright: ignore[reportArgumentType]


def test_runs_that_went_on_from_runs_of_one_recipe_share_a_row_that_counts_all_stretches():
    first = [entry(f"first{seed}", seed=seed, training={"epochs": 12}) for seed in (0, 1, 2)]
    first.append(entry("longer", seed=3, training={"epochs": 20}))
    then = [onward(f"then{seed}", seed, f"first{seed}") for seed in (0, 1)]
    others = [onward("other", 3, "longer"), onward("last", 0, "then0")]
    rows = result_rows([*first, *then, *others])
    assert [([found.name for found in row.entries], row.epochs) for row in rows] == [
        (["first0", "first1", "first2"], (12,)),
        (["longer"], (20,)),
        (["then0", "then1"], (12, 6)),
        (["other"], (20, 6)),
        (["last"], (12, 6, 6)),
    ]
    told = results([*first, *then], LEDGER)
    assert "| 12 + 6 of 200 |" in told
    assert "--training.start-from runs/first0`" in told


def test_a_classifier_on_a_frozen_model_counts_its_own_epochs_only():
    drawing = entry("drawing", preset_name="mnist-draw-6", scores={"mse": 0.01}, training={"epochs": 6})
    frozen = entry("frozen", preset_name="mnist-self-supervised", training={"epochs": 9}, source="drawing")
    assert [row.epochs for row in result_rows([drawing, frozen])] == [(6,), (9,)]


def test_a_source_that_is_not_there_or_runs_in_a_circle_is_named():
    with pytest.raises(CheckpointError, match="gone"):
        result_rows([onward("lost", 0, "gone")])
    with pytest.raises(CheckpointError, match="circle"):
        result_rows([onward("circle", 0, "other"), onward("other", 0, "circle")])


def test_the_summary_has_the_best_recipe_by_validation_of_each_experiment_of_the_paper():
    def held(error: float) -> Measurement:
        return Measurement("validation", 5000, {"error": error})

    entries = [
        entry("plain", scores={"error": 0.001}),
        entry("good", preset_name="mnist-classify-8-fast", scores={"error": 0.006}, validation=held(0.005)),
        entry("poor", training={"epochs": 3}, scores={"error": 0.004}, validation=held(0.007)),
        entry("small", preset_name="mnist-5k-classify"),
        entry("pad", preset_name="mnist-sketchpad", scores={"mse": 0.02, "error": 0.03}),
        entry("tried", "trial", preset_name="cifar10-vae"),
        entry("of another paper", preset_name="ram-cluttered-60"),
    ]
    assert summary(entries).splitlines()[2:-2] == [
        "| `mnist-classify-8` | Table 1 (a) | error 0.41 % ± 0.03 | error 0.60 % | 1 | 12 of 200 |",
        "| `mnist-sketchpad` | Section 4.4, Figure 7 | error 1.00 % | error 3.00 % | 1 | 20 of 20 |",
    ]
    assert summary(entries[3:4]) == EMPTY


def test_of_recipes_those_of_three_seeds_come_first_and_of_equal_ones_the_longer():
    def held(*wrong: int) -> list[Measurement]:
        return [Measurement("validation", 1000, {"error": count / 1000}) for count in wrong]

    def seeds(name: str, epochs: int, *wrong: int) -> list[Entry]:
        return [
            entry(f"{name}-{seed}", seed=seed, epochs=epochs, training={"epochs": epochs}, validation=kept)
            for seed, kept in enumerate(held(*wrong))
        ]

    lucky, short, long = seeds("lucky", 20, 1), seeds("short", 10, 5, 3, 5), seeds("long", 40, 5, 4, 4)
    assert summary([*lucky, *short, *long]).splitlines()[2].endswith("| 3 | 40 of 200 |")
    assert summary([*lucky, *short]).splitlines()[2].endswith("| 3 | 10 of 200 |")
    assert summary([*lucky, *short[:2]]).splitlines()[2].endswith("| 1 | 20 of 200 |")


def test_notes_tell_validation_and_what_was_stopped():
    kept = Measurement("validation", 5000, {"error": 0.006}, (0.3, 0.006))
    line = results([entry("one", epochs=30, validation=kept, note="Killed by the night")], LEDGER).splitlines()[-1]
    assert "30 of 200 epochs" in line
    assert "5,000 validation pictures: error 0.60 %" in line
    assert line.endswith(" Killed by the night.")


def test_a_drawing_has_no_number_in_the_paper_and_a_sketchpad_two_scores_here():
    lines = results(
        [
            entry("draw", preset_name="mnist-draw-6", scores={"mse": 0.0123}),
            entry("pad", preset_name="mnist-5k-sketchpad", scores={"mse": 0.02, "error": 0.03}),
        ],
        LEDGER,
    ).splitlines()
    assert "| `mnist-draw-6` (1) | – | mse 0.0123 |" in lines[2]
    assert "| 100 of 100 |" in lines[2]
    assert "| `mnist-5k-sketchpad` (2) | – | error 3.00 %, mse 0.0200 |" in lines[3]
    assert "| 60 |" in lines[3]


def test_controls_have_a_table_of_their_own():
    own, other = Control("own", "own", (0.02, 0.01), 0.99), Control("another's", "mean", (0.91, 0.9), 0.985)
    lines = controls([entry("one", controls=(own, other))]).splitlines()
    assert lines[-2:] == [
        "| `mnist-classify-8` (1), seed 0 | own | own | 1.00 % | 99.00 % | 2.00, 1.00 |",
        "| `mnist-classify-8` (1), seed 0 | another's | mean | 90.00 % | 98.50 % | 91.00, 90.00 |",
    ]


def test_controls_of_questions_have_theirs():
    own = QuestionControl("identify", "identify_error", "own", "own", 0.05, None, 0.89)
    other = QuestionControl("identify", "identify_error", "another's", "own", 0.9, 0.95, 0.89)
    lines = controls([entry("one", question_controls=(own, other))]).splitlines()
    assert lines[-2:] == [
        "| `mnist-classify-8` (1), seed 0 | identify_error | own | own | 5.00 % | – | 89.00 % |",
        "| `mnist-classify-8` (1), seed 0 | identify_error | another's | own | 90.00 % | 95.00 % | 89.00 % |",
    ]
    assert len(lines) == 4


def test_trials_say_what_was_changed_and_results_do_not_show_them():
    tried = entry("warm", "trial", training={"warmup": 0.1}, epochs=7, note="a | b")
    assert results([tried], LEDGER) == EMPTY
    assert trials([entry("one")]) == EMPTY
    assert trials([tried, entry("one")]).splitlines()[2] == (
        "| warm: `mnist-classify-8`, seed 0 | training.warmup 0.1 (preset: 0) | error 1.00 % | 7 of 200 | 2.0 h "
        "| a \\| b |"
    )


def test_each_page_says_what_presets_and_ledger_say():
    made = pages(ROOT / "docs", ROOT / LEDGER)
    assert {path.name for path in made} == {"README.md", "presets.md", "results.md", "trials.md", "compare.md"}
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `stawm table --docs docs`"


@pytest.mark.parametrize("name", ["presets", "results", "trials", "compare"])
def test_links_of_a_page_lead_somewhere(name: str):
    targets = re.findall(r"\]\((?!http|#)(.*?)\)", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
    assert all((ROOT / "docs" / target).exists() for target in targets)
    recorded = any((ROOT / LEDGER / "compare").glob("*.json"))
    assert targets or name == "presets" or (name == "compare" and not recorded)


@pytest.fixture(autouse=True, scope="module")
def described_once() -> Iterator[None]:
    """The page of the presets says the same each time; to make it, all models are built and counted."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("stawm.ledger.results.describe", described)
        yield


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_entry(tmp_path / "results", entry("one"))
    write_entry(tmp_path / "results", entry("tried", "trial"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Title\n\n<!-- results -->old<!-- /results -->\n\nThe end.\n")
    (tmp_path / "docs" / "results.md").write_text(
        "<!-- results -->\n<!-- /results -->\n\nBetween.\n\n<!-- controls -->\n<!-- /controls -->\n"
    )
    (tmp_path / "docs" / "trials.md").write_text("<!-- trials -->\n<!-- /trials -->\n")
    (tmp_path / "docs" / "compare.md").write_text("<!-- compare -->\n<!-- /compare -->\n")
    return tmp_path


def test_the_verb_writes_all_pages_and_again_changes_nothing(clone: Path, capsys: pytest.CaptureFixture[str]):
    for _ in range(2):
        assert main(["table", "--docs", "docs"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 5
        text = (clone / "README.md").read_text()
        assert text.startswith("# Title\n\n<!-- results -->\n\n| experiment |")
        assert text.endswith("\n\n<!-- /results -->\n\nThe end.\n")
        assert "| `mnist-classify-8` |" in text
        assert "old" not in text
    assert (clone / "docs" / "presets.md").read_text() == described()
    assert "[0](../results/one.json)" in (clone / "docs" / "results.md").read_text()
    assert (clone / "docs" / "../results/one.json").is_file()
    assert "\n\nBetween.\n\n" in (clone / "docs" / "results.md").read_text()
    assert "| tried: `mnist-classify-8`" in (clone / "docs" / "trials.md").read_text()


@pytest.mark.parametrize(("at", "docs"), [("docs", "."), ("docs/deep", "..")])
def test_the_readme_lies_beside_the_folder_of_the_docs_however_that_is_named(
    clone: Path, monkeypatch: pytest.MonkeyPatch, at: str, docs: str
):
    (clone / at).mkdir(exist_ok=True)
    monkeypatch.chdir(clone / at)
    write_pages(Path(docs), clone / "results")
    assert "| `mnist-classify-8` |" in (clone / "README.md").read_text()
    assert "[0](../results/one.json)" in (clone / "docs" / "results.md").read_text()


def test_the_verb_prints_the_ledger(clone: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["table"]) == 0
    assert capsys.readouterr().out.startswith("| run | paper | ours |")
    assert main(["table", "--kind", "trial"]) == 0
    assert capsys.readouterr().out.startswith("| trial |")


@pytest.mark.parametrize(
    "text", ["", "<!-- results -->", "<!-- /results --><!-- results -->", 2 * "<!-- results --><!-- /results -->"]
)
def test_a_text_without_its_marks_is_refused_and_all_are_left_alone(clone: Path, text: str):
    (clone / "README.md").write_text(text)
    with pytest.raises(UsageError, match="<!-- results -->"):
        write_pages(Path("docs"), Path("results"))
    assert (clone / "README.md").read_text() == text
    assert not (clone / "docs" / "presets.md").exists()
    (clone / "README.md").unlink()
    with pytest.raises(UsageError, match="read"):
        write_pages(Path("docs"), Path("results"))


def test_what_belongs_to_runs_and_what_to_the_ledger(clone: Path, capsys: pytest.CaptureFixture[str]):
    for arguments in (["run", "--docs", "docs"], ["run", "--kind", "trial"], ["--format", "json"]):
        assert main(["table", *arguments]) == UsageError.exit_code
    assert main(["table", "--ledger", "nowhere"]) == UsageError.exit_code
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert "nowhere" in told[-1]
