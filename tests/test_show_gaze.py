"""Where glimpses were, relative to the digit."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from stawm.baselines.ram import Ram
from stawm.baselines.rival import RIVALS
from stawm.data.sets.cluttered import ClutteredSet, cluttered
from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import Experiment, ImageConfig, ModelConfig, PolicyConfig
from stawm.model.heads.classify import ClassifyConfig
from stawm.show.draw import draw_figure
from stawm.show.figures.gaze import BINS, gazes_about_digits, heat_maps, histograms
from stawm.store.weights import export
from tiny_large import TINY_LARGE
from tiny_model import emitter_of, stawm
from tiny_run import digits


@pytest.fixture(scope="module")
def pictures() -> ClutteredSet:
    return cluttered("few", digits().test, 40, 2)


def test_the_middle_of_the_picture_is_where_the_digit_is_not(pictures: ClutteredSet) -> None:
    """Glimpses that are all at one place: what is told is that place less the digit's own."""
    model = stawm(replace(TINY_LARGE.model, policy=PolicyConfig(starts="one"))).eval()
    with torch.no_grad():
        emitter_of(model).pose.bias[2], emitter_of(model).pose.bias[5] = 0.5, -0.25
    found = gazes_about_digits(model, pictures)
    assert found.shape == (30, 3, 2)
    across, down = 0.75 * 39, 0.375 * 39
    for number in range(30):
        top, left = pictures.corners[number].tolist()
        torch.testing.assert_close(found[number, 0], torch.tensor([across - left - 13.5, down - top - 13.5]))


@pytest.mark.parametrize("kind", ["ram", "draw-reader"])
def test_glimpses_of_rivals_are_told_as_well(kind: str, pictures: ClutteredSet) -> None:
    """Each is sent to one place: a share of the picture from its middle, by the equations of its own paper."""
    model = build(rival(kind).model).eval()
    layer = model.locate if isinstance(model, Ram) else model.attend
    assert isinstance(layer, nn.Linear)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias[:2] = torch.tensor([0.5, -0.25])
    if kind == "ram":  # The mean goes through tanh, over the centres of the pixels.
        across, down = ((math.tanh(shift) + 1) / 2 * 39 for shift in (0.5, -0.25))
    else:  # (A + 1) / 2 (g̃ + 1), where pixels are counted from 1.
        across, down = (41 / 2 * (shift + 1) - 1 for shift in (0.5, -0.25))
    found = gazes_about_digits(model, pictures)
    assert found.shape == (30, 2, 2)
    for number in range(30):
        top, left = pictures.corners[number].tolist()
        expected = torch.tensor([across - left - 13.5, down - top - 13.5]).expand(2, 2)
        torch.testing.assert_close(found[number], expected, rtol=0, atol=1e-4)


def rival(kind: str) -> Experiment:
    model = ModelConfig(
        kind, ImageConfig(1, 40, 40), heads={"classify": ClassifyConfig()}, hidden=8, rival=RIVALS[kind].Config()
    )
    return replace(TINY_LARGE, model=model if kind == "cnn" else replace(model, glimpses=2, glimpse_height=6))


def test_a_map_counts_pictures_by_rows_from_the_top() -> None:
    gazes = torch.zeros(4, 1, 2)
    gazes[0, 0] = torch.tensor([19.7, -19.7])
    (found,) = histograms(gazes, 20)
    assert found[0, -1] == 0.25 and found[BINS // 2, BINS // 2] == 0.75 and found.sum() == 1


def test_a_chart_has_a_map_for_each_glimpse() -> None:
    gazes = torch.zeros(5, 6, 2)
    gazes[:, 1] = 18.0
    chart = heat_maps(gazes, side=40)
    titles = [axes.get_title(loc="left") + axes.get_title() for axes in chart.axes]
    assert titles[:2] == ["glimpse 1: 100% on the digit", "glimpse 2: 0% on the digit"]
    assert sum(bool(axes.images) for axes in chart.axes) == 6
    assert np.asarray(chart.axes[0].images[0].get_array()).max() == 1


def test_it_is_drawn_of_a_run_and_refused_where_places_are_not_known(tmp_path: Path) -> None:
    torch.manual_seed(0)
    folder = export(stawm(TINY_LARGE.model), TINY_LARGE, tmp_path / "weights")
    reader = export(build(rival("draw-reader").model), rival("draw-reader"), tmp_path / "reader")
    for run in (folder, reader):
        assert draw_figure("gaze", [str(run)], tmp_path / "gaze.png").stat().st_size > 1000
    plain = export(build(rival("cnn").model), rival("cnn"), tmp_path / "cnn")
    with pytest.raises(UsageError, match="gaze needs a model that takes glimpses"):
        draw_figure("gaze", [str(plain)], tmp_path / "gaze.png")
    with pytest.raises(UsageError, match="mnist-cluttered"):
        draw_figure("gaze", ["mnist-classify-8"], tmp_path / "gaze.png", data="mnist-5k")
