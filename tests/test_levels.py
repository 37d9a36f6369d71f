"""Normalised pictures: the networks see them, people do not; outside a picture is its mean."""

from dataclasses import replace

import pytest
import torch

from stawm.data.data_set import Facts
from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig
from stawm.experiments.own import fitted_to
from stawm.vision.levels import Levels
from tiny_model import SMALL, heads, silent, small

MEAN, DEVIATION = (0.25,), (0.5,)
"""Chosen so that normalised pictures are still within what a model takes for pictures."""


def test_a_model_with_levels_is_one_without_that_is_given_normalised_pictures() -> None:
    """Logits, gradients and glimpses, in float64; some glimpses leave the picture."""
    images = torch.rand(6, 1, 12, 12, dtype=torch.float64)
    plain, seeing = small().double(), small(picture_mean=MEAN, picture_deviation=DEVIATION).double()
    seeing.load_state_dict(plain.state_dict())
    by_hand, episode = plain((images - 0.25) / 0.5), seeing(images)
    torch.testing.assert_close(episode.logits, by_hand.logits)
    torch.testing.assert_close(episode.glimpses, by_hand.glimpses * 0.5 + 0.25)
    assert torch.equal(episode.images, images)
    for model, logits in ((plain, by_hand.logits), (seeing, episode.logits)):
        logits.square().sum().backward()
        assert silent(model) == []
    for (name, one), other in zip(plain.named_parameters(), seeing.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, msg=name)


def test_levels_go_and_come_back_channel_by_channel() -> None:
    levels, images = Levels((0.1, 0.2, 0.3), (0.5, 0.25, 1.0)), torch.rand(2, 3, 4, 5, dtype=torch.float64)
    seen = levels.normalised(images)
    assert float(seen[1, 1, 2, 3]) == pytest.approx((float(images[1, 1, 2, 3]) - 0.2) / 0.25)
    torch.testing.assert_close(levels.restored(seen), images)


def test_means_and_deviations_must_fit_the_channels() -> None:
    for wrong in ({"picture_mean": MEAN}, {"picture_mean": MEAN * 3, "picture_deviation": DEVIATION * 3}):
        with pytest.raises(UsageError, match="for every channel"):
            build(replace(SMALL, **wrong))
    with pytest.raises(UsageError, match="β-VAE"):
        build(replace(SMALL, kind="vae", heads=heads(latent=2), picture_mean=MEAN, picture_deviation=DEVIATION))


def test_pictures_of_other_channels_are_seen_as_they_are() -> None:
    model = replace(SMALL, picture_mean=MEAN, picture_deviation=DEVIATION)
    experiment = Experiment(name="x", model=model, data=DataConfig(name="folder:x"))
    assert fitted_to(experiment, Facts((1, 20, 20), ("a", "b"))).model.picture_mean == MEAN
    colour = fitted_to(experiment, Facts((3, 20, 20), ("a", "b"))).model
    assert colour.image == ImageConfig(3, 20, 20) and colour.picture_mean == colour.picture_deviation == ()
