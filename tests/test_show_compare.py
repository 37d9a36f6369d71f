from pathlib import Path

import pytest
from matplotlib.figure import Figure

from stawm.errors import UsageError
from stawm.ledger.comparison import Comparison, write_comparison
from stawm.show.draw import draw_figure
from stawm.show.figures.compare import compared
from tiny_chart import full, heights, places, title
from tiny_grid import comparison

SIDES = {"memory.rule": ["hebb", "delta"], "pairs": ["16", "4"]}
FOUND = {("hebb", "16"): [0.4, 0.6], ("hebb", "4"): [0.1, 0.3], ("delta", "16"): [0.02, 0.04]}
AGES = {cell: [[error, error / 2, error / 4] for error in errors] for cell, errors in FOUND.items()}


@pytest.fixture
def grid() -> Comparison:
    return comparison(SIDES, FOUND, lists=AGES)


def labels(chart: Figure) -> list[str]:
    return [label.get_text() for label in chart.axes[0].get_xticklabels()]


def test_numbers_stand_across_in_their_order_with_a_line_for_each_of_the_others(grid: Comparison):
    chart = compared(grid)
    hebb, delta = full(chart)
    assert (hebb.get_label(), delta.get_label()) == ("hebb", "delta")
    assert places(hebb) == [4, 16] and places(delta) == [16]
    assert heights(hebb) == pytest.approx([20.0, 50.0])
    assert labels(chart) == ["4", "16"]
    assert chart.axes[0].get_xlabel() == "pairs"
    assert "error" in title(chart) and "standard deviation" in title(chart)
    chart.draw_without_rendering()


def test_names_stand_across_as_bars(grid: Comparison):
    for x in ("memory.rule", "rule"):
        chart = compared(grid, x)
        axes = chart.axes[0]
        assert labels(chart) == ["hebb", "delta"]
        sixteen, four = (container for container in axes.containers if container.get_label() in ("pairs 16", "pairs 4"))
        assert [bar.get_height() for bar in sixteen] == pytest.approx([50.0, 3.0])  # pyright: ignore
        assert next(iter(four)).get_height() == pytest.approx(20.0)  # pyright: ignore
        assert axes.get_ylim()[0] == 0
        chart.draw_without_rendering()


def test_a_list_is_drawn_against_its_places(grid: Comparison):
    chart = compared(grid, score="error_by_age")
    lines = full(chart)
    assert [line.get_label() for line in lines] == ["hebb, pairs 16", "hebb, pairs 4", "delta, pairs 16"]
    assert places(lines[0]) == [1, 2, 3]
    assert heights(lines[0]) == pytest.approx([50.0, 25.0, 12.5])
    assert "age" in chart.axes[0].get_xlabel()


def test_what_cannot_be_drawn_is_told(grid: Comparison):
    for x, score, named in (("sizes", "", "memory.rule, pairs"), ("", "mse", "error, error_by_age")):
        with pytest.raises(UsageError, match=named):
            compared(grid, x, score)
    with pytest.raises(UsageError, match="finished"):
        compared(comparison(SIDES, {}))
    with pytest.raises(UsageError, match="seed"):
        compared(comparison({}, {(): [0.1]}))


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_an_entry_of_the_ledger_is_drawn_into_a_file(grid: Comparison, ending: str, tmp_path: Path):
    path = write_comparison(tmp_path, grid)
    out = draw_figure("compare", [str(path)], tmp_path / f"chart.{ending}", x="pairs")
    assert out.stat().st_size > 5000
