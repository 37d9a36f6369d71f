"""A model with what it is judged by, as one module: the loop never asks which task it serves."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from stawm.experiments.build import Learning
from stawm.measure.health import health, memory_of
from stawm.model.objectives import Batch, Objective

TERM, SCORE, HEALTH = "term/", "score/", "health/"


class Learner(nn.Module):
    """Images, or stored features, and labels in, named scalars out: plain tensors, so that DDP can wrap it whole."""

    def __init__(self, model: Learning, objective: Objective) -> None:
        """A learner that trains `model` for `objective`."""
        super().__init__()
        self.model, self.objective = model, objective

    def forward(
        self,
        images: Float[Tensor, "batch *picture"],
        labels: Int[Tensor, "batch"] | None,
        examine: bool = False,
    ) -> dict[str, Float[Tensor, ""]]:
        """The loss terms (`term/…`, with gradients), mean scores (`score/…`) and, if `examine`, the `health/…`."""
        answers, batch = self.model(images), Batch(images, labels)
        named = {TERM + name: term for name, term in self.objective.terms(answers, batch).items()}
        named |= {SCORE + name: score.mean().detach() for name, score in self.objective.scores(answers, batch).items()}
        if examine:
            named |= {HEALTH + name: value for name, value in health(answers, memory_of(self.model)).items()}
        return named
