import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stawm.cli import main
from stawm.errors import UsageError
from stawm.experiments.experiment import DataConfig, DrawConfig
from stawm.show.anytime import error_after_each
from stawm.show.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from stawm.show.sheet import LINES, Colour
from stawm.store.weights import export
from tiny_entry import entry
from tiny_model import stawm
from tiny_run import TINY, with_model


def height_of(drawn: Image.Image, colour: Colour, column: float) -> float:
    """Where the line of this colour crosses a column."""
    strip = np.asarray(drawn)[:, round(column)].astype(int)
    return float(np.flatnonzero(np.abs(strip - np.array(colour)).max(-1) < 30).mean())


def test_each_glimpse_stands_at_its_error_on_a_logarithmic_scale():
    # From 10 % to 1 %: the axis is exactly that decade, so the second of three glimpses stands half-way up.
    drawn = error_after_each({"model": [0.1, 0.1 / 10**0.5, 0.01]})
    assert drawn.size == (WIDTH, HEIGHT)
    assert height_of(drawn, LINES[0], LEFT) == pytest.approx(TOP, abs=2)
    assert height_of(drawn, LINES[0], (LEFT + WIDTH - RIGHT) / 2) == pytest.approx((TOP + HEIGHT - BOTTOM) / 2, abs=2)
    assert height_of(drawn, LINES[0], WIDTH - RIGHT) == pytest.approx(HEIGHT - BOTTOM, abs=2)


def test_a_model_with_fewer_glimpses_ends_earlier():
    drawn = error_after_each({"three": [0.1, 0.05, 0.02], "two": [0.09, 0.01]})
    pixels = np.asarray(drawn).astype(int)
    columns = np.flatnonzero((np.abs(pixels[TOP + 60 :] - np.array(LINES[1])).max(-1) < 30).any(0))
    assert columns.max() == pytest.approx((LEFT + WIDTH - RIGHT) / 2, abs=5)


@pytest.mark.parametrize("errors", [[0.0], [0.3], [0.1, 0.0]])
def test_one_glimpse_and_no_error_are_drawn(errors: list[float]):
    drawn = np.asarray(error_after_each({"model": errors})).astype(int)
    assert (np.abs(drawn - np.array(LINES[0])).max(-1) < 10).any()


def test_a_model_without_answers_is_refused():
    with pytest.raises(UsageError, match="draws does not answer after each glimpse"):
        error_after_each({"draws": []})


def test_the_figure_takes_models_and_entries_of_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = export(stawm(TINY.model), TINY, tmp_path / "weights")
    recorded = tmp_path / "recorded.json"
    recorded.write_text(json.dumps(entry("recorded", error_after_glimpse=(0.05, 0.02)).to_dict()))
    out = tmp_path / "anytime.png"
    assert main(["figure", "anytime", str(folder), str(recorded), "--out", str(out)]) == 0
    with Image.open(out) as drawn:
        pixels = drawn.convert("RGB")
    assert height_of(pixels, LINES[1], LEFT) < height_of(pixels, LINES[1], WIDTH - RIGHT)
    assert main(["figure", "anytime", str(recorded)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(out), str(tmp_path / "anytime.png")]


def test_the_figure_refuses_a_model_that_only_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    drawing = with_model(classes=0, draw=DrawConfig(latent=2))
    assert drawing.data == DataConfig(name="mnist-5k", rotate=10.0)
    folder = export(stawm(drawing.model), drawing, tmp_path / "weights")
    assert main(["figure", "anytime", str(folder)]) == UsageError.exit_code
    assert "weights does not answer after each glimpse" in capsys.readouterr().err
