"""Controls for questions after looking, which cost no training: do answers come from the memory, and of what is asked?

Each head that is asked questions is measured as it is, and with something exchanged, taken away or put out of order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from stawm.data.image_set import ImageSet, batch_of
from stawm.errors import DataError, UsageError
from stawm.experiments.build import Model
from stawm.measure.controls import HEAD, Control, another, controls
from stawm.measure.evaluate import evaluating
from stawm.model.heads.head import Batch, Scene
from stawm.model.heads.question import Asked, QuestionHead, Told
from stawm.model.stawm import Stawm
from stawm.store.checkpoint import not_finite

Memories = Literal["own", "another's", "shuffled", "blank"]
"""Whose codes are written: the scene's, another scene's, the scene's in another order, or zeros."""
Queries = Literal["own", "another's", "mean"]
"""What is asked with: a question's query, that of another question, or the mean of all."""
CONDITIONS: tuple[tuple[Memories, Queries], ...] = (
    ("own", "own"),
    ("another's", "own"),
    ("own", "another's"),
    ("own", "mean"),
    ("shuffled", "own"),
    ("blank", "own"),
)


@dataclass(frozen=True)
class QuestionControl:
    """The error of a head that is asked questions when its memory or its query is not the right one."""

    head: str
    score: str
    """The name of the error, as evaluation calls it."""
    memory: Memories
    query: Queries
    error: float
    """The share of answers that are wrong about the scene that was shown and the question that was meant."""
    follows: float | None
    """The share of answers that are right about the scene in memory and the question that was put; none where these are
    the scene that was shown and the question that was meant, or no scene or question at all."""
    chance: float
    """The error of always giving the commonest answer to a question, whatever the scene."""


@dataclass(frozen=True)
class Seen:
    """All that was seen of the pictures, kept in main memory."""

    codes: Float[Tensor, "count glimpse memory"]
    queries: dict[str, Float[Tensor, "count question memory"]]
    again: Float[Tensor, "count glimpse 2 3"] | None
    """Of two pictures that are compared: where the second was looked at."""


Counts = dict[str, tuple[int, int]]
"""For each score how many answers are wrong, and how many are judged."""


def asked_heads(model: Model) -> dict[str, QuestionHead]:
    """The heads of a model that are asked questions, by name."""
    heads = model.heads.items() if isinstance(model, Stawm) else ()
    return {name: head for name, head in heads if isinstance(head, QuestionHead)}


def all_controls(model: Model, pictures: ImageSet) -> tuple[tuple[Control, ...], tuple[QuestionControl, ...]]:
    """The controls of a model's classifier and those of its heads that are asked questions, as far as it has them."""
    asked = asked_heads(model)
    classifies = isinstance(model, Stawm) and HEAD in model.heads
    return (
        controls(model, pictures) if classifies or not asked else (),
        question_controls(model, pictures) if asked else (),
    )


@torch.no_grad()
def question_controls(
    model: Model, pictures: ImageSet, *, batch_size: int = 250, seed: int = 0
) -> tuple[QuestionControl, ...]:
    """The errors of every head that is asked questions, under each of `CONDITIONS`.

    Memories go once around all scenes, and queries once around all questions, both in an order drawn from `seed`.
    """
    heads = asked_heads(model)
    if not isinstance(model, Stawm) or not heads:
        raise UsageError("these controls are for a model that is asked questions after looking; give such a model")
    if pictures.labels is None or pictures.labels.dim() != 2:
        raise DataError(f"{pictures.name} has no cells to ask about; take scenes, as scenes:2x2:4")
    with evaluating(model):
        seen = _look(model, pictures, batch_size)
        return tuple(
            control
            for name in heads
            for memory, query in CONDITIONS
            for control in _controls(model, name, seen, pictures.labels, (memory, query), batch_size, seed)
        )


def _controls(
    model: Stawm,
    name: str,
    seen: Seen,
    labels: Tensor,
    condition: tuple[Memories, Queries],
    batch_size: int,
    seed: int,
) -> Iterator[QuestionControl]:
    """The scores of one head under one condition; none if there is no other question to ask with.

    Of two pictures that are compared, all glimpses of the second are queries anyway, in an order that tells nothing.
    """
    memory, query = condition
    count, questions, _ = seen.queries[name].shape
    head = asked_heads(model)[name]
    if query == "another's" and (questions < 2 or head.compares):
        return
    objective = head.objective(head.config)
    assert isinstance(objective, Asked)
    owner = another(count, seed) if memory == "another's" else torch.arange(count)
    put = another(questions, seed) if query == "another's" else torch.arange(questions)
    order = _orders(count, seen.codes.shape[1], seed)
    chance = objective.by_chance(labels)
    own, followed = Counts(), Counts()
    for part in torch.arange(count).split(batch_size):
        codes = _written(seen.codes, part, owner, memory, order)
        queries = seen.queries[name].mean((0, 1)).expand(len(part), questions, -1)
        scene = Scene(0, 0, None, again=None if seen.again is None else seen.again[part])
        answer = _answer(model, name, codes, seen.queries[name][part][:, put] if query != "mean" else queries, scene)
        _count(own, objective, answer, labels[part])
        # The answer to the question that was put goes to its own place.
        _count(followed, objective, _taken(answer, put.argsort()), objective.put(labels[part], labels[owner[part]]))
    exchanged = "another's" in condition
    for score, (wrong, judged) in own.items():
        missed, known = followed[score]
        follows = 1 - missed / max(known, 1) if exchanged else None
        yield QuestionControl(name, score, memory, query, wrong / max(judged, 1), follows, chance[score])


def _look(model: Stawm, pictures: ImageSet, batch_size: int) -> Seen:
    device = next(model.parameters()).device
    codes, poses, queries = [], [], {name: [] for name in asked_heads(model)}
    for indices in torch.arange(len(pictures)).split(batch_size):
        gaze = model.gaze(batch_of(pictures, indices, device).images)
        again = model.again(gaze)
        codes.append(gaze.codes.cpu())
        if again is not None:
            poses.append(again.scene.poses)
        for name, parts in queries.items():
            head = model.head(name)
            parts.append((again.codes if again is not None and head.compares else head.query(gaze.context)).cpu())
    asked = {name: torch.cat(parts) for name, parts in queries.items()}
    return Seen(torch.cat(codes), asked, torch.cat(poses) if poses else None)


def _written(codes: Tensor, part: Tensor, owner: Tensor, memory: Memories, order: Tensor) -> Tensor:
    """What is written for some of the pictures."""
    if memory == "blank":
        return torch.zeros_like(codes[part])
    if memory == "shuffled":
        return codes[part].gather(1, order[part].unsqueeze(-1).expand(-1, -1, codes.shape[2]))
    return codes[owner[part]]


def _orders(count: int, glimpses: int, seed: int) -> Int[Tensor, "count glimpse"]:
    """An order of glimpses for each of so many pictures."""
    return torch.rand(count, glimpses, generator=torch.Generator().manual_seed(seed)).argsort(1)


def _answer(model: Stawm, name: str, codes: Tensor, queries: Tensor, scene: Scene) -> Told:
    """The answers of one head from a memory of these codes, asked with these queries."""
    device = next(model.parameters()).device
    asked = queries.to(device)
    found = model.ask(asked[:, 0], codes.to(device), scene, heads=(name,), queries={name: asked})
    told = found.answer(name, Told)
    if not told.logits.isfinite().all():
        raise not_finite("an answer", model)
    return told


def _taken(answer: Told, places: Tensor) -> Told:
    """The answers with each taken from another place."""
    there = places.to(answer.logits.device)
    return Told(answer.query[:, there], answer.recalls[:, there], answer.logits[:, there], answer.looked)


def _count(counts: Counts, objective: Asked, answer: Told, labels: Tensor) -> None:
    """Count what is wrong with an answer about scenes with these labels."""
    batch = Batch(answer.logits, labels.to(answer.logits.device))
    for name, (wrong, judged) in objective.counted(answer, batch).items():
        before = counts.get(name, (0, 0))
        counts[name] = (before[0] + int(wrong.sum()), before[1] + int(judged.sum()))
