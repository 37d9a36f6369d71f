"""Error against arithmetic: entries of the ledger and runs in one chart."""

import json
from pathlib import Path

import pytest
import torch

from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.presets import preset
from stawm.measure.flops import flops_of
from stawm.show.draw import draw_figure
from stawm.show.figures.cost import Cost, Costs, error_against_cost
from stawm.show.request import Request
from stawm.store.weights import export
from tiny_chart import full, heights, places, title
from tiny_entry import entry
from tiny_model import stawm
from tiny_run import TINY


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    return str(export(stawm(TINY.model), TINY, tmp_path_factory.mktemp("cost") / "weights"))


def recorded(folder: Path, name: str, **facts: object) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(entry(name, **facts).to_dict()))  # pyright: ignore[reportArgumentType]
    return str(path)


def test_a_line_over_glimpses_and_a_dot_in_one_chart() -> None:
    chart = error_against_cost(
        [Costs("looks", "small", (0.001, 0.002), (0.1, 0.02)), Costs("sees all", "small", (0.5,), (0.05,))]
    )
    line, dot = full(chart)
    assert heights(line) == pytest.approx([10, 2]) and places(line) == [0.001, 0.002]
    assert heights(dot) == pytest.approx([5]) and str(line.get_label()) == "looks: 2.00 % for 2 MFLOP"
    assert title(chart).startswith("error, %") and chart.axes[0].get_xscale() == "log"


def test_an_entry_stands_at_the_arithmetic_of_its_model_after_each_glimpse(tmp_path: Path) -> None:
    errors = tuple(0.5 / 2**place for place in range(8))
    path = recorded(tmp_path, "eight", error_after_glimpse=errors)
    (line,) = full(Cost().plot(Request("cost", (path,))))
    assert heights(line) == pytest.approx([100 * error for error in errors])
    assert places(line) == sorted(places(line)) and len(set(places(line))) == 8


def test_rivals_are_lines_where_they_answer_after_each_glimpse_and_dots_elsewhere(tmp_path: Path) -> None:
    """Each of their glimpses costs the same; nothing is seen before the first."""
    names = ("ram-cluttered-60", "draw-cluttered-60")
    after = tuple(0.5 / 2**place for place in range(8))
    paths = [recorded(tmp_path, name, preset_name=name, error_after_glimpse=after) for name in names]
    once = recorded(tmp_path, "once", preset_name="cnn-cluttered-60", error_after_glimpse=(0.01,))
    *lines, dot = full(Cost().plot(Request("cost", (*paths, once))))
    for name, line in zip(names, lines, strict=True):
        whole = flops_of(build(preset(name).model), (1, 60, 60)) / 1e9
        assert places(line) == pytest.approx([whole * count / 8 for count in range(1, 9)])
        assert heights(line) == pytest.approx([100 * error for error in after])
    assert heights(dot) == pytest.approx([1])


def test_a_run_is_measured(weights: str) -> None:
    (line,) = full(Cost().plot(Request("cost", (weights,))))
    torch.manual_seed(0)
    wanted = [flops_of(stawm(TINY.model), (1, 28, 28), count) / 1e9 for count in (1, 2)]
    assert places(line) == pytest.approx(wanted)


def test_it_is_written_and_what_has_no_error_is_refused(tmp_path: Path) -> None:
    kept = recorded(tmp_path, "kept", error_after_glimpse=(0.2, 0.1))
    assert draw_figure("cost", [kept], tmp_path / "cost.svg").stat().st_size > 1000
    drawn = recorded(tmp_path, "drawn", preset_name="mnist-draw-6", scores={"mse": 0.01}, error_after_glimpse=())
    with pytest.raises(UsageError, match="does not classify"):
        draw_figure("cost", [drawn], tmp_path / "cost.png")


def test_a_data_set_has_its_own_marker_and_the_colours_begin_anew():
    named = [("a", "small"), ("b", "small"), ("c", "large"), ("d", "small")]
    lines = error_against_cost([Costs(name, data, (0.5,), (0.05,)) for name, data in named]).axes[0].get_lines()
    small, second, large, third = ((line.get_marker(), line.get_color()) for line in lines)
    assert small[0] == second[0] == third[0] != large[0]
    assert small[1] == large[1]
    assert len({small[1], second[1], third[1]}) == 3
