"""Learning rates and numbers of glimpses worked out by hand, and the average of weights."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from stawm.experiments.experiment import ModelConfig, TrainingConfig
from stawm.training.averages import average_decay, update_average
from stawm.training.schedule import FLOOR, epochs_left, glimpses_in, learning_rate, size_in

BASE = TrainingConfig(epochs=10, learning_rate=0.5, schedule="constant")


def test_constant_stays():
    assert {learning_rate(BASE, step, 7) for step in range(70)} == {0.5}


def test_decay_falls_after_each_epoch_and_by_ten_after_each_milestone():
    config = replace(BASE, schedule="decay", decay=0.9, milestones=(2, 5))
    rates = [learning_rate(config, step, 4) for step in range(40)]
    assert rates[0] == rates[3] == 0.5
    assert rates[4] == pytest.approx(0.5 * 0.9)
    assert rates[7] == pytest.approx(0.5 * 0.9)
    assert rates[8] == pytest.approx(0.5 * 0.9**2 / 10)
    assert rates[20] == pytest.approx(0.5 * 0.9**5 / 100)
    assert rates[39] == pytest.approx(0.5 * 0.9**9 / 100)


def test_one_cycle_rises_to_the_peak_and_falls_along_a_cosine_to_almost_nothing():
    config = replace(BASE, schedule="one-cycle", warmup=0.2)
    rates = [learning_rate(config, step, 10) for step in range(100)]
    assert rates[:20] == pytest.approx([0.5 * (step + 1) / 20 for step in range(20)], rel=1e-3)
    assert max(rates) == rates[19] == 0.5
    assert rates[59] == pytest.approx(0.25, rel=1e-3)
    assert rates[39] == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)) / 2, rel=1e-3)
    assert rates[99] == pytest.approx(0.5 * FLOOR)
    assert rates[20:] == sorted(rates[20:], reverse=True)


@pytest.mark.parametrize("schedule", ["constant", "decay"])
def test_warm_up_applies_to_the_other_schedules_too(schedule):
    config = replace(BASE, schedule=schedule, warmup=0.1, decay=0.99)
    plain = replace(config, warmup=0.0)
    assert [learning_rate(config, step, 5) / learning_rate(plain, step, 5) for step in range(7)] == pytest.approx(
        [0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 1.0]
    )


def test_average_forgets_its_start_quickly_then_slowly():
    assert average_decay(0.99, 0) == 0.1
    assert average_decay(0.99, 90) == pytest.approx(0.91)
    assert average_decay(0.99, 10_000) == 0.99


def test_average_takes_weights_and_running_statistics_and_copies_whole_numbers():
    average, model = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    nn.init.constant_(model.weight, 3.0)
    model(torch.tensor([[0.0, 10.0], [2.0, 30.0]]))
    update_average(average, model, 0.75)
    assert average.weight.tolist() == [1.5, 1.5]
    assert average.running_mean is not None and model.running_mean is not None
    assert model.running_mean.tolist() == pytest.approx([0.1, 2.0])
    assert average.running_mean.tolist() == pytest.approx([0.025, 0.5])
    assert average.num_batches_tracked == model.num_batches_tracked == 1
    assert model.weight.tolist() == [3.0, 3.0]


def test_glimpses_grow_by_equal_parts_of_the_run():
    grown = replace(BASE, epochs=10, glimpses=(2, 4, 8))
    model = ModelConfig(glimpses=8)
    assert [glimpses_in(grown, model, epoch) for epoch in range(10)] == [2, 2, 2, 4, 4, 4, 8, 8, 8, 8]
    assert [glimpses_in(BASE, model, epoch) for epoch in range(10)] == [8] * 10


def test_a_run_of_fewer_epochs_than_parts_ends_with_all_glimpses():
    model = ModelConfig(glimpses=8)
    assert glimpses_in(replace(BASE, epochs=1, glimpses=(2, 4, 8)), model, 0) == 8
    assert [glimpses_in(replace(BASE, epochs=2, glimpses=(2, 4, 8)), model, epoch) for epoch in (0, 1)] == [4, 8]


def test_what_is_left_counts_glimpses():
    model = ModelConfig(glimpses=8)
    assert epochs_left(BASE, model, 3, 0.25) == pytest.approx(6.75)
    assert epochs_left(replace(BASE, epochs=4, glimpses=(2, 8)), model, 0, 0.5) == pytest.approx(0.5 + 1 + 4 + 4)
    assert epochs_left(replace(BASE, epochs=4, glimpses=(2, 8)), model, 3, 1.0) == 0


@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 10, 32])
@pytest.mark.parametrize("parts", [(), (2, 8), (2, 4, 8), (1, 1, 2, 4, 8)])
def test_what_is_left_is_the_sum_of_all_later_epochs(epochs: int, parts: tuple[int, ...]):
    config, model = replace(BASE, epochs=epochs, glimpses=parts), ModelConfig(glimpses=8)
    for epoch in range(epochs):
        later = sum(glimpses_in(config, model, one) for one in range(epoch + 1, epochs))
        assert epochs_left(config, model, epoch, 0.0) == pytest.approx(1 + later / glimpses_in(config, model, epoch))


def test_sides_grow_by_equal_parts_of_the_run():
    model = ModelConfig(glimpse_height=32, glimpse_width=32)
    grown = replace(BASE, epochs=5, sides=(20, 32))
    assert [size_in(grown, model, epoch) for epoch in range(5)] == 2 * [(20, 20)] + 3 * [(32, 32)]
    oblong = replace(model, glimpse_width=16)
    assert {size_in(BASE, oblong, epoch) for epoch in range(10)} == {(32, 16)}


@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 10, 32])
def test_what_is_left_counts_pixels_where_number_and_side_change_apart(epochs: int):
    config = replace(BASE, epochs=epochs, glimpses=(1, 1, 1, 1, 4), sides=(10, 16, 20))
    model = ModelConfig(glimpses=4, glimpse_height=20, glimpse_width=20)
    costs = [glimpses_in(config, model, one) * size_in(config, model, one)[0] ** 2 for one in range(epochs)]
    for epoch, cost in enumerate(costs):
        assert epochs_left(config, model, epoch, 0.25) == pytest.approx(0.75 + sum(costs[epoch + 1 :]) / cost)


def test_what_is_left_of_the_longest_run_is_told_at_once():
    assert epochs_left(replace(BASE, epochs=1_000_000_000), ModelConfig(glimpses=8), 0, 0.5) == 999_999_999.5
