"""The ledger as tables: seeds in one row, the paper's number beside ours, put between the marks of a text."""

from dataclasses import replace
from pathlib import Path

import pytest

from stawm.cli import main
from stawm.errors import UsageError
from stawm.ledger.entries import Control, Measurement, write_entry
from stawm.ledger.results import EMPTY, put_into, result_rows, results, standing, trials
from tiny_entry import entry

LEDGER = Path("results")


def test_seeds_share_a_row_with_the_papers_number_and_the_cut_of_the_epochs():
    short = {"epochs": 20, "schedule": "one-cycle"}
    entries = [entry(f"s{seed}", seed=seed, scores={"error": 0.004 + 0.001 * seed}, training=short) for seed in (1, 0)]
    lines = results(entries, LEDGER).splitlines()
    assert lines[0] == "| run | paper | ours | pictures | seeds | epochs, of the paper's | time |"
    assert lines[2] == (
        "| `mnist-classify-8` (1) | 0.41 % ± 0.03 error | 0.45 % ± 0.07 error | 10,000 test, mnist | "
        "[0](results/s0.json), [1](results/s1.json) | 20 of 200 | 2.0 h |"
    )
    assert lines[4] == "± is the standard deviation over seeds (the paper's: over its trials)."
    assert lines[6] == (
        "1. `stawm train mnist-classify-8 --seed 0 --training.epochs 20 --training.schedule one-cycle` "
        "Recipe chosen by: the paper. On A CPU, 2 cores, 2 threads, torch 2.13.0."
    )
    assert len(lines) == 7


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


def test_runs_that_went_on_from_their_own_seeds_share_a_row_that_counts_both_stretches():
    def onward(name: str, seed: int, source: str, before: int = 12):
        return replace(entry(name, seed=seed, training={"epochs": 6, "start_from": source}), epochs_before=before)

    entries = [onward(f"s{seed}", seed, f"runs/first-seed{seed}") for seed in (0, 1)]
    others = [onward("other", 2, "runs/other-seed2"), onward("longer", 3, "runs/first-seed3", before=20)]
    rows = result_rows([*entries, *others])
    assert [[found.name for found in row.entries] for row in rows] == [["s0", "s1"], ["other"], ["longer"]]
    lines = results(entries, LEDGER).splitlines()
    assert "| 12 + 6 of 200 |" in lines[2]
    assert "--training.start-from runs/first-seed0`" in lines[6]


def test_notes_tell_validation_and_what_was_stopped():
    kept = Measurement("validation", 5000, {"error": 0.006}, (0.3, 0.006))
    line = results([entry("one", epochs=30, validation=kept, note="Killed by the night")], LEDGER).splitlines()[-1]
    assert "Stopped after 30 of the 200 epochs asked for." in line
    assert "Recipe chosen by: the paper. On 5,000 validation pictures: 0.60 % error." in line
    assert line.endswith(" Killed by the night.")


def test_a_drawing_has_no_number_in_the_paper_and_a_sketchpad_two_scores_here():
    lines = results(
        [
            entry("draw", preset_name="mnist-draw-6", scores={"mse": 0.0123}),
            entry("pad", preset_name="mnist-5k-sketchpad", scores={"mse": 0.02, "error": 0.03}),
        ],
        LEDGER,
    ).splitlines()
    assert "| `mnist-draw-6` (1) | – | 0.0123 mse |" in lines[2]
    assert "| 100 of 100 |" in lines[2]
    assert "| `mnist-5k-sketchpad` (2) | – | 3.00 % error, 0.0200 mse |" in lines[3]
    assert "| 40 |" in lines[3]


def test_controls_have_a_table_of_their_own():
    own, other = Control("own", "own", (0.02, 0.01), 0.99), Control("another's", "mean", (0.91, 0.9), 0.985)
    lines = results([entry("one", controls=(own, other))], LEDGER).splitlines()
    assert lines[-2:] == [
        "| `mnist-classify-8` (1), seed 0 | own | own | 1.00 % | 99.00 % | 2.00, 1.00 |",
        "| `mnist-classify-8` (1), seed 0 | another's | mean | 90.00 % | 98.50 % | 91.00, 90.00 |",
    ]


def test_trials_say_what_was_changed_and_results_do_not_show_them():
    tried = entry("warm", "trial", training={"warmup": 0.1}, epochs=7, note="a | b")
    assert results([tried], LEDGER) == EMPTY
    assert trials([entry("one")]) == EMPTY
    assert trials([tried, entry("one")]).splitlines()[2] == (
        "| warm: `mnist-classify-8`, seed 0 | training.warmup 0.1 (not 0.0) | 1.00 % error | 7 of 200 | 2.0 h "
        "| a \\| b |"
    )


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_entry(tmp_path / "results", entry("one"))
    write_entry(tmp_path / "results", entry("tried", "trial"))
    (tmp_path / "README.md").write_text("# Title\n\n<!-- results -->old<!-- /results -->\n\nThe end.\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(
        "<!-- trials -->\n<!-- /trials -->\n<!-- results -->\n<!-- /results -->\n"
    )
    return tmp_path


def test_the_verb_puts_the_table_between_the_marks_and_again_changes_nothing(clone: Path):
    for _ in range(2):
        assert main(["table", "--into", "README.md"]) == 0
        text = (clone / "README.md").read_text()
        assert text.startswith("# Title\n\n<!-- results -->\n\n| run | paper |")
        assert text.endswith("torch 2.13.0.\n\n<!-- /results -->\n\nThe end.\n")
        assert "[0](results/one.json)" in text
        assert standing(clone / "README.md", "result") in text


def test_links_lead_from_the_text_to_the_ledger(clone: Path):
    assert main(["table", "--into", "docs/page.md"]) == 0
    assert main(["table", "--into", "docs/page.md", "--kind", "trial"]) == 0
    text = (clone / "docs" / "page.md").read_text()
    assert "[0](../results/one.json)" in text
    assert (clone / "docs" / "../results/one.json").is_file()
    assert "| tried: `mnist-classify-8`" in standing(clone / "docs" / "page.md", "trial")


def test_the_verb_prints_the_ledger(clone: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["table"]) == 0
    assert capsys.readouterr().out.startswith("| run | paper | ours |")
    assert main(["table", "--kind", "trial"]) == 0
    assert capsys.readouterr().out.startswith("| trial | set otherwise than the preset now |")


@pytest.mark.parametrize(
    "text", ["", "<!-- results -->", "<!-- /results --><!-- results -->", 2 * "<!-- results --><!-- /results -->"]
)
def test_a_text_without_its_marks_is_refused_and_left_alone(tmp_path: Path, text: str):
    path = tmp_path / "README.md"
    path.write_text(text)
    with pytest.raises(UsageError, match="must have one <!-- results --> and, after it, one <!-- /results -->"):
        put_into(path, "result", [], LEDGER)
    assert path.read_text() == text
    with pytest.raises(UsageError, match="cannot be read"):
        standing(tmp_path / "nowhere.md", "result")


def test_what_belongs_to_runs_and_what_to_the_ledger(clone: Path, capsys: pytest.CaptureFixture[str]):
    for arguments in (["run", "--into", "README.md"], ["run", "--kind", "trial"], ["--format", "json"]):
        assert main(["table", *arguments]) == UsageError.exit_code
    assert main(["table", "--ledger", "nowhere"]) == UsageError.exit_code
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert "there is no ledger in nowhere" in told[-1]
