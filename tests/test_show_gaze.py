"""Where glimpses were, relative to the digit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from stawm.data.sets.cluttered import ClutteredSet, cluttered
from stawm.errors import UsageError
from stawm.show.draw import draw_figure
from stawm.show.figures.gaze import BINS, gazes_about_digits, heat_maps, histograms
from stawm.store.weights import export
from test_large import TINY_LARGE
from tiny_model import policy_of, stawm
from tiny_run import digits


@pytest.fixture(scope="module")
def pictures() -> ClutteredSet:
    return cluttered("few", digits().test, 40, 2)


def test_the_middle_of_the_picture_is_where_the_digit_is_not(pictures: ClutteredSet) -> None:
    """Glimpses that are all at one place: what is told is that place less the digit's own."""
    model = stawm(replace(TINY_LARGE.model, policy=replace(TINY_LARGE.model.policy, starts="one"))).eval()
    with torch.no_grad():
        policy_of(model).emitter.pose.bias[2], policy_of(model).emitter.pose.bias[5] = 0.5, -0.25
    found = gazes_about_digits(model, pictures)
    assert found.shape == (30, 3, 2) and pictures.corners is not None
    across, down = 0.75 * 39, 0.375 * 39
    for number in range(30):
        top, left = pictures.corners[number].tolist()
        torch.testing.assert_close(found[number, 0], torch.tensor([across - left - 13.5, down - top - 13.5]))


def test_a_map_counts_pictures_by_rows_from_the_top() -> None:
    gazes = torch.zeros(4, 1, 2)
    gazes[0, 0] = torch.tensor([19.0, -19.0])
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
    assert draw_figure("gaze", [str(folder)], tmp_path / "gaze.png").stat().st_size > 1000
    with pytest.raises(UsageError, match="mnist-cluttered"):
        draw_figure("gaze", ["mnist-classify-8"], tmp_path / "gaze.png", data="mnist-5k")
