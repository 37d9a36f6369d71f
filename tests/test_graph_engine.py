"""Graphs for onnxruntime: looks as torch has them, made once, compared at each start, not used if they differ."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stawm.cli import main
from stawm.data import load_data
from stawm.data.prepare.prepared import Prepared
from stawm.errors import UsageError
from stawm.experiments.experiment import CnnConfig, DataConfig, Experiment, ImageConfig
from stawm.look import graph_engine
from stawm.look.answer import Look, to_json
from stawm.look.engine import Engine, Kind, open_engine
from stawm.look.graph_engine import GraphEngine, find_graph_engine, graph_path
from stawm.look.looker import Looker, shipped
from stawm.model.stawm import Stawm
from stawm.serve.models import open_lookers
from stawm.store.weights import Trained, export, load_trained, package_home, read_config
from tiny_drawing import drawing_config, drawing_model
from tiny_model import emitter_of, unchecked
from tiny_trust import trust_for

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

CONFIG = replace(
    drawing_config("bernoulli", ImageConfig(1, 28, 28), classes=3),
    glimpses=2,
    context=CnnConfig(filters=(4,), strides=(2,)),
)
BATCHES = (1, 3, 16)
TOLD: dict[Kind, tuple[float, float, float]] = {"onnx": (1e-3, 1e-4, 1), "int8": (1.0, 0.1, 100)}
"""How far a look may be off: outlines in pixels, beliefs and familiarity, levels of its pictures (of 255)."""
TOLD_LARGE: dict[Kind, tuple[float, float, float]] = {"onnx": (1e-2, 1e-3, 2), "int8": (3.0, 0.15, 160)}
"""The same for pictures of 100 × 100 pixels, where a small way aside is more pixels."""


def trained_model() -> Trained:
    model = drawing_model(CONFIG)
    experiment = Experiment(name="tiny", model=CONFIG, data=DataConfig(name="mnist-5k"))
    return Trained(model, experiment, {}, ("a", "b", "c"), trust_for(model, CONFIG.image.shape, -1.0))


def moved(poses: float) -> Trained:
    """A model that looks elsewhere, of which there is no graph yet."""
    made = trained_model()
    assert isinstance(made.model, Stawm)
    with torch.no_grad():
        emitter_of(made.model).pose.bias.add_(poses)
    return made


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as changed:
        folder = tmp_path_factory.mktemp("graphs")
        changed.setenv("STAWM_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def trained(cache: Path) -> Trained:
    """A model with everything that a look can tell, whose graph lies in the cache."""
    torch.manual_seed(0)
    made, told = trained_model(), []
    with unchecked():
        engine = open_engine(made, "onnx", told.append)
    assert engine.name == "onnx" and len(told) == 1 and "once" in told[0]
    return made


def pictures(count: int, side: int = 28) -> list[Prepared]:
    """Digits, or for a model that takes larger pictures scenes of them, or one among pieces of others."""
    name = {28: "mnist-5k", 36: "scenes:2x2+4:1-4"}.get(side, f"mnist-cluttered:{side}:mnist-5k")
    return [Prepared(one) for one in load_data(name).test.images[:count]]


def looks(trained: Trained, engine: Engine, count: int, memory: bool = False) -> list[Look]:
    return Looker(trained, "tiny", engine).look(pictures(count), ["x"] * count, memory=memory)


def assert_alike(wanted: Look, got: Look, pixels: float, share: float, levels: float) -> None:
    assert (got.prediction, got.found, got.classes) == (wanted.prediction, wanted.found, wanted.classes)
    if wanted.familiar is not None:
        assert got.familiar is not None and abs(got.familiar.score - wanted.familiar.score) <= share
    for one, other in zip(wanted.glimpses, got.glimpses, strict=True):
        np.testing.assert_allclose(other.outline, one.outline, atol=pixels)
        if one.belief is not None and other.belief is not None:
            np.testing.assert_allclose(other.belief, one.belief, atol=share)
        for name in ("glimpse", "sketch", "canvas"):
            first, second = getattr(one, name), getattr(other, name)
            assert (first is None) == (second is None)
            if first is not None:
                assert np.abs(first.array.astype(int) - second.array).max() <= levels


@pytest.mark.parametrize("count", [1, 5])
def test_a_look_by_a_graph_is_torchs_with_all_that_it_tells(trained: Trained, count: int):
    engine = open_engine(trained, "onnx")
    for wanted, got in zip(
        looks(trained, open_engine(trained), count, True), looks(trained, engine, count, True), strict=True
    ):
        assert_alike(wanted, got, *TOLD["onnx"])
        assert to_json(got).keys() == to_json(wanted).keys()
        assert got.memory is not None and wanted.memory is not None
        for one, other in zip(wanted.memory.steps, got.memory.steps, strict=True):
            assert other.norm == pytest.approx(one.norm, rel=1e-3)
            assert other.singular_values == pytest.approx(one.singular_values, rel=1e-3, abs=1e-3)


def test_a_graph_is_made_once(trained: Trained, monkeypatch: pytest.MonkeyPatch):
    def never(*_: Any) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(graph_engine, "write_onnx", never)
    told: list[str] = []
    assert open_engine(trained, "onnx", told.append).name == "onnx" and not told
    assert open_engine(trained, "auto").name == "onnx"
    eight = open_engine(trained, "int8")  # Made of the graph that there is.
    assert eight.name == "int8"
    for wanted, got in zip(looks(trained, open_engine(trained), 3), looks(trained, eight, 3), strict=True):
        assert_alike(wanted, got, *TOLD["int8"])


def test_a_graph_that_answers_otherwise_is_not_used(trained: Trained, cache: Path):
    """As after a change of the code of a head, of which the name of the file knows nothing."""
    other = moved(0.3)
    assert graph_path(other, "onnx") != graph_path(trained, "onnx")
    for suffix in (".onnx", ".json"):
        content = graph_path(trained, "onnx").with_suffix(suffix).read_bytes()
        graph_path(other, "onnx").with_suffix(suffix).write_bytes(content)
    assert find_graph_engine(other, "onnx") is None
    assert open_engine(other, "auto").name == "torch"


@pytest.mark.parametrize("suffix", [".onnx", ".json"])
def test_a_graph_that_is_damaged_is_told_of_and_not_used(
    trained: Trained, suffix: str, caplog: pytest.LogCaptureFixture
):
    spoilt = graph_path(trained, "onnx").with_suffix(suffix)
    whole = spoilt.read_bytes()
    assert find_graph_engine(trained, "onnx") is not None and not caplog.messages
    for damaged in (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], b""):
        spoilt.write_bytes(damaged)
        assert find_graph_engine(trained, "onnx") is None
        assert open_engine(trained, "auto").name == "torch"
        assert "is damaged" in caplog.messages[-1]
    spoilt.write_bytes(whole)
    assert find_graph_engine(trained, "onnx") is not None


def test_without_onnxruntime_auto_is_torch_and_a_line_says_what_is_missing(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert open_engine(trained, "auto").name == "torch"
    with pytest.raises(UsageError, match=r"onnxruntime: pip install 'stawm\[export\]'"):
        open_engine(trained, "onnx")


def test_a_model_that_no_graph_can_be_made_of_is_told_in_a_line(cache: Path, monkeypatch: pytest.MonkeyPatch):
    made = moved(0.1)
    monkeypatch.setattr(graph_engine, "write_onnx", lambda *_: (_ for _ in ()).throw(RuntimeError("deep inside")))
    with pytest.raises(UsageError, match=r"tiny cannot be run by onnxruntime .*; use --engine torch"):
        open_engine(made, "onnx")
    assert open_engine(made, "auto").name == "torch"


def test_where_nothing_can_be_kept_the_graph_is_made_all_the_same(trained: Trained, monkeypatch: pytest.MonkeyPatch):
    source = graph_path(trained, "onnx").read_bytes()
    monkeypatch.setenv("STAWM_CACHE", "/dev/null/nowhere")
    monkeypatch.setattr(graph_engine, "write_onnx", lambda module, images, told, path: path.write_bytes(source))
    assert isinstance(open_engine(trained, "onnx"), GraphEngine)


def test_the_commands_take_an_engine(trained: Trained, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = export(trained.model, trained.experiment, tmp_path / "weights", classes=trained.classes)
    answers = {}
    for kind in ("torch", "onnx"):
        assert main(["look", "--weights", str(folder), "--engine", kind, "--json"]) == 0
        answers[kind] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for one, other in zip(*answers.values(), strict=True):
        assert one["prediction"] == other["prediction"]
        assert other["confidence"] == pytest.approx(one["confidence"], abs=1e-3)
    assert [looker.engine.name for looker in open_lookers([str(folder)], "auto")] == ["onnx"]
    assert main(["look", "--weights", str(folder), "--engine", "onnx", "--device", "cuda"]) == UsageError.exit_code
    assert "CPU" in capsys.readouterr().err


def parts(name: str) -> set[str]:
    """What a graph of the model is made of, whatever its sizes."""
    config = read_config(package_home() / name).experiment.model
    seen = f"{config.context.block}, {config.glimpse.block}, {config.overview > 1}, {config.overview_size > 0}"
    memory = f"{config.memory.rule}, {getattr(config.memory, 'normalise', None)}, {config.where}"
    return {*config.heads, f"{config.policy}", memory, seen}


def one_of_each() -> list[str]:
    """The shipped models, but those all of whose parts are in another; benchmarks/engine.py compares all of them."""
    found = {name: parts(name) for name in shipped()}
    kept = [name for name in found if not any(found[name] < other for other in found.values())]
    return [name for place, name in enumerate(kept) if found[name] not in [found[other] for other in kept[:place]]]


def shipped_model(name: str) -> Trained:
    """A shipped model with its first three glimpses: every later one is the same part of its graph again.

    One that is calibrated is whole, for its trust is in all of its glimpses.
    """
    trained = load_trained(name)
    if trained.trust is not None:
        return trained
    assert isinstance(trained.model, Stawm)
    trained.model.glimpses = 3
    return replace(trained, experiment=replace(trained.experiment, model=replace(trained.experiment.model, glimpses=3)))


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("name", one_of_each())
def test_the_shipped_models_look_alike_by_every_engine(name: str, cache: Path):
    trained = shipped_model(name)
    side = trained.experiment.model.image.height
    shown = pictures(sum(BATCHES), side)
    wanted = Looker(trained, name).look(shown, ["x"] * len(shown))
    for kind, limits in (TOLD_LARGE if side > 36 else TOLD).items():
        looker = Looker(trained, name, open_engine(trained, kind))
        parted = (shown[end - count : end] for count, end in zip(BATCHES, accumulate(BATCHES), strict=True))
        got = [look for some in parted for look in looker.look(some, ["x"] * len(some))]
        for one, other in zip(wanted, got, strict=True):
            assert_alike(one, other, *limits)
