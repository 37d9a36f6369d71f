"""A head of a user's, as small as a head can be: it tells how bright the picture was."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.model.heads.head import Answer, Batch, Head, HeadConfig, Host, Objective, Query, Scene, Score


@dataclass(frozen=True)
class Told(Answer):
    value: Float[Tensor, "batch"]


class SquaredError(Objective):
    def terms(self, answer: Told, batch: Batch) -> dict[str, Tensor]:
        return {"brightness": (answer.value - batch.images.flatten(1).mean(1)).square().mean()}


class Brightness(Head):
    measured = (Score("brightness_error", "squared error of the brightness"),)

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.query = Query(host.features, host.memory)
        self.tell = nn.Linear(host.memory, 1)

    @classmethod
    def build(cls, config: HeadConfig, host: Host) -> "Brightness":
        return cls(host)

    @staticmethod
    def objective(config: Any) -> Objective:
        return SquaredError()

    def forward(self, query: Tensor, recalls: Tensor, scene: Scene, generator: Generator | None = None) -> Told:
        return Told(query, recalls, self.tell(recalls[:, -1]).squeeze(1))
