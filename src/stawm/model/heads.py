"""Queries and read-outs: what a memory is asked, and what is made of the answer."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Query(nn.Module):
    """A query of the memory from the context; the context learns nothing from it (its gradient is stopped)."""

    def __init__(self, features: int, memory: int, dropout: float = 0.0) -> None:
        """A query of `memory` numbers from `features` context features."""
        super().__init__()
        self.project = nn.Linear(features, memory)
        self.dropout = nn.Dropout(dropout)

    def forward(self, context: Float[Tensor, "batch features"]) -> Float[Tensor, "batch memory"]:
        """ReLU6 of a linear map of the context."""
        return self.dropout(F.relu6(self.project(context.detach())))


class ClassificationHead(nn.Module):
    """What is it? One linear layer from recall to classes, on the terminal memory or on any intermediate one."""

    def __init__(self, features: int, memory: int, classes: int, dropout: float) -> None:
        """A head for `classes` classes."""
        super().__init__()
        self.query = Query(features, memory, dropout)
        self.classify = nn.Linear(memory, classes)

    def forward(self, recalls: Float[Tensor, "*any memory"]) -> Float[Tensor, "*any classes"]:
        """The logits of each class."""
        return self.classify(recalls)
