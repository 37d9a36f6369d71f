"""What an episode is judged by: named loss terms, and named scores for people."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

Divergence = Literal["concatenated", "joint"]


@dataclass(frozen=True)
class Batch:
    """Pictures in [0, 1], or the features of them that a frozen model made; and their classes where these are known."""

    images: Float[Tensor, "batch *picture"]
    labels: Int[Tensor, "batch"] | None


@runtime_checkable
class Belief(Protocol):
    """What a model takes pictures for, after each of its looks: `heads.Classified`, or a baseline's."""

    @property
    def logits(self) -> Float[Tensor, "batch glimpse classes"]:
        """The answer after each look; the last is the model's."""
        ...


@runtime_checkable
class Depiction(Protocol):
    """A drawing of pictures and the latent Gaussians it was drawn from: `heads.Drawn`, or a baseline's."""

    @property
    def mean(self) -> Float[Tensor, "batch glimpse latent"]:
        """μ of each look."""
        ...

    @property
    def log_variance(self) -> Float[Tensor, "batch glimpse latent"]:
        """Log σ² of each look."""
        ...

    @property
    def canvas(self) -> Float[Tensor, "batch channel height width"]:
        """The finished drawing, in [0, 1]."""
        ...


@runtime_checkable
class Answers(Protocol):
    """What a model made of a batch: an `Episode`, or the answer of a baseline that does the same task."""

    @property
    def classified(self) -> Belief | None:
        """What it believes."""
        ...

    @property
    def drawn(self) -> Depiction | None:
        """What it drew."""
        ...


@runtime_checkable
class Objective(Protocol):
    """Judges answers; the training loop never asks which task it serves."""

    def terms(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The named terms whose sum is the loss, each a mean over the batch."""
        ...

    def scores(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """Numbers for each image, to be averaged by the caller."""
        ...


@dataclass(frozen=True)
class Classification:
    """Cross entropy of the terminal answer, times `weight`.

    `anytime` weighs the mean cross entropy of the answers before it, which the paper does not judge.
    """

    label_smoothing: float = 0.0
    weight: float = 1.0
    anytime: float = 0.0

    def terms(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The cross entropy, and that of the earlier answers where they count."""
        logits, labels = _believed(answers).logits, _labels(batch)
        terms = {"cross_entropy": self.weight * self._entropy(logits[:, -1:], labels)}
        if self.anytime and logits.shape[1] > 1:
            terms["anytime_entropy"] = self.weight * self.anytime * self._entropy(logits[:, :-1], labels)
        return terms

    def _entropy(
        self, logits: Float[Tensor, "batch glimpse classes"], labels: Int[Tensor, "batch"]
    ) -> Float[Tensor, ""]:
        wanted = labels[:, None].expand(logits.shape[:2])
        return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), label_smoothing=self.label_smoothing)

    def scores(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """`error` is 1 where the answer is wrong."""
        return {"error": (_believed(answers).logits[:, -1].argmax(-1) != _labels(batch)).float()}


@dataclass(frozen=True)
class Drawing:
    """Squared error of the finished canvas plus the divergence of the glimpse sub-spaces, times `weight`.

    For each image: the squared error summed over pixels and channels, plus β / `beta_scale` times the divergence. The
    authors' scripts summed the error over the batch of 128 and averaged the divergence over it, so the paper's figures
    come from a scale of 128; a scale of 1 is the true β of Equations 5 and 6.
    """

    beta: float = 4.0
    beta_scale: float = 128.0
    divergence: Divergence = "concatenated"
    weight: float = 1.0

    def terms(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The squared error and the weighted divergence."""
        drawn = _drawing(answers)
        divergence = concatenated_divergence if self.divergence == "concatenated" else joint_divergence
        share = self.weight * self.beta / self.beta_scale
        return {
            "squared_error": self.weight * (drawn.canvas - batch.images).square().flatten(1).sum(1).mean(),
            "divergence": share * divergence(drawn.mean, drawn.log_variance).mean(),
        }

    def scores(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """`mse`: the squared error per pixel and channel, as the paper publishes it."""
        return {"mse": (_drawing(answers).canvas - batch.images).square().flatten(1).mean(1)}


@dataclass(frozen=True)
class Together:
    """Several objectives on one memory, their terms summed: the visual sketchpad."""

    parts: tuple[Objective, ...]

    def terms(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, ""]]:
        """The terms of all parts."""
        return {name: term for part in self.parts for name, term in part.terms(answers, batch).items()}

    def scores(self, answers: Answers, batch: Batch) -> dict[str, Float[Tensor, "batch"]]:
        """The scores of all parts."""
        return {name: score for part in self.parts for name, score in part.scores(answers, batch).items()}


def concatenated_divergence(
    mean: Float[Tensor, "batch glimpse latent"], log_variance: Float[Tensor, "batch glimpse latent"]
) -> Float[Tensor, "batch"]:
    """KL(q(z|x) ‖ N(0, I)) with z the glimpse sub-spaces laid end to end (Equation 5, addition method)."""
    return gaussian_divergence(mean.flatten(1), log_variance.flatten(1))


def joint_divergence(
    mean: Float[Tensor, "batch glimpse latent"], log_variance: Float[Tensor, "batch glimpse latent"]
) -> Float[Tensor, "batch"]:
    """KL(q(G|x) ‖ p(G)) = Σ_n KL(q(g_n|x) ‖ p(g_n)) of the glimpse sequence (Equation 6, Appendix B, Bernoulli method).

    Summed over the latent dimensions it equals the concatenated divergence, as the paper says it must; only a mean over
    dimensions, which this is not, would tell them apart (by a factor N).
    """
    return gaussian_divergence(mean, log_variance).sum(1)


def gaussian_divergence(
    mean: Float[Tensor, "*any latent"], log_variance: Float[Tensor, "*any latent"]
) -> Float[Tensor, "*any"]:
    """KL(N(μ, σ²) ‖ N(0, I)) = −½ Σ (1 + log σ² − μ² − σ²), summed over the latent dimensions."""
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(-1)


def _labels(batch: Batch) -> Int[Tensor, "batch"]:
    """The labels, which classification cannot do without."""
    if batch.labels is None:
        raise ValueError("classification needs labels, but this batch has none")
    return batch.labels


def _believed(answers: Answers) -> Belief:
    if answers.classified is None:
        raise ValueError("this model does not classify; judge it by another objective")
    return answers.classified


def _drawing(answers: Answers) -> Depiction:
    if answers.drawn is None:
        raise ValueError("this model does not draw; judge it by another objective")
    return answers.drawn
