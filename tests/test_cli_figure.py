from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.cli import main
from stawm.data import load_data
from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig, ModelConfig
from stawm.model.heads.draw import DrawConfig
from stawm.show.grid import EDGE
from stawm.show.sheet import colour_of
from stawm.store.weights import export
from tiny_drawing import box_of, drawing_config, drawing_model, where
from tiny_model import small

DIGITS = ImageConfig(1, 28, 28)
DIGITS_DATA = DataConfig(name="mnist-5k")


def weights(folder: Path, config: ModelConfig, data: str = "mnist-5k") -> Path:
    model = drawing_model(config) if "draw" in config.heads else small(image=config.image, heads=config.heads).eval()
    return export(model, Experiment(name=folder.name, model=config, data=DataConfig(name=data)), folder)


@pytest.fixture(scope="module")
def sketchpad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return weights(tmp_path_factory.mktemp("runs") / "sketchpad", drawing_config(image=DIGITS, classes=10))


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Bernoulli model of colour pictures, 20 wide and 10 high, with a folder of those as its data: plain red."""
    home = tmp_path_factory.mktemp("faces")
    (home / "pictures").mkdir()
    for number in range(20):
        Image.new("RGB", (40, 20), (255, 0, number)).save(home / "pictures" / f"{number}.png")
    config = drawing_config("bernoulli", ImageConfig(3, 10, 20), classes=0)
    return weights(home / "weights", config, f"folder:{home / 'pictures'}")


def drawn(capsys: pytest.CaptureFixture[str], kind: str, *arguments: object) -> Image.Image:
    """The figure, read back from the file that the command names."""
    assert main(["figure", kind, *map(str, arguments)]) == 0
    with Image.open(capsys.readouterr().out.strip()) as opened:
        opened.load()
        return opened


@pytest.mark.parametrize("ending", ["gif", "webp"])
@pytest.mark.parametrize("kind", ["stages", "looked"])
def test_films_have_a_frame_for_each_glimpse(
    sketchpad: Path, tmp_path: Path, kind: str, ending: str, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / f"film.{ending}"
    assert main(["figure", kind, str(sketchpad), "--out", str(out), "--pictures", "2"]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    with Image.open(out) as film:
        assert (film.format, getattr(film, "n_frames", 1)) == (ending.upper(), 3)
        frames = []
        for place in range(3):
            film.seek(place)
            frames.append(np.asarray(film.convert("RGB")))
    last = Image.fromarray(frames[2])
    assert where(last, colour_of(2, 3), 40)[0].size
    assert not where(Image.fromarray(frames[0]), colour_of(2, 3), 20)[0].size


def test_stages_of_oblong_colour_pictures_lie_beside_the_run(faces: Path, capsys: pytest.CaptureFixture[str]):
    sheet = drawn(capsys, "stages", faces, "--pictures", 2)
    assert (faces / "stages.png").is_file()
    red = box_of(sheet, (255, 0, 10), 14)
    assert red.size[0] == EDGE, "the target, in the last column, is as wide"
    assert red.right > sheet.width - 2 * 10
    rows = np.unique(where(sheet, (255, 0, 10), 14)[0])
    assert np.flatnonzero(np.diff(rows) > 1).size + 1 == 2
    assert rows.size == EDGE, "two targets, half as high as wide"


def test_a_figure_of_weights_by_name_lies_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    drawn(capsys, "looked", "mnist-5k-sketchpad", "--pictures", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mnist-5k-sketchpad-looked.png"]


def test_reconstructions_of_two_runs_have_the_second_on_top(
    sketchpad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = replace(
        drawing_config(image=DIGITS, classes=0), heads={"draw": DrawConfig(latent=2, canvas="addition", start=50.0)}
    )
    bright = drawing_model(config)
    baseline = export(bright, Experiment(name="bright", model=config), tmp_path / "bright")
    sheet = drawn(capsys, "reconstructions", sketchpad, baseline, "--out", tmp_path / "both.png", "--pictures", 1)
    single = drawn(capsys, "reconstructions", sketchpad, "--out", tmp_path / "one.png", "--pictures", 1)
    left = sheet.width - EDGE - 10
    column = np.asarray(sheet)[:, left : left + EDGE].astype(int)
    assert column[10 : 10 + EDGE].min() > 250, "the baseline draws white"
    alone = np.asarray(single)[:, -EDGE - 10 : -10].astype(int)
    assert (column[EDGE + 20 :] == alone[10:]).all(), "below it stand ours and the target, as without it"


def test_the_baseline_is_drawn_but_looks_nowhere(sketchpad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = replace(drawing_config(image=DIGITS, classes=10), kind="vae")
    torch.manual_seed(0)
    baseline = export(build(config).eval(), Experiment(name="vae", model=config, data=DIGITS_DATA), tmp_path / "vae")
    sheet = drawn(capsys, "reconstructions", sketchpad, baseline, "--out", tmp_path / "both.png", "--pictures", 1)
    assert sheet.height == 3 * (EDGE + 10) + 10
    assert drawn(capsys, "misclassified", baseline, "--pictures", 2).height > 2 * EDGE
    for kind in ("looked", "stages", "masks", "traversal"):
        assert main(["figure", kind, str(baseline)]) == UsageError.exit_code
        assert "glimpses, and vae" in capsys.readouterr().err


def test_masks_need_a_bernoulli_canvas(sketchpad: Path, faces: Path, capsys: pytest.CaptureFixture[str]):
    sheet = drawn(capsys, "masks", faces, "--pictures", 1)
    assert box_of(sheet, (255, 0, 10), 14).size == (EDGE, EDGE // 2), "masks are soft: only the target is plain red"
    assert main(["figure", "masks", str(sketchpad)]) == UsageError.exit_code
    assert "bernoulli" in capsys.readouterr().err


def test_misclassified_digits_are_digits_that_were_misclassified(
    sketchpad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    from stawm import load

    sheet = drawn(capsys, "misclassified", sketchpad, "--out", tmp_path / "wrong.png", "--pictures", 4)
    digits = load_data("mnist-5k").test
    images = digits.images.float() / 255
    with torch.no_grad():
        answers = torch.cat(
            [load(sketchpad)(part).answers["classify"].logits[:, -1].argmax(-1) for part in images.split(250)]
        )
    wrong = {images[row, 0, ::4, ::4].numpy().tobytes() for row in (answers != digits.labels).nonzero().flatten()}
    levels = np.asarray(sheet)[..., 0]
    columns = [sheet.width - 10 - EDGE - place * (EDGE + 10) for place in range(4)]
    # The lower row of pictures ends above the last caption; every digit's pixel is a block of 3 × 3.
    bottom = sheet.height - 10 - 20
    for left in columns:
        block = levels[bottom - EDGE : bottom, left : left + EDGE][1::3, 1::3]
        assert (block[::4, ::4] / np.float32(255)).astype(np.float32).tobytes() in wrong


def test_misclassified_works_without_drawing_and_not_without_classes(
    faces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    both = drawing_config(image=DIGITS, classes=10)
    config = replace(both, heads={"classify": both.heads["classify"]})
    plain = weights(tmp_path / "plain", config)
    sheet = drawn(capsys, "misclassified", plain, "--pictures", 12)
    assert sheet.height < 3 * EDGE + 60, "twelve pictures in two rows"
    assert main(["figure", "misclassified", str(faces)]) == UsageError.exit_code
    assert "head classify" in capsys.readouterr().err
    for kind in ("stages", "reconstructions", "traversal"):
        assert main(["figure", kind, str(plain)]) == UsageError.exit_code
        assert "head draw" in capsys.readouterr().err


def test_traversal_of_a_glimpse(sketchpad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    sheet = drawn(capsys, "traversal", sketchpad, "--glimpse", 2, "--out", tmp_path / "walk.png")
    assert where(sheet, colour_of(1, 3), 30)[0].size
    assert not where(sheet, colour_of(0, 3), 20)[0].size
    assert main(["figure", "traversal", str(sketchpad), "--glimpse", "4"]) == UsageError.exit_code
    assert "from 1 to 3" in capsys.readouterr().err


def test_runs_of_the_same_name_keep_their_own_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    import json

    from stawm.show.sheet import LINES

    for place, error in (("one", 0.5), ("two", 0.01)):
        (tmp_path / place / "run").mkdir(parents=True)
        record = {"epoch": 1, "train": {"error": error}, "held_out": {"scores": {"error": error}, "terms": {}}}
        (tmp_path / place / "run" / "metrics.jsonl").write_text(json.dumps(record) + "\n")
    runs = [tmp_path / place / "run" for place in ("one", "two")]
    sheet = drawn(capsys, "curve", *runs, "--out", tmp_path / "curve.png")
    assert all(where(sheet, colour, 10)[0].size for colour in LINES[:2])


@pytest.mark.parametrize(
    ("named", "arguments"),
    [
        ("not 3", ["reconstructions", "a", "b", "c"]),
        ("not 2", ["stages", "a", "b"]),
        ("different sizes", ["reconstructions", "{sketchpad}", "{faces}"]),
    ],
)
def test_mistakes_are_one_line(
    sketchpad: Path, faces: Path, named: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    line = [argument.format(sketchpad=sketchpad, faces=faces) for argument in arguments]
    assert main(["figure", *line]) == UsageError.exit_code
    told = capsys.readouterr().err
    assert named in told
    assert told.count("\n") == 1
