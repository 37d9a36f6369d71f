"""Both canvas methods, against loops over pixels, and by what they promise."""

import math
from typing import Literal

import pytest
import torch
from torch import Tensor

import oracle_canvas
from stawm.vision.canvas import AdditionCanvas, BernoulliCanvas, Painting, concrete, concrete_mean
from stawm.vision.glimpse import identity_pose, paste
from tiny_seed import SHIFT

BOTH = pytest.mark.parametrize("canvas", [AdditionCanvas(), BernoulliCanvas()])


def identities(batch: int, glimpses: int) -> Tensor:
    return identity_pose().double().expand(batch, glimpses, 2, 3)


def strokes(channels: int, batch: int = 2, glimpses: int = 3) -> tuple[Tensor, Tensor]:
    """Sketches of 3×4, and inverse poses that turn, mirror, shift and shrink them, in part past the canvas."""
    sketches = 2 * torch.randn(batch, glimpses, channels, 3, 4, dtype=torch.float64)
    poses = identities(batch, glimpses) * 1.5 + 0.5 * torch.randn(batch, glimpses, 2, 3, dtype=torch.float64)
    return sketches.requires_grad_(), poses.requires_grad_()


def assert_equal_with_gradients(ours: Tensor, truth: Tensor, inputs: tuple[Tensor, Tensor]) -> None:
    torch.testing.assert_close(ours, truth)
    weights = torch.randn_like(truth)
    for mine, true in zip(
        torch.autograd.grad(ours, inputs, weights), torch.autograd.grad(truth, inputs, weights), strict=True
    ):
        assert true.abs().max() > 1e-3
        torch.testing.assert_close(mine, true)


@pytest.mark.parametrize("start", [-6.0, 0.0])
def test_addition_is_the_papers_equation(start: float) -> None:
    inputs = strokes(2)
    painting = AdditionCanvas(start).paint(*inputs, 5, 6, sample=True)
    assert_equal_with_gradients(painting.canvases, oracle_canvas.addition(*inputs, 5, 6, start), inputs)
    assert painting.masks is None


@pytest.mark.parametrize("temperature", [2.0, 0.5])
def test_sampled_bernoulli_is_the_papers_equation(temperature: float) -> None:
    inputs = strokes(3)
    noise = torch.rand(2, 3, 1, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    painting = BernoulliCanvas(temperature).paint(
        *inputs, 5, 6, sample=True, generator=torch.Generator().manual_seed(7)
    )
    assert painting.masks is not None and (painting.masks == 0).any() and (painting.masks > 0.5).any()
    truth = oracle_canvas.bernoulli(*inputs, 5, 6, temperature, noise)
    assert_equal_with_gradients(painting.canvases, truth, inputs)


def test_mean_bernoulli_is_the_papers_equation_with_alpha_for_the_mask() -> None:
    inputs = strokes(3)
    painting = BernoulliCanvas().paint(*inputs, 5, 6, sample=False)
    assert_equal_with_gradients(painting.canvases, oracle_canvas.bernoulli(*inputs, 5, 6, 2.0, None), inputs)


@pytest.mark.parametrize("mean", ["bernoulli", "concrete"])
@pytest.mark.parametrize("sample", [True, False])
def test_covers_are_what_was_painted_by_and_masks_the_chances_of_it(
    mean: Literal["bernoulli", "concrete"], sample: bool
) -> None:
    """Of sketches that overlap; the two are the same only where covers are means and these are alpha itself."""
    sketches, poses = strokes(3)
    chance, again = (torch.Generator().manual_seed(7 + SHIFT) for _ in range(2))
    painting = BernoulliCanvas(2.0, mean).paint(sketches, poses, 5, 6, sample=sample, generator=chance)
    masks, covers = painting.masks, painting.covers
    assert masks is not None and covers is not None and ((masks > 0).sum(1) > 1).any()
    alpha = paste(torch.sigmoid(sketches[:, :, 2:]).flatten(0, 1), poses.flatten(0, 1), 5, 6).unflatten(0, (2, 3))
    torch.testing.assert_close(masks, alpha)
    noise = torch.rand(2, 3, 1, 5, 6, generator=again, dtype=torch.float64)
    means = alpha if mean == "bernoulli" else concrete_mean(alpha, 2.0)
    torch.testing.assert_close(covers, concrete(alpha, 2.0, noise) if sample else means)
    inside = (alpha > 0) & (alpha < 1)
    apart = (covers - masks)[inside].abs().mean()
    assert apart == 0 if (mean, sample) == ("bernoulli", False) else apart > 0.03
    stages = torch.zeros(2, 2, 5, 6, dtype=torch.float64)
    for number in range(3):
        stages = stages * (1 - covers[:, number]) + painting.sketches[:, number] * covers[:, number]
        torch.testing.assert_close(painting.canvases[:, number], stages)


@BOTH
def test_a_stage_depends_only_on_the_sketches_so_far(canvas: AdditionCanvas | BernoulliCanvas) -> None:
    sketches, poses = strokes(canvas.channels(3), glimpses=4)
    whole = canvas.paint(sketches, poses, 6, 5, sample=False)
    part = canvas.paint(sketches[:, :2], poses[:, :2], 6, 5, sample=False)
    torch.testing.assert_close(part.canvases, whole.canvases[:, :2])
    torch.testing.assert_close(part.canvas, whole.canvases[:, 1])
    assert whole.canvases.shape == whole.sketches.shape == (2, 4, 3, 6, 5)
    assert whole.canvases.min() >= 0 and whole.canvases.max() <= 1


def test_an_untouched_canvas_is_black_or_grey() -> None:
    nothing = torch.zeros(1, 2, 1, 4, 4, dtype=torch.float64)
    for start, shade in ((-6.0, 1 / (1 + math.exp(6))), (0.0, 0.5)):
        painted = AdditionCanvas(start).paint(nothing, identities(1, 2), 4, 4, sample=False).canvas
        torch.testing.assert_close(painted, torch.full_like(painted, shade))


def test_an_opaque_stroke_replaces_and_a_clear_one_leaves() -> None:
    """Sketches over all of the canvas: the first white, the second of one shade, with a mask of the left half."""
    sketches = torch.full((1, 2, 2, 4, 4), 60.0, dtype=torch.float64)
    sketches[0, 1, 0] = math.log(0.3 / 0.7)
    sketches[0, 1, 1, :, 2:] = -60
    expected = torch.ones(4, 4, dtype=torch.float64)
    expected[:, :2] = 0.3
    for sample in (True, False):
        painting = BernoulliCanvas(0.5).paint(sketches, identities(1, 2), 4, 4, sample=sample)
        torch.testing.assert_close(painting.canvas[0, 0], expected, rtol=0, atol=0.01)


@pytest.mark.parametrize("sample", [True, False])
@BOTH
def test_a_sketch_that_misses_the_canvas_changes_nothing(
    canvas: AdditionCanvas | BernoulliCanvas, sample: bool
) -> None:
    sketches = 60 * torch.randn(1, 2, canvas.channels(1), 4, 4)
    poses = identity_pose().repeat(1, 2, 1, 1)
    poses[:, 1, :, 2] = 9
    sketches.requires_grad_()
    poses.requires_grad_()
    painting = canvas.paint(sketches, poses, 5, 5, sample=sample)
    torch.testing.assert_close(painting.canvases[:, 1], painting.canvases[:, 0], rtol=1e-6, atol=0)
    painting.canvases.sum().backward()
    assert sketches.grad is not None and poses.grad is not None
    assert sketches.grad.isfinite().all() and poses.grad.isfinite().all()
    assert sketches.grad[:, 1].abs().max() == 0 and poses.grad[:, 1].abs().max() == 0


def test_chance_comes_from_the_generator_and_only_when_asked() -> None:
    sketches, poses = strokes(2)

    def painted(seed: int, sample: bool) -> Painting:
        return BernoulliCanvas().paint(
            sketches, poses, 5, 5, sample=sample, generator=torch.Generator().manual_seed(seed)
        )

    assert torch.equal(painted(1, True).canvas, painted(1, True).canvas)
    assert not torch.equal(painted(1, True).canvas, painted(2, True).canvas)
    assert torch.equal(painted(1, False).canvas, painted(2, False).canvas)


@pytest.mark.parametrize(("mean", "temperature"), [("bernoulli", 0.01), ("concrete", 2.0)])
def test_evaluation_paints_the_mean_of_what_is_sampled(mean: str, temperature: float) -> None:
    """4,000 paintings of three overlapping sketches: their mean is within four standard errors (at most 0.5/√4000)."""
    canvas = BernoulliCanvas(temperature, mean)  # pyright: ignore[reportArgumentType]
    sketches = 2 * torch.randn(1, 3, 2, 3, 3)
    poses = identity_pose().repeat(1, 3, 1, 1)
    expected = canvas.paint(sketches, poses, 3, 3, sample=False).canvas[0]
    many = canvas.paint(sketches.repeat(4000, 1, 1, 1, 1), poses.repeat(4000, 1, 1, 1), 3, 3, sample=True).canvas
    torch.testing.assert_close(many.mean(0), expected, rtol=0, atol=4 * 0.5 / math.sqrt(4000))
    other = BernoulliCanvas(2.0, "concrete" if mean == "bernoulli" else "bernoulli")
    assert (many.mean(0) - other.paint(sketches, poses, 3, 3, sample=False).canvas[0]).abs().max() > 0.05


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_concrete_tends_to_bernoulli_as_it_cools(p: float) -> None:
    """20,000 samples: the mean comes to p and the values to 0 and 1; rounded, they are Bernoulli at any temperature."""
    probability, noise = torch.full((20_000,), p), torch.rand(20_000)
    four_errors = 4 * math.sqrt(p * (1 - p) / 20_000)
    shares = []
    for temperature in (2.0, 0.5, 0.1, 0.01):
        samples = concrete(probability, temperature, noise)
        shares.append(((samples < 0.01) | (samples > 0.99)).double().mean().item())
        assert (samples > 0.5).double().mean().item() == pytest.approx(p, abs=four_errors)
    assert shares == sorted(shares) and shares[0] < 0.1 and shares[-1] > 0.97
    assert samples.mean().item() == pytest.approx(p, abs=four_errors + 0.005)


@pytest.mark.parametrize("temperature", [2.0, 1.0, 0.05])
def test_concrete_is_safe_at_the_ends(temperature: float) -> None:
    """Certain probabilities are returned as they are; tiny ones and noise at the ends give finite slopes."""
    probability = torch.tensor([0.0, 1.0, 1e-38, 1 - 6e-8, 1e-5, 0.5, 0.5], requires_grad=True)
    samples = concrete(probability, temperature, torch.tensor([0.9, 0.1, 0.5, 0.5, 0.5, 0.0, 1 - 6e-8]))
    assert samples[0] == 0 and samples[1] == 1
    assert (samples >= 0).all() and (samples <= 1).all()
    (slope,) = torch.autograd.grad(samples.sum(), probability)
    assert slope.isfinite().all() and slope[0] == 0 and slope[1] == 0


def test_the_mean_of_concrete_is_the_mean_of_its_definition() -> None:
    """By a million quantiles of the odds (p/(1 − p) · u/(1 − u))^(1/τ), against our 32."""
    u = (torch.arange(1_000_000, dtype=torch.float64) + 0.5) / 1_000_000
    for p, temperature in ((0.9, 2.0), (0.01, 2.0), (0.9, 1.0), (0.5, 0.3)):
        odds = (p / (1 - p) * u / (1 - u)) ** (1 / temperature)
        exact = (odds / (1 + odds)).mean().item()
        ours = concrete_mean(torch.tensor([p], dtype=torch.float64), temperature).item()
        assert ours == pytest.approx(exact, abs=0.003)


def test_the_mean_of_concrete_has_no_jump_at_its_ends() -> None:
    for end, sign in ((0.0, 1), (1.0, -1)):
        near = end + sign * torch.tensor([0.0, 1e-9, 1e-8, 1e-7], dtype=torch.float64)
        assert (concrete_mean(near, 2.0) - end).abs().tolist() == pytest.approx([0, 4.6e-7, 4.6e-6, 4.6e-5], rel=0.05)
        assert concrete_mean(near[:1].float(), 2.0).item() == end


@BOTH
def test_half_precision_is_painted_in_single(canvas: AdditionCanvas | BernoulliCanvas) -> None:
    sketches = torch.randn(1, 12, canvas.channels(1), 8, 8).bfloat16()
    poses = identity_pose().expand(1, 12, 2, 3).bfloat16()
    painted = canvas.paint(sketches, poses, 28, 28, sample=False).canvas
    exact = canvas.paint(sketches.float(), poses.float(), 28, 28, sample=False).canvas
    assert painted.dtype == torch.float32
    torch.testing.assert_close(painted, exact, rtol=0, atol=1e-5)


def test_an_alpha_that_is_nearly_one_keeps_its_gradient_in_half_precision() -> None:
    """S(8) = 0.9997 is exactly 1 in bfloat16, where nothing would be left to learn."""
    sketches = torch.full((1, 1, 2, 4, 4), 8.0, dtype=torch.bfloat16, requires_grad=True)
    poses = identity_pose().expand(1, 1, 2, 3).bfloat16()
    BernoulliCanvas().paint(sketches, poses, 4, 4, sample=True).canvas.sum().backward()
    assert sketches.grad is not None and (sketches.grad[:, :, 1] > 0).all()


def test_a_temperature_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.0; .*above 0"):
        BernoulliCanvas(0.0)
