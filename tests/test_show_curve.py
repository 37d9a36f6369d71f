import numpy as np
import pytest
from PIL import Image

from stawm.errors import UsageError
from stawm.show.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from stawm.show.curve import learning_curve
from stawm.show.sheet import LINES, Colour


def record(epoch: int, error: float, trained: float | None = None) -> dict:
    held_out = {"split": "test", "scores": {"error": error}, "terms": {"cross_entropy": 3 * error}}
    return {
        "epoch": epoch,
        "train": {"error": error if trained is None else trained, "loss": 2.0},
        "held_out": held_out,
    }


def height_of(drawn: Image.Image, colour: Colour, column: float) -> float:
    """Where the line of this colour crosses a column, below the legend."""
    strip = np.asarray(drawn)[:, round(column)].astype(int)
    rows = np.flatnonzero(np.abs(strip - np.array(colour)).max(-1) < 30)
    return float(rows.mean())


def test_line_stands_at_the_error_on_a_logarithmic_scale():
    # From 10 % to 1 %: the axis is exactly that decade, so epoch 2 (sqrt(10) %) stands half-way up.
    drawn = learning_curve({"run": [record(1, 0.1), record(2, 0.1 / 10**0.5), record(3, 0.01)]})
    middle = (LEFT + WIDTH - RIGHT) / 2
    assert height_of(drawn, LINES[0], LEFT + 1) == pytest.approx(TOP, abs=2)
    assert height_of(drawn, LINES[0], middle) == pytest.approx((TOP + HEIGHT - BOTTOM) / 2, abs=2)
    assert height_of(drawn, LINES[0], WIDTH - RIGHT - 8) == pytest.approx(HEIGHT - BOTTOM, abs=4)


def test_runs_have_their_own_colours_and_the_lower_error_is_lower():
    poor, good = [record(1, 0.2), record(2, 0.1), record(3, 0.09)], [record(1, 0.1), record(2, 0.02), record(3, 0.01)]
    drawn = learning_curve({"poor": poor, "good": good})
    middle = (LEFT + WIDTH - RIGHT) / 2
    assert height_of(drawn, LINES[0], middle) < height_of(drawn, LINES[1], middle)


def test_training_error_is_a_second_paler_line():
    apart = learning_curve({"run": [record(1, 0.1, 0.5), record(2, 0.02, 0.3), record(3, 0.01, 0.2)]})
    middle = round((LEFT + WIDTH - RIGHT) / 2)
    blue = np.asarray(apart)[:, middle].astype(int)
    coloured = np.flatnonzero(blue[:, 2] - blue[:, 0] > 20)
    # The axis runs from 1 to 50 %; the thin line stands at 30 %, the full one at 2 %.
    share = np.log(30) / np.log(50)
    assert coloured.min() == pytest.approx(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), abs=2)
    assert blue[coloured.min()].sum() > 1.4 * sum(LINES[0])
    assert height_of(apart, LINES[0], middle) > HEIGHT / 2


@pytest.mark.parametrize("errors", [[0.0], [0.5], [0.1, 0.0], [0.01] * 200])
def test_one_epoch_no_error_and_many_epochs_are_drawn(errors: list[float]):
    drawn = learning_curve({"run": [record(epoch, error) for epoch, error in enumerate(errors, 1)]})
    assert drawn.size == (WIDTH, HEIGHT)
    assert (np.abs(np.asarray(drawn).astype(int) - np.array(LINES[0])).max(-1) < 10).any()


def test_a_task_without_error_shows_its_loss():
    records = [
        {"epoch": epoch, "train": {"loss": loss}, "held_out": {"scores": {}, "terms": {"a": loss / 2, "b": loss / 2}}}
        for epoch, loss in ((1, 10.0), (2, 10**0.5), (3, 1.0))
    ]
    drawn = learning_curve({"run": records})
    assert height_of(drawn, LINES[0], (LEFT + WIDTH - RIGHT) / 2) == pytest.approx((TOP + HEIGHT - BOTTOM) / 2, abs=2)


def test_runs_that_all_draw_show_their_squared_error_even_if_some_classify():
    def drew(epoch: int, mse: float, **more: float) -> dict:
        held_out = {"split": "test", "scores": {"mse": mse, **more}, "terms": {"squared_error": 700.0}}
        return {"epoch": epoch, "train": {"mse": mse, "loss": 700.0, **more}, "held_out": held_out}

    plain = [drew(1, 0.1), drew(2, 0.1 / 10**0.5), drew(3, 0.01)]
    both = [drew(1, 0.1, error=0.9), drew(2, 0.1 / 10**0.5, error=0.9), drew(3, 0.01, error=0.9)]
    for runs in ({"plain": plain}, {"both": both, "plain": plain}):
        middle = height_of(learning_curve(runs), LINES[len(runs) - 1], (LEFT + WIDTH - RIGHT) / 2)
        assert middle == pytest.approx((TOP + HEIGHT - BOTTOM) / 2, abs=2), "half-way down the decade from 0.1 to 0.01"


def test_nothing_to_draw_is_said():
    with pytest.raises(UsageError, match="no finished epoch"):
        learning_curve({"run": []})
