import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from stawm.errors import UsageError
from stawm.model.heads.draw import DrawConfig
from stawm.show.draw import draw_figure
from stawm.show.figures.anytime import Anytime, error_after_each
from stawm.show.plot import Run
from stawm.show.request import Request
from stawm.store.weights import export
from tiny_chart import full, heights, places, reach, title
from tiny_entry import entry
from tiny_model import stawm
from tiny_run import TINY, with_model


def recorded(folder: Path, name: str, errors: tuple[float, ...], seed: int = 0) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(entry(name, seed=seed, error_after_glimpse=errors).to_dict()))
    return str(path)


def test_each_glimpse_stands_at_its_error_with_the_first_and_the_last_in_the_legend():
    chart = error_after_each([Run("model", found=[0.1, 0.03, 0.01])])
    (line,) = full(chart)
    assert heights(line) == pytest.approx([10.0, 3.0, 1.0])
    assert places(line) == [1, 2, 3]
    assert chart.axes[0].get_yscale() == "log"
    assert str(line.get_label()) == "model: 10.00 to 1.00 %"


def test_a_model_with_fewer_glimpses_ends_earlier():
    _, two = full(error_after_each([Run("three", found=[0.1, 0.05, 0.02]), Run("two", found=[0.09, 0.01])]))
    assert places(two) == [1, 2]


def test_seeds_are_one_line_with_bars():
    models = [Run(f"tiny-seed{seed}", replace(TINY, seed=seed), found=[0.02 + 0.02 * seed]) for seed in range(3)]
    chart = error_after_each(models)
    (line,) = full(chart)
    assert heights(line) == pytest.approx([4.0])
    assert reach(chart) == pytest.approx((2.0, 6.0))


def test_validation_and_test_pictures_are_not_mixed():
    both = [Run(split, replace(TINY, seed=seed), split, [0.1]) for seed, split in enumerate(("test", "validation"))]
    chart = error_after_each(both)
    assert len(full(chart)) == 2
    assert "held-out" in title(chart)


@pytest.mark.parametrize("errors", [[0.0], [0.3], [0.1, 0.0]])
def test_one_glimpse_and_no_error_are_drawn(errors: list[float]):
    chart = error_after_each([Run("model", found=errors)])
    chart.draw_without_rendering()
    low, high = chart.axes[0].get_ylim()
    assert all(low <= height <= high for height in heights(full(chart)[0]))


def test_a_model_without_answers_is_refused():
    with pytest.raises(UsageError, match="draws"):
        error_after_each([Run("draws")])


def test_it_takes_models_and_entries_of_the_ledger(tmp_path: Path):
    folder = export(stawm(TINY.model), TINY, tmp_path / "weights")
    known = recorded(tmp_path, "recorded", (0.05, 0.02))
    measured, read = full(Anytime().plot(Request("anytime", (str(folder), known))))
    assert len(heights(measured)) == TINY.model.glimpses
    assert heights(read) == pytest.approx([5.0, 2.0])
    assert draw_figure("anytime", [known]) == tmp_path / "anytime.png", "beside the ledger's file"


def test_entries_without_answers_are_left_out_with_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    runs = (recorded(tmp_path, "silent", ()), recorded(tmp_path, "answers", (0.05, 0.02)))
    with caplog.at_level(logging.WARNING):
        (line,) = full(Anytime().plot(Request("anytime", runs)))
    assert str(line.get_label()).startswith("answers")
    assert "1 of 2" in caplog.text
    with pytest.raises(UsageError, match="silent"):
        Anytime().plot(Request("anytime", runs[:1]))


def test_a_model_that_only_draws_is_refused(tmp_path: Path):
    drawing = with_model(heads={"draw": DrawConfig(latent=2)})
    folder = export(stawm(drawing.model), drawing, tmp_path / "weights")
    with pytest.raises(UsageError, match="weights"):
        draw_figure("anytime", [str(folder)])
