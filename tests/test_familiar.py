"""A judgement tells features of its own kind from others, refuses few of its own, and reads every kind of model."""

import pytest
import torch

from stawm.experiments.experiment import ModelConfig
from stawm.trust.familiar import (
    REFUSED,
    Judgement,
    drawing_against,
    features_of,
    fit_judgement,
    judgement_of,
    tensors_of,
)
from tiny_drawing import drawing_config, drawing_model
from tiny_model import SMALL, small


@pytest.fixture(scope="module")
def judgement() -> Judgement:
    generator = torch.Generator().manual_seed(0)
    own, strange, held = (torch.randn(count, 6, generator=generator) for count in (300, 300, 400))
    return fit_judgement(own, strange + 3, held)


def test_its_own_kind_is_recognised_and_strangers_are_not(judgement: Judgement):
    generator = torch.Generator().manual_seed(1)
    fresh = torch.randn(2000, 6, generator=generator)
    recognised = (judgement.output(fresh) >= judgement.threshold).float().mean()
    assert recognised > 1 - 3 * REFUSED
    assert (judgement.output(fresh + 3) >= judgement.threshold).float().mean() < 0.1


def test_the_median_of_held_out_pictures_scores_nine_tenths():
    held = torch.randn(101, 4)
    found = fit_judgement(torch.randn(60, 4), torch.randn(60, 4) + 2, held)
    scores = torch.sigmoid((found.output(held) - found.threshold) / found.unit)
    assert float(scores.median()) == pytest.approx(0.9, abs=1e-4)
    assert (scores < 0.5).float().mean() <= REFUSED


def test_features_far_away_count_no_more_than_a_few_deviations(judgement: Judgement):
    far = torch.full((1, 6), 1e6)
    torch.testing.assert_close(judgement.output(far), judgement.output(10 * far))


def test_fitting_draws_no_random_numbers_of_the_callers():
    state = torch.get_rng_state()
    fit_judgement(torch.zeros(8, 2) + torch.eye(8, 2), torch.ones(8, 2), torch.zeros(50, 2))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("config", [SMALL, drawing_config(classes=0), drawing_config("bernoulli")])
def test_models_of_every_kind_have_features(config: ModelConfig):
    model = drawing_model(config) if config.draws else small().eval()
    shape = config.image.shape
    with torch.inference_mode():
        features = features_of(model(torch.rand(3, *shape)))
        one = features_of(model(torch.zeros(1, *shape)))
    assert features.shape[1:] == one.shape[1:]
    assert features.isfinite().all() and one.isfinite().all()


def test_a_perfect_drawing_has_no_error():
    image = torch.rand(2, 1, 5, 4)
    log_error, share, missing, surplus, cosine = drawing_against(image[:, None], image).T
    assert torch.stack([log_error, share, missing, surplus]).abs().max() == 0
    torch.testing.assert_close(cosine, torch.ones(2))
    blank = drawing_against(torch.zeros(2, 1, 1, 5, 4), image)
    assert (blank[:, 3] == 0).all() and (blank[:, 1] == blank[:, 2]).all() and (blank[:, 2] > 0).all()


def test_it_is_kept_as_tensors(judgement: Judgement):
    again = judgement_of(tensors_of(judgement))
    features = torch.randn(20, 6)
    torch.testing.assert_close(again.output(features), judgement.output(features), rtol=1e-2, atol=1e-2)
