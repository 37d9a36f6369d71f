"""A model with what it is judged by, as one module: the loop never asks which task it serves."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from stawm.experiments.build import Learning
from stawm.measure.health import health
from stawm.measure.sums import HEALTH, SCORE, TERM
from stawm.model.heads.head import Batch, Judge


class Learner(nn.Module):
    """Images, or stored features, and labels in, named scalars out: plain tensors, so that DDP can wrap it whole."""

    def __init__(self, model: Learning, judge: Judge) -> None:
        """A learner that trains `model` by what `judge` says."""
        super().__init__()
        self.model, self.judge = model, judge

    def forward(
        self,
        images: Float[Tensor, "batch *picture"],
        labels: Int[Tensor, "batch"] | None,
        examine: bool = False,
    ) -> dict[str, Float[Tensor, ""]]:
        """The loss terms (`term/…`, with gradients), mean scores (`score/…`) and, if `examine`, the `health/…`."""
        answered, batch = self.model(images), Batch(images, labels)
        named = {TERM + name: term for name, term in self.judge.terms(answered, batch).items()}
        named |= {SCORE + name: score.mean().detach() for name, score in self.judge.scores(answered, batch).items()}
        if examine:
            named |= {HEALTH + name: value for name, value in health(answered, self.model).items()}
        return named
