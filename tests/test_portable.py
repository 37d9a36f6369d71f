"""Files for programs without stawm; the shipped models, on real pictures, are compared in benchmarks/export.py."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from stawm import __version__
from stawm.cli import main
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import CnnConfig, DataConfig, Experiment, ImageConfig
from stawm.experiments.presets import preset
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.question import QuestionConfig
from stawm.model.policy import Poses
from stawm.model.scan import Scan
from stawm.model.stawm import Stawm
from stawm.store import portable
from stawm.store.portable import METADATA, Kind, Portable, write_portable
from stawm.store.weights import Trained, export
from tiny_drawing import drawing_config, drawing_model
from tiny_large import large

DRAWING = drawing_config("bernoulli", ImageConfig(1, 28, 28), classes=3)
CONFIG = replace(
    DRAWING,
    glimpses=2,
    context=CnnConfig(filters=(4,), strides=(2,)),
    memory=HebbRosenblattConfig(size=DRAWING.memory.size, normalise="learnt"),
)
NAMES = {"poses", "glimpses", "logits", "canvases", "masks"}
pytestmark = pytest.mark.usefixtures("as_users_run_it")


@pytest.fixture(scope="module")
def trained() -> Trained:
    """A model with everything that a file can hold, and a memory that normalises; those below have the others."""
    experiment = Experiment(name="tiny", model=CONFIG, data=DataConfig(name="mnist-5k"))
    return Trained(drawing_model(CONFIG).eval(), experiment, {}, ("a", "b", "c"))


def test_an_onnx_file_answers_as_the_model_does_whatever_the_batch(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the command line, from a folder of weights."""
    onnxruntime = pytest.importorskip("onnxruntime")
    weights = export(trained.model, trained.experiment, tmp_path / "weights", classes=trained.classes)
    assert main(["export", str(weights), "--out", str(tmp_path / "model.onnx")]) == 0
    assert "model.onnx" in capsys.readouterr().out

    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert {one.name for one in session.get_outputs()} == NAMES
    assert [one.name for one in session.get_inputs()] == ["images"]
    told = session.get_modelmeta().custom_metadata_map
    assert json.loads(told["classes"]) == ["a", "b", "c"]
    assert "28" in told["preparation"]
    assert json.loads(told["image"]) == {"channels": 1, "height": 28, "width": 28}
    assert json.loads(told["glimpses"]) == {
        "count": 2,
        "height": CONFIG.glimpse_height,
        "width": CONFIG.glimpse_width,
    }
    assert told["stawm"] == __version__
    for count in (1, 5):
        images = torch.rand(count, *CONFIG.image.shape)
        found = session.run(sorted(NAMES), {"images": images.numpy()})
        with torch.inference_mode():
            wanted = Portable(trained.model)(images)
        for name, got in zip(sorted(NAMES), found, strict=True):
            np.testing.assert_allclose(got, wanted[name].numpy(), atol=1e-4)
    the_printed_lines_run_without_torch(tmp_path)


def the_printed_lines_run_without_torch(folder: Path) -> None:
    """Those of docs/export.md, in a process in which nothing of torch or stawm can be imported."""
    page = (Path(__file__).parent.parent / "docs" / "export.md").read_text(encoding="utf-8")
    lines = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    (folder / "model.onnx").rename(folder / "sketchpad.onnx")
    Image.new("L", (28, 28), 90).save(folder / "digit.png")
    without = "import sys; sys.modules |= {'torch': None, 'stawm': None}\n"
    ran = subprocess.run([sys.executable, "-c", without + lines], cwd=folder, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip() in ("a", "b", "c")) == (0, True), ran.stderr
    assert (folder / "redrawn.png").exists()


def test_a_program_of_torch_answers_as_the_model_does(trained: Trained, tmp_path: Path) -> None:
    assert write_portable(trained, "torch", tmp_path / "model.pt2") < 1e-4
    kept = {METADATA: ""}
    program = torch.export.load(tmp_path / "model.pt2", extra_files=kept).module()
    assert json.loads(json.loads(kept[METADATA])["classes"]) == ["a", "b", "c"]
    images = torch.rand(5, *CONFIG.image.shape)
    with torch.inference_mode():
        found, wanted = program(images), Portable(trained.model)(images)
    assert set(found) == NAMES
    for name in NAMES:
        torch.testing.assert_close(found[name], wanted[name], atol=1e-4, rtol=0)


def opened(kind: Kind, path: Path) -> Callable[[Tensor], dict[str, Tensor]]:
    """A file as a function."""
    if kind == "torch":
        return torch.export.load(path).module()
    session = pytest.importorskip("onnxruntime").InferenceSession(path)
    names = [one.name for one in session.get_outputs()]

    def run(images: Tensor) -> dict[str, Tensor]:
        found = session.run(names, {"images": images.numpy()})
        return {name: torch.from_numpy(value) for name, value in zip(names, found, strict=True)}

    return run


@pytest.mark.parametrize(("kind", "poses"), [("onnx", "salient"), ("torch", "affine")])
def test_a_model_with_a_fixed_overview_is_written_for_pictures_of_its_own_side(
    kind: Kind, poses: Poses, tmp_path: Path
) -> None:
    if kind == "onnx":
        pytest.importorskip("onnxruntime")
    made, path = large(poses), tmp_path / ("model.onnx" if kind == "onnx" else "model.pt2")
    assert write_portable(made, kind, path) < 1e-4
    run = opened(kind, path)
    for count in (1, 3, 16):
        images = torch.rand(count, 1, 40, 40)
        with torch.inference_mode():
            found, wanted = run(images), Portable(made.model)(images)
        for name, value in wanted.items():
            torch.testing.assert_close(found[name], value, atol=1e-4, rtol=0)
    with torch.inference_mode():
        assert Portable(made.model)(torch.rand(1, 1, 60, 60))["logits"].shape == (1, 2, 10)
        with pytest.raises(Exception, match="40"):
            run(torch.rand(1, 1, 60, 60))


def test_a_file_that_answers_otherwise_is_not_kept(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable, "_write_torch", lambda module, images, told, path: path.write_bytes(b"wrong"))
    monkeypatch.setattr(portable, "_run_torch", lambda path, images: {name: torch.tensor(9.0) for name in NAMES})
    with pytest.raises(CheckpointError, match="differs"):
        write_portable(trained, "torch", tmp_path / "model.pt2")
    assert not list(tmp_path.iterdir())


def test_a_scan_is_written_row_by_row_and_random_places_are_refused(tmp_path: Path) -> None:
    torch.manual_seed(0)
    given = preset("scenes-8-recall")
    four = replace(
        given.model,
        image=ImageConfig(1, 28, 28),
        heads={"identify": QuestionConfig(rows=2, columns=2)},
        glimpses=4,
        policy=replace(given.model.policy, rows=2, columns=2),
        memory=HebbRosenblattConfig(size=128),
    )
    experiment = replace(given, model=four)
    model = build(four).eval()
    assert write_portable(Trained(model, experiment, {}, tuple("0123456789")), "torch", tmp_path / "scan.pt2") < 1e-4
    assert isinstance(model, Stawm) and isinstance(model.policy, Scan) and model.policy.order == "shuffled"
    anywhere = replace(experiment.model, policy=replace(experiment.model.policy, kind="random"))
    with pytest.raises(UsageError, match="random places"):
        Portable(build(anywhere))
