"""Every mistake is told on stderr, names the thing, and has an exit code that tells its kind; none is a traceback."""

import errno
import json
import os
import resource
import shutil
from pathlib import Path

import pytest
from PIL import Image

from stawm.cli import main
from stawm.data import load_data
from stawm.files import write_json
from tiny_command import TINY_MODEL

USAGE, DATA, CHECKPOINT, TRAINING, STORAGE = 2, 3, 4, 5, 6

SMALL = [*TINY_MODEL, "--training.batch-size", "8", "--training.epochs", "1"]


def one_line(told: str) -> str:
    assert "Traceback" not in told
    assert told.count("\n") == 1, told
    assert told.startswith("stawm: ")
    return told


class Mistake:
    """Runs a command line that must fail, and checks its code and its one line."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, code: int, named: str | Path, *arguments: str | Path) -> None:
        self.capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == code
        assert str(named) in one_line(self.capsys.readouterr().err)


@pytest.fixture
def mistake(capsys: pytest.CaptureFixture[str]) -> Mistake:
    return Mistake(capsys)


def digits(folder: Path, classes: int = 2, each: int = 12, size: int = 28) -> Path:
    """A folder of pictures, one sub-folder a class."""
    test = load_data("mnist-5k").test
    assert test.labels is not None
    for label in range(classes):
        (folder / str(label)).mkdir(parents=True)
        for place in (test.labels == label).nonzero()[:each, 0].tolist():
            picture = Image.fromarray(test.images[place, 0].numpy()).resize((size, size))
            picture.save(folder / str(label) / f"{place}.png")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("errors")
    pictures = digits(home / "pictures")
    run = home / "run"
    about = ["--data.name", f"folder:{pictures}", "--model.heads.classify.classes", "2"]
    assert main(["train", "mnist-5k-classify", "--run", str(run), "--device", "cpu", *SMALL, *about]) == 0
    return run


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, to be spoilt."""
    return Path(shutil.copytree(trained, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ("did you mean train?", "trian mnist-5k-classify"),
        ("'bake'", "bake"),
        ("did you mean mnist-5k-classify?", "train mnist-5k-clasify"),
        ("'3'", "train --training.milestones 1 3 mnist-5k-classify"),
        ("did you mean delta-rule?", "train mnist-5k-classify --model.memory.rule delta"),
        ("did you mean draw?", "train mnist-5k-classify --model.heads.drew.latent 3"),
        ("'draw'", "train mnist-5k-classify --without-head draw"),
        ("without heads", "train mnist-5k-classify --without-head classify"),
        ("'nonsense'", "presets nonsense"),
        ("did you mean mnist?", "data get mnst"),
        ("stawm data get NAME", "data get"),
        ("stawm data get NAME", "data list mnist"),
        ("'smell'", "figure smell run"),
        ("not 0", "figure looked"),
        ("no pictures", "masks run"),
        ("run/looked.nonsense", "figure looked run --out run/looked.nonsense"),
        ("one run", "figure looked one two"),
        ("--pictures", "figure looked one --pictures 0"),
        ("device cuda", "look --device cuda"),
        ("folder:", "train folder:"),
        ("masks and traversal", "figure stages run --glimpse 2"),
        ("--run is empty", "train mnist-5k-classify --run="),
        ("--out is empty", "export run --out="),
        ("--to torch", "export run --out model.pt2"),
        ("ends in .pt2", "export run --to torch --out model.onnx"),
    ],
)
def test_usage(mistake: Mistake, named: str, line: str):
    mistake(USAGE, named, *line.split())


def test_a_place_that_is_not_set(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    mistake(USAGE, "--run is empty", "train", "mnist-5k-classify", "--run", "", *SMALL)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "line",
    [
        *(
            "evaluate X",
            "figure curve X",
            "figure anytime X",
            "masks mnist-5k-sketchpad X",
            "look --weights X",
            "look X",
        ),
        *("ship X y", "record X", "record y --ledger X", "table X", "table --ledger X", "ship --cards --home X"),
        *("train folder:X", "train mnist-5k-classify --run X --resume", "train mnist-classify-8 --data-dir X"),
        *("data get mnist --data-dir X", "data get folder:X", "evaluate mnist-5k-sketchpad --data folder:X"),
        *("presets X", "train X", "train mnist-5k-classify --training.start-from X"),
    ],
)
@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "loop", "loop/inside"])
def test_names_that_no_file_can_have(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, name: str
):
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    assert main([name if word == "X" else word for word in line.split()]) in (USAGE, DATA, CHECKPOINT)
    assert len(one_line(capsys.readouterr().err)) < 700


@pytest.mark.parametrize(
    "line", ["evaluate X", "figure looked X", "figure curve X", "masks X X", "look --weights X", "ship X y", "record X"]
)
@pytest.mark.parametrize("there", [True, False])
def test_a_missing_run_or_an_empty_folder_is_named(mistake: Mistake, tmp_path: Path, line: str, there: bool):
    empty = tmp_path / "empty"
    if there:
        empty.mkdir()
    code = DATA if line.startswith("masks") else CHECKPOINT
    mistake(code, empty, *[str(empty) if word == "X" else word for word in line.split()])


def test_data_folder_missing_empty_broken_or_no_picture(mistake: Mistake, tmp_path: Path):
    def train(named: str | Path, folder: Path) -> None:
        where = ["--run", tmp_path / "run", "--data.name", f"folder:{folder}", "--model.heads.classify.classes", "2"]
        mistake(DATA, named, "train", "mnist-5k-classify", *where, *SMALL)
        assert not (tmp_path / "run" / "checkpoints").exists()

    train(tmp_path / "nowhere", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    train(tmp_path / "empty", tmp_path / "empty")
    broken = digits(tmp_path / "broken")
    spoilt = sorted(broken.glob("1/*.png"))[3]
    spoilt.write_bytes(spoilt.read_bytes()[:60])
    train(spoilt.name, broken)
    strange = digits(tmp_path / "strange")
    (strange / "0" / "notes.txt").write_text("not a picture")
    train("notes.txt", strange)


def test_class_count_that_does_not_fit(mistake: Mistake, trained: Path, tmp_path: Path):
    three = digits(tmp_path / "three", classes=3)
    where = ["--run", tmp_path / "run", "--data.name", f"folder:{three}"]
    mistake(DATA, "3 classes", "train", "mnist-5k-classify", *where, *SMALL, "--model.heads.classify.classes", "2")
    mistake(
        DATA,
        "10 classes",
        "train",
        "mnist-5k-classify",
        "--run",
        tmp_path / "run",
        *SMALL,
        "--model.heads.classify.classes",
        "7",
    )
    mistake(DATA, "does not know (2); it knows 0, 1", "evaluate", trained, "--data", f"folder:{three}")
    mistake(DATA, "does not know (2, 3, 4", "figure", "looked", trained, "--data", "mnist-5k")


def test_image_smaller_than_the_encoder_can_take(mistake: Mistake, tmp_path: Path):
    tiny = digits(tmp_path / "tiny", size=6)
    size = ["--model.image.height", "6", "--model.image.width", "6", "--model.heads.classify.classes", "2"]
    where = ["--run", tmp_path / "run", "--data.name", f"folder:{tiny}"]
    mistake(USAGE, "6", "train", "mnist-5k-classify", *where, *SMALL, *size)


def test_image_of_another_size_than_the_data(mistake: Mistake, tmp_path: Path):
    size = ["--model.image.height", "40"]
    mistake(DATA, "1×28×28", "train", "mnist-5k-classify", "--run", tmp_path / "run", *SMALL, *size)


def test_truncated_or_tampered_download(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    (tmp_path / "mnist").mkdir()
    for name in names:
        (tmp_path / "mnist" / name).write_bytes(b"tampered with")
    mistake(DATA, names[0], "data", "get", "mnist", "--data-dir", tmp_path)
    mistake(DATA, names[0], "train", "mnist-classify-8", "--data-dir", tmp_path, "--run", tmp_path / "run")
    (tmp_path / "mnist" / names[0]).unlink()
    (tmp_path / "mnist" / f"{names[0]}.gz").write_bytes(b"\x1f\x8b\x08\x00truncated")
    mistake(DATA, f"{names[0]}.gz", "data", "get", "mnist", "--data-dir", tmp_path)
    monkeypatch.setenv("STAWM_CACHE", str(tmp_path / "cache"))
    shutil.move(tmp_path / "mnist", tmp_path / "cache" / "mnist")
    mistake(DATA, f"{names[0]}.gz", "data", "get", "mnist")
    mistake(DATA, "mnist", "data", "get", "mnist", "--data-dir", tmp_path / "nowhere")


def test_resume_without_a_run(mistake: Mistake, tmp_path: Path):
    folder = tmp_path / "none"
    mistake(CHECKPOINT, folder, "train", "mnist-5k-classify", "--run", folder, "--resume")
    assert not folder.exists()


def test_resume_as_another_experiment(mistake: Mistake, trained: Path):
    mistake(CHECKPOINT, "mnist-5k-classify", "train", "mnist-classify-8", "--run", trained, "--resume")
    resume = ["train", "mnist-5k-classify", "--run", trained, "--resume"]
    mistake(CHECKPOINT, "training.epochs", *resume, "--training.epochs", "9")


def test_train_into_a_folder_that_holds_a_run(mistake: Mistake, trained: Path):
    mistake(USAGE, trained, "train", "mnist-5k-classify", "--run", trained, *SMALL)


def test_truncated_checkpoint(mistake: Mistake, copy: Path):
    for checkpoint in copy.glob("checkpoints/*.safetensors"):
        checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    mistake(CHECKPOINT, ".safetensors", "train", "mnist-5k-classify", "--run", copy, "--resume")
    shutil.rmtree(copy / "weights")
    mistake(CHECKPOINT, ".safetensors", "evaluate", copy)


def test_truncated_or_foreign_weights(mistake: Mistake, copy: Path):
    weights = copy / "weights"
    config = json.loads((weights / "config.json").read_text())
    config["experiment"]["model"]["memory"]["size"] = 20
    write_json(weights / "config.json", config)
    mistake(CHECKPOINT, weights / "model.safetensors", "evaluate", copy)
    (weights / "config.json").write_text("{")
    mistake(CHECKPOINT, weights / "config.json", "evaluate", weights)
    shutil.copy(copy / "weights" / "model.safetensors", copy / "whole")
    write_json(weights / "config.json", config)
    (weights / "model.safetensors").write_bytes((copy / "whole").read_bytes()[:500])
    mistake(CHECKPOINT, weights / "model.safetensors", "figure", "looked", weights)


def test_nothing_to_evaluate_or_draw(mistake: Mistake, tmp_path: Path):
    mistake(CHECKPOINT, tmp_path, "evaluate", tmp_path)
    mistake(CHECKPOINT, "no-such-weights", "evaluate", "no-such-weights")
    mistake(CHECKPOINT, tmp_path, "figure", "curve", tmp_path)


def test_a_place_that_cannot_be_written(mistake: Mistake, trained: Path, tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "file" / "looked.png"
    mistake(STORAGE, out, "figure", "looked", trained, "--out", out)


def test_disk_that_fills_up_while_a_checkpoint_is_written(trained: Path, tmp_path: Path, mistake: Mistake):
    """A limit on the size of files fails the write half-way, as a full disk does."""
    pictures = json.loads((trained / "experiment.json").read_text())["data"]["name"]
    run = tmp_path / "run"
    about = ["--run", run, "--data.name", pictures, "--model.heads.classify.classes", "2", "--device", "cpu"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, before[1]))
    try:
        mistake(STORAGE, "checkpoints", "train", "mnist-5k-classify", *SMALL, *about)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert run.is_dir() and not list(run.glob("**/*.partial"))


def test_full_disk_anywhere_else(
    capsys: pytest.CaptureFixture[str], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some/file")

    monkeypatch.setattr(Image.Image, "save", full)
    assert main(["figure", "curve", str(trained), "--out", str(tmp_path / "curve.png")]) == STORAGE
    assert os.strerror(errno.ENOSPC) in one_line(capsys.readouterr().err)
    monkeypatch.setattr("stawm.show.figures.curve.learning_curve", full)
    assert main(["figure", "curve", str(trained)]) == STORAGE
    assert "some/file" in one_line(capsys.readouterr().err)


def test_a_fault_of_ours_is_not_hidden(trained: Path, monkeypatch: pytest.MonkeyPatch):
    def fault(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("stawm.show.figures.curve.learning_curve", fault)
    with pytest.raises(ZeroDivisionError):
        main(["figure", "curve", str(trained)])

    def unreadable(*_: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr("stawm.show.figures.curve.learning_curve", unreadable)
    with pytest.raises(PermissionError):
        main(["figure", "curve", str(trained)])


def test_only_the_first_process_complains_about_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("RANK", "1")
    assert main(["train", "nonsense"]) == USAGE
    assert capsys.readouterr().err == ""
    assert main(["evaluate", str(tmp_path)]) == CHECKPOINT
    one_line(capsys.readouterr().err)


def test_a_loss_that_is_no_longer_finite(trained: Path, tmp_path: Path, mistake: Mistake):
    pictures = json.loads((trained / "experiment.json").read_text())["data"]["name"]
    wild = ["--training.learning-rate", "1e30", "--training.clip-norm", "1e30", "--training.warmup", "0"]
    about = ["--run", tmp_path / "run", "--data.name", pictures, "--model.heads.classify.classes", "2"]
    mistake(TRAINING, "cross_entropy is", "train", "mnist-5k-classify", *SMALL, *about, *wild)
