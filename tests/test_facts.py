"""Facts are told in short sentences, and a departure goes with the setting that it is about."""

import pytest

from stawm.experiments.facts import Departure, Goal, Published, held, told_score


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        (Published("Table 1", "Classification", "error", 0.0041, 0.0003, trials=5), "error 0.41 % ± 0.03 (5 trials)"),
        (Published("Section 4.1", "", "error", 0.0695, trials=1), "error 6.95 % (1 trial)"),
        (Published("Figure 5", "", "mse", 0.0083, 0.0006, note="a note"), "mse 0.0083 ± 0.0006 (a note)"),
        (Published("Figure 8"), "no number"),
        (Goal("error", 0.005, epochs=12), "error 0.50 % within 12 epochs"),
        (Goal("error", 0.06, minutes=1), "error 6.00 % within 1 minute on two cores"),
        (Goal("mse", 0.013), "mse 0.0130"),
    ],
)
def test_numbers_are_told(fact: Published | Goal, told: str) -> None:
    assert fact.told() == told


def test_a_score_of_a_head_that_is_not_known_is_a_plain_number() -> None:
    assert told_score("surprise", 0.25) == "surprise 0.2500"


def test_departures_about_changed_settings_are_dropped() -> None:
    code, one, both = Departure((), "code"), Departure(("a",), "one"), Departure(("a", "b"), "both")
    assert held((code, one, both), []) == (code, one, both)
    assert held((code, one, both), ["b"]) == (code, one)
    assert held((code, one, both), {"a": 1}) == (code,)
