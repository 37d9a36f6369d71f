import json
from pathlib import Path

import pytest
from PIL import Image

import tiny_scene
from stawm.cli import main
from stawm.data import load_data

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with weights, a scene, a digit and a blank sheet."""
    folder = tmp_path_factory.mktemp("ask")
    tiny_scene.weights(folder / "tiny")
    Image.fromarray(load_data("scenes:2x2+4:1-4").test.images[0, 0].numpy()).save(folder / "scene.png")
    Image.fromarray(load_data("mnist-5k").test.images[0, 0].numpy()).save(folder / "six.png")
    Image.new("L", (40, 40), 230).save(folder / "blank.png")
    return folder


@pytest.fixture(autouse=True)
def there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def ask(*words: str) -> int:
    return main(["ask", *words, "--model", "tiny"])


def test_all_is_told_of_a_scene_of_cells_and_of_nothing_given(capsys: Capture):
    for pictures, name in ((["scene.png"], "scene.png"), (["six.png", "-", "six.png"], "scene"), ([], "scene")):
        assert ask(*pictures) == 0
        head, *lines = capsys.readouterr().out.splitlines()
        assert head.startswith(f"{name}, seen once in 3 glimpses by tiny")
        assert [line.split(":")[0] for line in lines] == ["cell 1", "cell 2", "cell 3", "cell 4", "asked by digit"]


def test_one_question_has_one_line_and_json_holds_the_same(capsys: Capture):
    assert ask("scene.png", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["seen"]["model"], len(told["recalled"]["classes"])) == ("tiny", 10)
    assert ask("scene.png", "--at", "2") == 0
    cell = told["recalled"]["cells"][1]
    assert capsys.readouterr().out.startswith(f"cell 2: {cell['prediction'] or 'nothing'} (")
    assert ask("scene.png", "--where", "7") == 0
    one = told["recalled"]["classes"][7]
    wanted = f"7: in cell {one['cell']} (" if one["remembered"] else "7: not remembered"
    assert capsys.readouterr().out.startswith(wanted)
    assert ask("scene.png", "--at", "2", "--where", "7", "--json") == 0
    both = json.loads(capsys.readouterr().out)["recalled"]
    assert (both["cells"], both["classes"], both["drawing"]) == ([cell], [one], None)


def test_nothing_drawn_has_no_answer(capsys: Capture):
    assert ask("blank.png") == 0
    assert "nothing to see" in capsys.readouterr().out
    assert ask("blank.png", "--json") == 0
    assert json.loads(capsys.readouterr().out)["recalled"] is None


def test_the_picture_shows_scene_and_redrawing(home: Path, capsys: Capture):
    assert ask("scene.png", "--out", "told.png") == 0
    with Image.open(home / "told.png") as made:
        assert made.width > 2 * 252


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["scene.png", "--at", "5"], 2, "there is no cell 5; tiny has 2 × 2"),
        (["scene.png", "--at", "0"], 2, "there is no cell 0"),
        (["scene.png", "--where", "x"], 2, "'x' is no class of tiny; it knows 0, 1"),
        (["scene.png", "--out", "told.gif"], 2, "ends in .png"),
        (["scene.png", "--out", "./scene.png"], 2, "would be written over"),
        ([""], 2, "an argument is empty"),
        (["nowhere.png"], 3, "there is no picture nowhere.png"),
        (["-"] * 5, 3, "5 pictures are given for 2 × 2 cells"),
    ],
)
def test_mistakes_are_one_line(words: list[str], code: int, told: str, capsys: Capture):
    assert ask(*words) == code
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert told in said.err


def test_a_model_that_cannot_be_asked_is_told(capsys: Capture):
    assert main(["ask", "six.png", "--weights", "mnist-5k-sketchpad"]) == 2
    assert "cannot be asked what was where" in capsys.readouterr().err


def test_look_takes_the_model_by_either_name_and_tells_what_it_remembers(capsys: Capture):
    assert main(["look", "scene.png", "--model", "tiny", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["answers"]) == ["identify", "locate"]
