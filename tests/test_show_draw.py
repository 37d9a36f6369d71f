"""Figures from their names into files; figures from outside the package."""

import builtins
import json
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fresh_process import anew, start
from stawm import registry
from stawm.cli import main
from stawm.errors import UsageError
from stawm.registry import Registry
from stawm.show import draw, figure
from stawm.show.draw import draw_figure
from stawm.show.figure import FIGURES, Chart, Figure
from stawm.show.request import Request
from stawm.show.sheet import LINES
from stawm.store.weights import export
from tiny_chart import record
from tiny_drawing import where
from tiny_model import stawm
from tiny_run import TINY

TESTS = Path(__file__).parent


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A run of three epochs, as far as charts read it."""
    folder = tmp_path / "run"
    folder.mkdir()
    lines = [json.dumps(record(epoch, 0.3 / epoch)) + "\n" for epoch in (1, 2, 3)]
    (folder / "metrics.jsonl").write_text("".join(lines))
    return str(folder)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Registry[type[Figure]]:
    """The figures of the package, and whatever a test adds."""
    known: Registry[type[Figure]] = Registry("figure", home="stawm.show.figures", group="stawm.figures")
    for name, kind in FIGURES.items():
        known.add(name, kind)
    for module in (figure, draw):
        monkeypatch.setattr(module, "FIGURES", known)
    return known


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_has_a_line_and_a_test_file(name: str):
    kind = FIGURES[name]
    assert kind.__doc__ != Figure.__doc__
    assert kind.about().endswith(".")
    assert len(kind.about()) > 20
    assert (TESTS / f"test_show_{name}.py").is_file()


def test_a_figure_from_outside_is_drawn_from_a_model(
    figures: Registry[type[Figure]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    @figures.add("negative")
    class Negative(Figure):
        """The test pictures, bright for dark."""

        def draw(self, request: Request) -> list[Image.Image]:
            pixels = (255 * (1 - request.batch.images[:, 0])).byte()
            return [Image.fromarray(np.concatenate(list(pixels.numpy()), 1))]

    weights = export(stawm(TINY.model), TINY, tmp_path / "weights")
    assert draw_figure("negative", [str(weights)], pictures=3) == weights / "negative.png"
    with Image.open(weights / "negative.png") as drawn:
        assert drawn.size == (3 * 28, 28)
        assert drawn.getpixel((0, 0)) == 255
    assert main(["figure", "--help"]) == 0
    assert "bright for dark" in capsys.readouterr().out
    with pytest.raises(UsageError, match="one run"):
        draw_figure("negative", [str(weights)] * 2)


def test_a_chart_from_outside_is_written_as_pdf(figures: Registry[type[Figure]], run: str, tmp_path: Path):
    @figures.add("rates")
    class Rates(Chart):
        """The held-out error."""

        def plot(self, request: Request) -> Any:
            from matplotlib.figure import Figure

            chart = Figure()
            chart.subplots().plot([record["held_out"]["scores"]["error"] for record in request.records(run)])
            return chart

    assert draw_figure("rates", [run], tmp_path / "rates.pdf").read_bytes().startswith(b"%PDF")


def test_a_figure_of_another_package_comes_by_entry_point(monkeypatch: pytest.MonkeyPatch):
    point = EntryPoint(name="theirs", value="stawm.show.figures.looked:Looked", group="stawm.figures")
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    known: Registry[type[Figure]] = Registry("figure", home="stawm.show.figures", group="stawm.figures")
    assert known["theirs"] is FIGURES["looked"]


@pytest.mark.parametrize(
    ("ending", "first", "last"),
    [
        ("png", b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
        ("jpg", b"\xff\xd8\xff", b"\xff\xd9"),
        ("pdf", b"%PDF-1.", b"%%EOF\n"),
        ("svg", b"<?xml version", b"</svg>\n"),
    ],
)
def test_charts_are_whole_files_that_repeat(run: str, tmp_path: Path, ending: str, first: bytes, last: bytes):
    out = tmp_path / f"curve.{ending}"
    assert draw_figure("curve", [run], out) == out
    written = out.read_bytes()
    assert written.startswith(first)
    assert written.endswith(last)
    draw_figure("curve", [run], out)
    assert out.read_bytes() == written
    assert [path.name for path in tmp_path.iterdir()] in (["run", out.name], [out.name, "run"])


def test_charts_have_the_colours_of_the_house_whatever_the_users_style(run: str, tmp_path: Path):
    import matplotlib

    with matplotlib.rc_context({"figure.facecolor": "black", "font.size": 30}):
        draw_figure("curve", [run], tmp_path / "curve.png")
        assert matplotlib.rcParams["font.size"] == 30
    with Image.open(tmp_path / "curve.png") as drawn:
        assert drawn.getpixel((0, 0)) == (255, 255, 255)
        assert where(drawn, LINES[0], 4)[0].size


def test_without_matplotlib_one_line_says_what_to_install(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    found = builtins.__import__

    def without(name: str, *more: Any, **others: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return found(name, *more, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["figure", "curve", run, "--out", str(tmp_path / "curve.png")]) == UsageError.exit_code
    told = capsys.readouterr().err
    assert "stawm[figures]" in told
    assert told.count("\n") == 1


def test_figures_are_known_without_matplotlib(tmp_path: Path):
    code = (
        "import sys; from stawm.show.figure import FIGURES; list(FIGURES); "
        "sys.exit(any(name.startswith('matplotlib') for name in sys.modules))"
    )
    assert start(anew, code, home=tmp_path).end() == 0


@pytest.mark.parametrize(
    ("name", "file", "key"),
    [
        ("looked", "looked.pdf", "pixels"),
        ("stages", "stages.svg", "pixels"),
        ("curve", "curve.txt", ".pdf"),
        ("looked", "looked", ".png"),
        ("lookd", "looked.png", "looked"),
    ],
)
def test_endings_and_names_are_checked_before_any_work(name: str, file: str, key: str, tmp_path: Path):
    with pytest.raises(UsageError, match=key):
        draw_figure(name, ["no such run"], tmp_path / file)


def test_runs_are_named_by_as_much_of_their_paths_as_tells_them_apart():
    assert Request("curve", ("runs/a-seed0", "runs/a-seed1")).names == ("a-seed0", "a-seed1")
    assert Request("curve", ("old/run", "new/run", "new/other")).names == ("old/run", "new/run", "new/other")
    assert Request("anytime", ("results/a.json",)).names == ("a",)
