"""A model with what it is judged by, as one module: the loop never asks which task it serves."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from stawm.model.objectives import Batch, Objective
from stawm.model.stawm import Stawm
from stawm.training.health import health

TERM, SCORE, HEALTH = "term/", "score/", "health/"


class Learner(nn.Module):
    """Images and labels in, named scalars out: plain tensors, so that Fabric and DDP can wrap it whole."""

    def __init__(self, model: Stawm, objective: Objective) -> None:
        """A learner that trains `model` for `objective`."""
        super().__init__()
        self.model, self.objective = model, objective

    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        labels: Int[Tensor, "batch"] | None,
        examine: bool = False,
    ) -> dict[str, Float[Tensor, ""]]:
        """The loss terms (`term/…`, with gradients), mean scores (`score/…`) and, if `examine`, the `health/…`."""
        episode, batch = self.model(images), Batch(images, labels)
        named = {TERM + name: term for name, term in self.objective.terms(episode, batch).items()}
        named |= {SCORE + name: score.mean().detach() for name, score in self.objective.scores(episode, batch).items()}
        if examine:
            named |= {HEALTH + name: value for name, value in health(episode, self.model.memory).items()}
        return named
