"""Named loss terms and scores."""

from dataclasses import replace
from math import log
from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from stawm.errors import DataError, UsageError
from stawm.model.heads.classify import Classification, Classified
from stawm.model.heads.draw import DrawConfig, Drawing, Drawn, concatenated_divergence, joint_divergence
from stawm.model.heads.head import Answered, Batch, Judge, Objective, known_scores
from tiny_model import heads, small

IMAGES = torch.rand(2, 1, 12, 12)


def test_classification_judges_the_terminal_answer() -> None:
    believed = small()(IMAGES).answer("classify", Classified)
    logits = torch.zeros_like(believed.logits)
    logits[:, -1, 1] = 100.0
    sure = replace(believed, logits=logits)
    batch = Batch(IMAGES, torch.tensor([1, 2]))
    assert Classification().terms(sure, batch)["cross_entropy"].item() == pytest.approx(50.0)
    assert Classification(weight=0.5).terms(sure, batch)["cross_entropy"].item() == pytest.approx(25.0)
    assert Classification().scores(sure, batch)["error"].tolist() == [0.0, 1.0]
    even = replace(believed, logits=torch.zeros_like(logits))
    assert Classification(0.1).terms(even, batch)["cross_entropy"].item() == pytest.approx(log(4))


def test_anytime_weighs_the_answers_before_the_last() -> None:
    """By hand: of three answers the first is wrong by 60, the second even over four classes, the last right."""
    believed = small()(IMAGES).answer("classify", Classified)
    logits = torch.zeros_like(believed.logits)
    logits[:, 0, 3], logits[:, -1, 1] = 60.0, 60.0
    shown = replace(believed, logits=logits)
    batch = Batch(IMAGES, torch.tensor([1, 1]))
    terms = Classification(weight=2, anytime=0.5).terms(shown, batch)
    assert terms["cross_entropy"].item() == pytest.approx(0.0, abs=1e-6)
    assert terms["anytime_entropy"].item() == pytest.approx(2 * 0.5 * (60 + log(4)) / 2)
    assert "anytime_entropy" not in Classification().terms(shown, batch)


def test_drawing_sums_over_pixels_and_weighs_the_divergence_for_each_image() -> None:
    """By hand: a canvas that is wrong by 0.5 everywhere, with a divergence of ½ for each of 3 × 2 latent numbers."""
    drawn = small(heads=heads(latent=2))(IMAGES).answer("draw", Drawn)
    wrong = replace(
        drawn,
        mean=torch.ones(2, 3, 2),
        log_variance=torch.zeros(2, 3, 2),
        painting=replace(drawn.painting, canvas=IMAGES + 0.5),
    )
    batch = Batch(IMAGES, None)
    terms = Drawing(beta=4, weight=2).terms(wrong, batch)
    assert terms["squared_error"].item() == pytest.approx(2 * 0.25 * 144)
    assert terms["divergence"].item() == pytest.approx(2 * 4 / 128 * 3)
    assert Drawing(beta=4, beta_scale=1).terms(wrong, batch)["divergence"].item() == pytest.approx(12)
    assert Drawing().scores(wrong, batch)["mse"].tolist() == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("canvas", ["addition", "bernoulli"])
def test_anytime_weighs_the_canvases_before_the_last(canvas: Literal["addition", "bernoulli"]) -> None:
    """Of three canvases the mean error of the first two, and every sketch has a gradient of its own from it."""
    model = small(heads={"draw": DrawConfig(latent=2, canvas=canvas)})
    drawn = model(IMAGES).answer("draw", Drawn)
    first, second = ((drawn.painting.canvases[:, number] - IMAGES).square().sum() / 2 for number in (0, 1))
    wanted = (first + second) / 2
    terms = Drawing(weight=2, anytime=0.5).terms(drawn, Batch(IMAGES, None))
    assert terms["anytime_error"].item() == pytest.approx(2 * 0.5 * float(wanted.detach()), rel=1e-5)
    (gradient,) = torch.autograd.grad(terms["anytime_error"], drawn.sketches)
    assert [float(part.abs().sum()) > 0 for part in gradient.unbind(1)] == [True, True, False]
    assert "anytime_error" not in Drawing().terms(drawn, Batch(IMAGES, None))


def test_cover_weighs_what_all_sketches_after_the_first_hide() -> None:
    """By hand: masks of 0.25, 0.5 and 1 everywhere; a model without masks has no such term."""
    drawn = small(heads=heads(latent=2, canvas="bernoulli"))(IMAGES).answer("draw", Drawn)
    covers = torch.tensor([0.25, 0.5, 1.0])[:, None, None, None].expand(2, 3, 1, 12, 12)
    covered = replace(drawn, painting=replace(drawn.painting, covers=covers))
    batch = Batch(IMAGES, None)
    assert Drawing(weight=2, cover=0.1).terms(covered, batch)["cover"].item() == pytest.approx(2 * 0.1 * 1.5 * 144)
    assert "cover" not in Drawing().terms(covered, batch)
    added = small(heads=heads(latent=2))(IMAGES).answer("draw", Drawn)
    assert "cover" not in Drawing(cover=0.1).terms(added, batch)


def test_a_head_that_learns_pays_for_what_it_sampled_and_not_for_its_chances() -> None:
    """Of three sketches that lie over each other; what is told of its masks is told of the chances."""
    model = small(heads=heads(latent=2, canvas="bernoulli")).train()
    drawn = model(IMAGES).answer("draw", Drawn)
    masks, covers = drawn.painting.masks, drawn.painting.covers
    assert masks is not None and covers is not None and ((masks > 0).sum(1) > 1).any()
    hidden, likely = (float(part[:, 1:].detach().sum()) / 2 for part in (covers, masks))
    batch = Batch(IMAGES, None, masks[:, -1, 0] >= 0.5)
    assert Drawing(cover=1.0).terms(drawn, batch)["cover"].item() == pytest.approx(hidden)
    assert hidden != pytest.approx(likely, rel=1e-4)
    assert ((covers[:, -1, 0] >= 0.5) != batch.masks).any()
    assert Drawing().scores(drawn, batch)["iou_last"].tolist() == [1.0, 1.0]


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_both_divergences_are_the_closed_form_in_values_and_gradients(batch: int, glimpses: int, latent: int) -> None:
    """Summed over latent dimensions, concatenated and joint agree (Appendix B), and both are torch's own divergence."""
    mean = torch.randn(batch, glimpses, latent, dtype=torch.float64, requires_grad=True)
    log_variance = torch.randn(batch, glimpses, latent, dtype=torch.float64, requires_grad=True)
    deviation = (0.5 * log_variance).exp()
    truth = kl_divergence(Normal(mean, deviation), Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum((1, 2))
    wanted = torch.autograd.grad(truth.square().sum(), (mean, log_variance))
    for divergence in (concatenated_divergence, joint_divergence):
        found = divergence(mean, log_variance)
        torch.testing.assert_close(found, truth, rtol=1e-9, atol=1e-9)
        gradients = torch.autograd.grad(found.square().sum(), (mean, log_variance))
        torch.testing.assert_close(gradients, wanted, rtol=1e-9, atol=1e-9)


def test_a_mean_over_dimensions_would_tell_the_divergences_apart_by_the_number_of_glimpses() -> None:
    mean, log_variance = torch.randn(1, 3, 2), torch.randn(1, 3, 2)
    concatenated = concatenated_divergence(mean, log_variance) / (3 * 2)
    torch.testing.assert_close(joint_divergence(mean, log_variance) / 2, 3 * concatenated)


def test_the_sketchpad_sums_both() -> None:
    model = small(heads=heads(4, latent=2))
    episode, batch = model(IMAGES), Batch(IMAGES, torch.tensor([1, 2]))
    both = Judge({"classify": Classification(), "draw": Drawing()})
    assert set(both.terms(episode, batch)) == {"cross_entropy", "squared_error", "divergence"}
    assert set(both.scores(episode, batch)) == {"error", "mse"}
    assert {name: score.shape for name, score in both.after_each(episode, batch).items()} == {"error": (2, 3)}


def test_two_heads_with_a_term_of_the_same_name_are_refused() -> None:
    """Else the loss of one of them would be left out without a word."""
    answered = Answered(
        {"classify": Classified(torch.zeros(2, 3), torch.zeros(2, 1, 3), torch.zeros(2, 1, 2)), "mine": None}
    )

    class Mine(Objective):
        def terms(self, answer: None, batch: Batch) -> dict[str, Tensor]:
            return {"cross_entropy": torch.tensor(1.0)}

    judge = Judge({"classify": Classification(), "mine": Mine()})
    batch = Batch(torch.zeros(2, 1, 2, 2), torch.tensor([0, 1]))
    with pytest.raises(UsageError, match="cross_entropy"):
        judge.terms(answered, batch)
    assert judge.scores(answered, batch).keys() == {"error"}


def test_classification_needs_labels() -> None:
    with pytest.raises(DataError, match="labels"):
        Classification().terms(small()(IMAGES).answers["classify"], Batch(IMAGES, None))


def test_scores_are_told_as_people_read_them() -> None:
    scores = known_scores()
    assert scores["error"].told(0.0041, 0.0003) == "0.41 % ± 0.03"
    assert scores["mse"].told(0.01283) == "0.0128"
