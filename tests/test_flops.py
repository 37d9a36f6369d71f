"""The arithmetic of a look, against a count by hand."""

import pytest
import torch
from torch import nn

from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import CnnConfig
from stawm.experiments.presets import preset
from stawm.measure.flops import flops_of
from tiny_model import small


def test_a_layer_costs_two_operations_for_each_weight_and_place() -> None:
    layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(4 * 10 * 10, 7))
    assert flops_of(layers, (1, 12, 12)) == 2 * (9 * 4 * 100 + 400 * 7)


def test_each_further_glimpse_adds_about_the_same() -> None:
    model = small().eval()
    costs = [flops_of(model, (1, 12, 12), count) for count in (1, 2, 3, 4)]
    assert costs[2] == flops_of(model, (1, 12, 12))
    first, second, third = costs[1] - costs[0], costs[2] - costs[1], costs[3] - costs[2]
    hidden, features = 20, 6 * 9
    # The two RNN cells of a later glimpse, its convolution, and the layer of features, at the least.
    assert second >= 2 * (2 * 8 * hidden * hidden + features * 9 + features * hidden)
    assert 0.9 * second <= third <= 1.1 * second
    # At the second glimpse the aggregator has no state yet that would be multiplied.
    without = second - 2 * 4 * hidden * hidden
    assert 0.9 * without <= first <= 1.1 * without


def test_the_cost_of_a_model_with_a_fixed_overview_does_not_grow_with_the_picture() -> None:
    model = small(overview_size=6, context=CnnConfig(filters=(4,), strides=(2,)))
    assert flops_of(model, (1, 12, 12)) == flops_of(model, (1, 96, 96))
    with torch.device("cpu"):
        whole = small()
    with pytest.raises(Exception, match="12"):
        flops_of(whole, (1, 96, 96))


def test_who_answers_once_cannot_be_stopped_before() -> None:
    with pytest.raises(UsageError, match="after each glimpse"):
        flops_of(build(preset("cifar10-vae").model), (3, 32, 32), 2)
