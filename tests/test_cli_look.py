import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from stawm.cli import main
from stawm.data import load_data
from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig
from stawm.store.weights import export
from tiny_drawing import drawing_config, drawing_model

Capture = pytest.CaptureFixture[str]


def weights_of(folder: Path, classes: int = 4) -> Path:
    """The weights of an untrained sketchpad that takes colour pictures of 16 × 10 (width × height)."""
    config = drawing_config(image=ImageConfig(3, 10, 16), classes=classes)
    experiment = Experiment(name="tiny", model=config, data=DataConfig(name="folder:somewhere"))
    return export(drawing_model(config), experiment, folder)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(weights_of(tmp_path_factory.mktemp("weights") / "tiny"))


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


def picture(path: Path, level: int = 90) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (20, 20), (level, 255 - level, level // 2)).save(path)
    return path


def looks_in(report: Path) -> int:
    return report.read_text(encoding="utf-8").count('<script type="application/json" class="look"')


def test_looking_at_nothing_shows_embedded_digits(capsys: Capture, tmp_path: Path):
    assert main(["look", "--out", "demo/report.html"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    found = [line for line in lines if line[:1] == ["example"]]
    assert len(found) == 12
    # "example 4 (a 3)  3  100 %": at least ten of twelve are right.
    assert sum(line[3].rstrip(")") == line[4] for line in found) >= 10
    assert out.splitlines()[-1].endswith(str(Path("demo/report.html")))
    assert looks_in(tmp_path / "demo" / "report.html") == 12


def test_a_drawn_digit_is_recognised_and_said_to_be_inverted(capsys: Capture, tmp_path: Path):
    digits = load_data("mnist-5k").test
    assert digits.labels is not None
    for number in range(3):
        large = Image.fromarray(digits.images[number, 0].numpy()).resize((300, 300), Image.Resampling.BICUBIC)
        sheet = Image.new("L", (500, 400), 0)
        sheet.paste(large, (180, 40))
        sheet.point(lambda level: 255 - level).save(tmp_path / f"{number}.jpg", quality=90)
    assert main(["look", "--json", *(f"{number}.jpg" for number in range(3))]) == 0
    for line, label in zip(capsys.readouterr().out.splitlines(), digits.labels.tolist(), strict=False):
        found = json.loads(line)
        assert found["prediction"] == str(label)
        assert found["notes"][0] == "dark on light: inverted"
        assert found["inverted"]


def test_json_is_one_line_a_picture_and_nothing_else(weights: str, capsys: Capture, tmp_path: Path):
    for name in ("a.png", "deep/b.jpg", "deep/c.webp", "deep/er/d.bmp"):
        picture(tmp_path / "in" / name)
    (tmp_path / "in" / "notes.txt").write_text("no picture")
    assert main(["look", "in", "--weights", weights, "--json", "--memory", "--batch-size", "3"]) == 0
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert [one["name"] for one in found] == ["a.png", "deep/b.jpg", "deep/c.webp", "deep/er/d.bmp"]
    assert all((one["model"], len(one["glimpses"]), one["memory"]["size"]) == ("tiny", 3, 10) for one in found)
    assert captured.err == ""
    assert not Path("look.html").exists()


def test_the_table_says_what_was_believed_after_each_glimpse(weights: str, capsys: Capture, tmp_path: Path):
    picture(tmp_path / "x.png")
    assert main(["look", "x.png", "--weights", weights, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert main(["look", "x.png", "--weights", weights]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("x.png"))
    name, prediction, sure, _, first, *_ = row.split()
    assert (name, prediction, sure) == ("x.png", payload["prediction"], f"{100 * payload['confidence']:.0f}")
    belief = payload["glimpses"][0]["belief"]
    assert first == payload["classes"][belief.index(max(belief))]
    assert looks_in(Path("look.html")) == 1


def test_a_picture_that_cannot_be_read_is_named_and_the_others_are_done(weights: str, capsys: Capture, tmp_path: Path):
    picture(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"not a picture")
    arguments = ["look", "bad.png", "good.png", "missing.png", "--weights", weights, "--json"]
    assert main(arguments) == 3
    captured = capsys.readouterr()
    assert [json.loads(line)["name"] for line in captured.out.splitlines()] == ["good.png"]
    bad, missing = captured.err.splitlines()
    assert bad.startswith("stawm: bad.png ")
    assert "missing.png" in missing


@pytest.mark.parametrize("count", [1, 3])
def test_no_readable_picture_is_one_line(weights: str, capsys: Capture, tmp_path: Path, count: int):
    for number in range(count):
        (tmp_path / f"{number}.png").write_bytes(b"")
    assert main(["look", *(f"{number}.png" for number in range(count)), "--weights", weights]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert ("none of the 3" in captured.err) == (count == 3)
    assert not Path("look.html").exists()


def test_many_pictures_make_a_short_table_and_a_short_report(weights: str, capsys: Capture, tmp_path: Path):
    for number in range(45):
        picture(tmp_path / "in" / f"{number:02}.png", 5 * number)
    assert main(["look", "in", "--weights", weights, "--most", "7", "--batch-size", "10"]) == 0
    out = capsys.readouterr().out
    assert sum(line[2:6] == ".png" for line in out.splitlines()) == 20
    assert "25 more" in out
    counts = next(line for line in out.splitlines() if line.startswith("45 pictures")).split(": ", 1)[1]
    assert sum(int(part.split(": ")[1]) for part in counts.split(", ")) == 45
    assert "7 of 45" in out
    assert looks_in(Path("look.html")) == 7


def test_a_model_that_only_draws_has_no_answers(capsys: Capture, tmp_path: Path):
    drawer = weights_of(tmp_path / "drawer", classes=0)
    picture(tmp_path / "x.png")
    assert main(["look", "x.png", "--weights", str(drawer)]) == 0
    out = capsys.readouterr().out
    assert "after each glimpse" not in out
    assert out.splitlines()[1].strip() == "x.png"


def test_nothing_to_see_is_no_answer(capsys: Capture, tmp_path: Path):
    Image.new("L", (60, 40), 250).save(tmp_path / "blank.png")
    assert main(["look", "blank.png", "--weights", "mnist-5k-sketchpad", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["found"], found["prediction"], found["confidence"], found["given"]) == (0, None, None, None)
    assert {(one["belief"], one["canvas"]) for one in found["glimpses"]} == {(None, None)}
    assert main(["look", "blank.png", "--weights", "mnist-5k-sketchpad"]) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.startswith("blank.png") and row.endswith("nothing to see")
    assert "%" not in row


def test_names_are_printed_as_they_are(weights: str, capsys: Capture, tmp_path: Path):
    picture(tmp_path / "[red]odd.png")
    (tmp_path / "[bold]bad.png").write_bytes(b"")
    assert main(["look", "[red]odd.png", "[bold]bad.png", "--weights", weights]) == 3
    captured = capsys.readouterr()
    assert "[red]odd.png" in captured.out
    assert "[bold]bad.png" in captured.err


def test_the_same_file_is_looked_at_once(weights: str, capsys: Capture, tmp_path: Path):
    picture(tmp_path / "in" / "x.png")
    assert main(["look", "in", "in/x.png", "in", "--weights", weights, "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--most", "0"], 2, "--most"),
        (["--batch-size", "0"], 2, "--batch-size"),
        (["--weights", "no-such-weights"], 4, "no-such-weights"),
        (["empty"], 3, "folder empty"),
        (["--out", "file/report.html"], 6, "file/report.html"),
        (["in", "--out", "./in/x.png"], 2, "would be written over"),
        ([""], 2, "an argument is empty"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], code: int, told: str, capsys: Capture, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    picture(tmp_path / "in" / "x.png")
    assert main(["look", *arguments]) == code
    captured = capsys.readouterr()
    assert told in captured.err
    assert len(captured.err.splitlines()) == 1


def test_a_stopped_look_leaves_no_report(weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from stawm.look.looker import Looker

    for number in range(3):
        picture(tmp_path / "in" / f"{number}.png")
    looked = Looker.look
    calls = []

    def stopped(self: Looker, *given: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return looked(self, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Looker, "look", stopped)
    assert main(["look", "in", "--weights", weights, "--batch-size", "1"]) == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_line_on_a_sheet_is_a_one(capsys: Capture, tmp_path: Path):
    sheet = Image.new("RGB", (280, 280), "white")
    ImageDraw.Draw(sheet).line((140, 40, 135, 240), fill="black", width=18)
    sheet.save(tmp_path / "one.png")
    assert main(["look", "one.png", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prediction"] == "1"
