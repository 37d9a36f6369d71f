"""Controls that cost no training: does the answer come from the memory, or past it through the query?"""

from dataclasses import dataclass
from itertools import product
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from stawm.data.image_set import ImageSet, batch_of
from stawm.errors import DataError, UsageError
from stawm.experiments.build import Model
from stawm.measure.evaluate import evaluating
from stawm.model.heads.head import Scene
from stawm.model.stawm import Stawm
from stawm.store.checkpoint import not_finite

HEAD = "classify"


@dataclass(frozen=True)
class Control:
    """The error when the classifier's memory or query is not the picture's own, after each glimpse; the last counts."""

    memory: Literal["own", "another's"]
    query: Literal["own", "mean"]
    error_after_glimpse: tuple[float, ...]
    follows_memory: float
    """Share of answers that name the class of the picture whose memory was asked."""

    @property
    def error(self) -> float:
        """The share of answers that do not name the class of the picture that was shown."""
        return self.error_after_glimpse[-1]


@torch.no_grad()
def controls(model: Model, pictures: ImageSet, *, batch_size: int = 250, seed: int = 0) -> tuple[Control, ...]:
    """The error of a classifier as it is, with memories exchanged, with one query for all pictures, and with both.

    Exchanged: each picture's query is put to the memory of another picture (one round through all of them, in an order
    drawn from `seed`). One query: the mean over all pictures. The codes and queries are kept in main memory.
    """
    if not isinstance(model, Stawm) or HEAD not in model.heads:
        raise UsageError("controls exchange the memories of a model that classifies from its memory; give such a model")
    labels = pictures.labels
    if labels is None:
        raise DataError(f"{pictures.name} has no labels, and errors need them; sort the images into class folders")
    owners = {"own": torch.arange(len(pictures)), "another's": another(len(pictures), seed)}
    found = []
    with evaluating(model):
        codes, own = _look(model, pictures, batch_size)
        queries = {"own": own, "mean": own.mean(0, keepdim=True).expand_as(own)}
        for memory, query in product(("own", "another's"), ("own", "mean")):
            owner = owners[memory]
            answers = _answers(model, codes[owner], queries[query], batch_size)
            wrong = (answers != labels[:, None]).double().mean(0)
            followed = (answers[:, -1] == labels[owner]).double().mean()
            found.append(Control(memory, query, tuple(wrong.tolist()), float(followed)))
    return tuple(found)


def another(count: int, seed: int) -> Int[Tensor, "count"]:
    """For each of `count` pictures another one, never itself: its neighbour in a circle of random order."""
    if count < 2:
        raise DataError(f"memories are exchanged between pictures, and there is {count or 'none'}; give at least two")
    circle = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    others = torch.empty_like(circle)
    others[circle] = circle.roll(1)
    return others


def _look(
    model: Stawm, pictures: ImageSet, batch_size: int
) -> tuple[Float[Tensor, "count glimpse memory"], Float[Tensor, "count memory"]]:
    """The codes that the model writes for each picture, and the query that it makes of the picture's context."""
    device = next(model.parameters()).device
    codes, queries = [], []
    for indices in torch.arange(len(pictures)).split(batch_size):
        gaze = model.gaze(batch_of(pictures, indices, device).images)
        queries.append(model.head(HEAD).query(gaze.context).cpu())
        codes.append(gaze.codes.cpu())
    return torch.cat(codes), torch.cat(queries)


def _answers(
    model: Stawm,
    codes: Float[Tensor, "count glimpse memory"],
    queries: Float[Tensor, "count memory"],
    batch_size: int,
) -> Int[Tensor, "count glimpse"]:
    """The class that each query brings out of a memory of these codes, after each of them."""
    device = next(model.parameters()).device
    answers = []
    for written, asked in zip(codes.split(batch_size), queries.split(batch_size), strict=True):
        query = asked.to(device)
        found = model.ask(query, written.to(device), Scene(0, 0, None), heads=(HEAD,), queries={HEAD: query})
        if not found.logits.isfinite().all():
            raise not_finite("an answer", model)
        answers.append(found.logits.argmax(-1).cpu())
    return torch.cat(answers)
