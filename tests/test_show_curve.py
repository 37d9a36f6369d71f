from dataclasses import replace

import pytest

from stawm.errors import UsageError
from stawm.model.heads.head import HEADS, Score
from stawm.show.figures.curve import learning_curve
from stawm.show.plot import Run
from tiny_chart import full, heights, places, reach, record, title
from tiny_run import TINY


def run(name: str, errors: list[float], seed: int | None = None) -> Run:
    experiment = None if seed is None else replace(TINY, seed=seed)
    return Run(name, experiment, found=[record(epoch, error) for epoch, error in enumerate(errors, 1)])


def test_the_error_is_drawn_in_per_cent_on_a_logarithmic_scale_that_ends_at_round_numbers():
    chart = learning_curve([run("run", [0.1, 0.03, 0.012])])
    axes = chart.axes[0]
    assert heights(full(chart)[0]) == pytest.approx([10.0, 3.0, 1.2])
    assert places(full(chart)[0]) == [1, 2, 3]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim() == pytest.approx((1.0, 10.0))
    chart.draw_without_rendering()
    shown = {label.get_text() for label in axes.get_yticklabels()}
    assert {"1", "2", "5", "10"} <= shown, "numbers as people write them"


def test_each_run_has_a_line_of_its_own_colour_and_its_end_in_the_legend():
    chart = learning_curve([run("poor", [0.2, 0.09]), run("good", [0.1, 0.01])])
    poor, good = full(chart)
    assert poor.get_color() != good.get_color()
    assert [str(line.get_label()) for line in (poor, good)] == ["poor: 9.00 %", "good: 1.00 %"]


def test_more_runs_than_colours_differ_in_style():
    chart = learning_curve([run(f"run {place}", [0.1, 0.05]) for place in range(14)])
    assert len({(line.get_color(), line.get_linestyle()) for line in full(chart)}) == 14


def test_training_is_a_thinner_paler_line_of_the_same_colour():
    chart = learning_curve([Run("run", found=[record(1, 0.1, 0.5), record(2, 0.02, 0.3)])])
    thin, thick = chart.axes[0].lines
    assert heights(thin) == pytest.approx([50.0, 30.0])
    assert thin.get_linewidth() < thick.get_linewidth()
    assert thin.get_alpha() is not None
    assert thin.get_color() == thick.get_color()


def test_runs_that_differ_only_in_their_seed_are_one_line_with_a_band():
    seeds = [run(f"tiny-seed{seed}", [0.1 * (seed + 1), 0.01 * (seed + 1)], seed) for seed in range(3)]
    chart = learning_curve([*seeds, run("other", [0.5, 0.5])])
    mean, _ = full(chart)
    assert heights(mean) == pytest.approx([20.0, 2.0])
    assert str(mean.get_label()) == "tiny, seeds 0, 1, 2: 2.00 % ± 1.00"
    assert reach(chart) == pytest.approx((1.0, 30.0))
    assert "standard deviation" in title(chart)


@pytest.mark.parametrize("errors", [[0.0], [0.5], [0.1, 0.0], [0.01] * 200, [1e-9, 1.0]])
def test_one_epoch_no_error_and_many_epochs_are_drawn(errors: list[float]):
    chart = learning_curve([run("run", errors)])
    chart.draw_without_rendering()
    low, high = chart.axes[0].get_ylim()
    assert 0 < low < high
    assert all(low <= height <= high for height in heights(full(chart)[0])), "zero sits on the lower edge"


def test_a_task_without_scores_shows_its_loss():
    records = [
        {"epoch": epoch, "train": {"loss": loss}, "held_out": {"scores": {}, "terms": {"a": loss / 2, "b": loss / 2}}}
        for epoch, loss in ((1, 10.0), (2, 4.0))
    ]
    assert heights(full(learning_curve([Run("run", found=records)]))[0]) == pytest.approx([10.0, 4.0])


def test_a_loss_below_zero_has_a_linear_scale():
    records = [{"epoch": 1, "train": {"loss": 1.0}, "held_out": {"scores": {}, "terms": {"a": -2.0}}}]
    chart = learning_curve([Run("run", found=records)])
    assert chart.axes[0].get_yscale() == "linear"
    assert heights(full(chart)[0]) == [-2.0]


def drew(name: str, **scores: float) -> Run:
    held_out = {"split": "test", "scores": scores, "terms": {"squared_error": 700.0}}
    return Run(name, found=[{"epoch": 1, "train": {"loss": 700.0, **scores}, "held_out": held_out}])


def test_runs_that_all_draw_show_their_squared_error_even_if_some_classify():
    chart = learning_curve([drew("both", mse=0.1, error=0.9), drew("plain", mse=0.01)])
    assert [heights(line) for line in full(chart)] == [[0.1], [0.01]]


def test_the_scores_are_those_of_the_heads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(HEADS["draw"], "measured", (Score("distance", "how far off", unit="mm", digits=1),))
    chart = learning_curve([drew("run", distance=3.0)])
    assert "how far off, mm" in title(chart)
    assert str(full(chart)[0].get_label()) == "run: 3.0 mm"


def test_nothing_to_draw_is_said():
    with pytest.raises(UsageError, match="epoch"):
        learning_curve([Run("run")])
