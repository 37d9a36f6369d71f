"""CONTRIBUTING's lines run as printed, from a script outside the package, through every verb; and load again."""

import json
import re
from pathlib import Path

import pytest

from fresh_process import script, start

GUIDE = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
*DOORS, USED = BLOCKS

VERBS = """
import json, sys
from stawm.cli import main

def verb(*words):
    assert main(list(words)) == 0, words

verb("evaluate", "runs/squares", "--json", "--device", "cpu")
verb("figure", "brightness", "runs/squares", "--out", "bright.png")
verb("figure", "looked", "runs/squares", "--out", "looked.png")
stawm.look(squares.test.images[0], model="runs/squares").image.png.image().save("square.png")
verb("look", "square.png", "--weights", "runs/squares", "--json", "--memory", "--device", "cpu")
verb("data", "list", "--json")
verb("ship", "runs/squares", "squares", "--home", "shipped")
verb("train", "squares-classify", "--run", "runs/again", "--training.epochs", "1", "--device", "cpu", "--json")
verb("train", "squares-linear", "--run", "runs/linear", "--training.epochs", "1", "--device", "cpu", "--json")
verb("evaluate", "runs/linear", "--json", "--device", "cpu")
verb("train", "mnist-5k-classify", "--model.memory.rule", "mean", "--model.memory.size", "12", "--data.name", "squares",
     "--model.heads.classify.classes", "2", "--model.heads.brightness.weight", "0.5", "--model.glimpses", "2",
     "--training.epochs", "1", "--run", "runs/flags", "--device", "cpu", "--json")
"""


def run(path: Path) -> tuple[int | None, str, str]:
    """The exit code of a script in a process of its own, in its folder, and what it said on either stream."""
    home = path.parent
    done = start(script, path, home=home, env={"STAWM_CACHE": str(home / "cache")})
    return done.end(), done.out.read_text(encoding="utf-8"), done.err.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a script of a user's has added all seven things, trained with them and asked every verb."""
    home = tmp_path_factory.mktemp("outside")
    (home / "mine.py").write_text("\n".join([*DOORS, USED, VERBS]), encoding="utf-8")
    code, said, complaints = run(home / "mine.py")
    assert code == 0, complaints[-2000:]
    (home / "said").write_text(said, encoding="utf-8")
    return home


def test_there_are_seven_doors():
    titles = re.findall(r"^### (.*)$", GUIDE, re.MULTILINE)
    assert len(titles) == len(BLOCKS) == 8
    assert titles[-1] == "Use them"


def test_a_script_trains_evaluates_draws_and_looks_with_its_own_parts(outside: Path):
    said = (outside / "said").read_text(encoding="utf-8")
    values = [json.loads(line) for line in said.splitlines() if line.startswith("{") and '"' in line]
    evaluated = next(value for value in values if value.get("experiment") == "squares-classify")
    assert set(evaluated["scores"]) == {"error", "brightness_error"}
    looked = next(value for value in values if "glimpses" in value)
    assert looked["prediction"] in ("small", "large")
    assert looked["answers"]["brightness"]["words"] in ("bright", "dark")
    assert looked["memory"] is None, "a mean cannot tell what it is made of"
    assert "squares" in said
    for name in ("bright.png", "looked.png", "runs/again/weights/config.json", "runs/flags/weights/config.json"):
        assert (outside / name).is_file()
    card = (outside / "shipped" / "squares" / "CARD.md").read_text(encoding="utf-8")
    assert "as shipped (float16)" in card
    assert "paper" not in card, "neither its numbers nor departures from it"
    kept = json.loads((outside / "runs/flags/weights/config.json").read_text(encoding="utf-8"))["experiment"]["model"]
    assert kept["memory"] == {"rule": "mean", "size": 12}
    assert set(kept["heads"]) == {"classify", "brightness"}
    assert kept["heads"]["brightness"] == {"weight": 0.5}


def test_weights_load_again_where_the_parts_are_known_and_are_refused_in_one_line_elsewhere(outside: Path):
    again = outside / "again.py"
    again.write_text("\n".join([*DOORS, 'print(type(stawm.load("runs/squares").memory).__name__)']), encoding="utf-8")
    assert run(again)[1].strip() == "Mean"
    elsewhere = outside / "elsewhere.py"
    elsewhere.write_text('import sys; from stawm.cli import main; sys.exit(main(["evaluate", "runs/squares"]))')
    code, _, refused = run(elsewhere)
    assert code in (2, 4)
    assert "brightness" in refused
    assert len(refused.strip().splitlines()) == 1


POINTS = {
    "stawm.memories": ("mean", "Mean"),
    "stawm.heads": ("brightness", "Brightness"),
    "stawm.data": ("squares", "SQUARES_DATA"),
    "stawm.presets": ("squares-classify", "SQUARES"),
    "stawm.figures": ("brightness", "BrightnessFigure"),
    "stawm.views": ("brightness", "in_words"),
}


def test_a_package_of_ones_own_is_found_by_its_entry_points(tmp_path: Path, outside: Path):
    """The same lines in an installed package: the command line knows all its parts, and no script is run."""
    (tmp_path / "mine.py").write_text("\n".join(DOORS), encoding="utf-8")
    facts = tmp_path / "mine-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", encoding="utf-8")
    points = "".join(f"[{group}]\n{name} = mine:{thing}\n" for group, (name, thing) in POINTS.items())
    (facts / "entry_points.txt").write_text(points, encoding="utf-8")
    verbs = (
        ["train", "squares-classify", "--run", str(tmp_path / "run"), "--training.epochs", "1", "--json"],
        ["evaluate", str(tmp_path / "run"), "--json"],
        ["figure", "brightness", str(tmp_path / "run"), "--out", str(tmp_path / "bright.png")],
        ["look", str(outside / "square.png"), "--weights", str(tmp_path / "run"), "--json"],
    )
    verbs_path = tmp_path / "verbs.py"
    verbs_path.write_text(
        "import os, sys\nsys.path.append(os.path.dirname(__file__))\nfrom stawm.cli import main\n"
        f"sys.exit(max(main(words) for words in {verbs!r}))\n",
        encoding="utf-8",
    )
    code, said, complaints = run(verbs_path)
    assert code == 0, complaints[-2000:]
    looked = json.loads(said.splitlines()[-1])
    assert looked["answers"]["brightness"]["words"] in ("bright", "dark")
    assert (tmp_path / "bright.png").is_file()
