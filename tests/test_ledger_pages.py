"""The pages that are made of presets and ledger say what these say, and are written between the marks."""

import re
from pathlib import Path

import pytest

from stawm.cli import main
from stawm.errors import UsageError
from stawm.experiments.describe import describe
from stawm.ledger.entries import LEDGER, write_entry
from stawm.ledger.results import pages, write_pages
from tiny_entry import entry

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["README.md", "docs/presets.md", "docs/results.md", "docs/trials.md"])
def test_a_page_says_what_presets_and_ledger_say(name: str):
    made = {path.relative_to(ROOT).as_posix(): text for path, text in pages(ROOT / "docs", ROOT / LEDGER).items()}
    assert (ROOT / name).read_text(encoding="utf-8") == made[name], "run `stawm table --docs docs`"


@pytest.mark.parametrize("name", ["presets", "results", "trials"])
def test_links_of_a_page_lead_somewhere(name: str):
    targets = re.findall(r"\]\((?!http|#)(.*?)\)", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
    assert all((ROOT / "docs" / target).exists() for target in targets)
    assert targets or name == "presets"


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
    return tmp_path


def test_the_verb_writes_all_pages_and_again_changes_nothing(clone: Path, capsys: pytest.CaptureFixture[str]):
    for _ in range(2):
        assert main(["table", "--docs", "docs"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 4
        text = (clone / "README.md").read_text()
        assert text.startswith("# Title\n\n<!-- results -->\n\n| experiment |")
        assert text.endswith("\n\n<!-- /results -->\n\nThe end.\n")
        assert "| `mnist-classify-8` |" in text
        assert "old" not in text
    assert (clone / "docs" / "presets.md").read_text() == describe()
    assert "[0](../results/one.json)" in (clone / "docs" / "results.md").read_text()
    assert (clone / "docs" / "../results/one.json").is_file()
    assert "\n\nBetween.\n\n" in (clone / "docs" / "results.md").read_text()
    assert "| tried: `mnist-classify-8`" in (clone / "docs" / "trials.md").read_text()


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
