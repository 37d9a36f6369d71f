"""The health of a run, read from an episode: does the memory pass gradients, do the glimpses look around?"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from stawm.baselines.rival import Looked
from stawm.memory.protocol import Memory
from stawm.model.heads.head import Answer, Answered
from stawm.model.stawm import Episode, Remembered
from stawm.vision.glimpse import identity_pose, outside

CODE_BOUND = 6.0
"""Codes go through ReLU6, whatever the memory's own activation is."""
SATURATED, SILENT = 0.999, 1e-9
"""Units from the one or up to the other, as shares of the bound; small but positive is the healthy start of ReLU6."""
STUCK_SHARE = 0.9
LEFT_SHARE = 0.8
ONE_PLACE = 0.02
"""Glimpse centres that differ by less than this (the image is 2 wide) are in one place: a quarter of an MNIST pixel."""
MOVED = 0.1
NO_GRADIENT = 1e-7
CHANCE, LEARNT = 0.95, 0.99
"""Below these shares of the error by chance, and of the lowest loss so far, something was learnt."""
SETTLING = 0.1
"""Below this share of the highest rate so far, little is to be learnt."""


@torch.no_grad()
def health(answered: Answered, model: nn.Module) -> dict[str, Float[Tensor, ""]]:
    """Named numbers about what a model made of a batch, each a mean over it; only those that it can tell.

    Of a memory: `codes_saturated` and `recalls_saturated` (of the terminal recall, before a layer norm) are the shares
    of units at the upper bound of their activation, `…_silent` at zero; `memory_norm`, and what else its rule tells. Of
    glimpses, for each t: `outside/t`, the share of it outside the image; `shift_spread/t` and `scale_spread/t`, the
    standard deviation of its centre and of its size over the batch. `path_spread` and `size_spread` are those of the
    centres and of the sizes over the glimpses of one image, and `moved` how far poses are from the identity.
    """
    values: dict[str, Tensor] = {}
    memory = getattr(model, "memory", None)
    if isinstance(memory, Memory) and isinstance(answered, Remembered):
        values |= _of_memory(answered, memory)
    if isinstance(answered, Episode | Looked):
        values |= _of_glimpses(answered.poses)
    return values


def _of_memory(remembered: Remembered, memory: Memory) -> dict[str, Tensor]:
    values = memory.health(remembered.state) | _stuck("codes", remembered.codes, CODE_BOUND)
    recalls, bound = [], memory.bound
    for answer in remembered.answers.values():
        if isinstance(answer, Answer):
            # A layer norm is at no bound; the units that it was made of can be.
            for query, recall in zip(_each(answer.query), _each(answer.recalls[..., -1, :]), strict=True):
                units, bound = memory.unnormalised(remembered.state, query) or (recall, bound)
                recalls.append(units)
    values |= _stuck("recalls", torch.cat(recalls), bound)
    return {name: value.to(remembered.codes.dtype) for name, value in values.items()}


def _each(vectors: Float[Tensor, "batch *question memory"]) -> tuple[Float[Tensor, "batch memory"], ...]:
    """Those of each question, or those of a head that asks only one."""
    return vectors.unbind(1) if vectors.dim() == 3 else (vectors,)


def _of_glimpses(poses: Float[Tensor, "batch glimpse 2 3"]) -> dict[str, Tensor]:
    centres, scales = poses[..., 2], torch.linalg.det(poses[..., :2]).abs().sqrt()
    values = {
        "path_spread": _spread(centres, 1).mean(),
        "size_spread": scales.std(1, correction=0).mean(),
        "moved": (poses - identity_pose().to(poses)).square().mean((-2, -1)).sqrt().mean(),
    }
    by_glimpse = {
        "outside": outside(poses).mean(0),
        "shift_spread": _spread(centres, 0),
        "scale_spread": scales.std(0, correction=0),
    }
    for name, each in by_glimpse.items():
        values |= {f"{name}/{glimpse}": value for glimpse, value in enumerate(each, 1)}
    return values


def warnings(values: Mapping[str, float]) -> list[str]:
    """What is wrong with a run of this health and what to try, one sentence each; none if all is well."""
    found = []
    silent, saturated = values.get("recalls_silent", 0.0), values.get("recalls_saturated", 0.0)
    if silent + saturated > STUCK_SHARE:
        found.append(
            f"the memory is saturated: {saturated:.0%} of recall units are at their upper bound and {silent:.0%} at "
            "zero, where no gradient passes; lower the learning rate or eta, or use warm-up"
        )
    glimpses = range(1, 1 + sum(name.startswith("outside/") for name in values))
    shares = {glimpse: values[f"outside/{glimpse}"] for glimpse in glimpses}
    left = [f"{glimpse} ({share:.0%})" for glimpse, share in shares.items() if share > LEFT_SHARE]
    if left:
        found.append(
            f"glimpses have left the image (share outside): {', '.join(left)}; lower the learning rate or use warm-up, "
            "and start again if they do not come back"
        )
    spreads = [values[f"shift_spread/{glimpse}"] for glimpse in glimpses]
    apart = max(values["path_spread"], values.get("size_spread", 0.0)) if spreads else 0.0
    if spreads and values["moved"] > MOVED and max(*spreads, apart) < ONE_PLACE:
        found.append(
            f"all glimpses of all images look at one place (their centres differ by {max(spreads):.3f} or less); "
            "lower the learning rate or use warm-up, and start again with another seed"
        )
    return found


def died(epochs: Sequence[Mapping[str, Any]], patience: int, chance: float) -> bool:
    """Whether a run has died: nothing came of its last `patience` epochs (records as plain values); 0 is never.

    In each of them no gradient passes the memory, or none is left at all, at a rate at which it should learn, and a
    classifier errs as one that always gives the same answer (`chance`); and in none is the loss lower, by a hundredth,
    than it was before. So a run that is slow at first is not dead, for its gradients pass; nor is one that settles
    because its schedule ends.
    """
    if not patience or len(epochs) <= patience:
        return False
    before, last = epochs[:-patience], epochs[-patience:]
    rate = SETTLING * max(epoch["learning_rate"] for epoch in epochs)
    learnt = min(epoch["train"]["loss"] for epoch in last) < LEARNT * min(epoch["train"]["loss"] for epoch in before)
    return not learnt and all(epoch["learning_rate"] >= rate and _dead(epoch, chance) for epoch in last)


def _dead(epoch: Mapping[str, Any], chance: float) -> bool:
    health = epoch["health"]
    stuck = health.get("recalls_silent", 0.0) + health.get("recalls_saturated", 0.0) > STUCK_SHARE
    blocked = stuck or health["gradient_norm"] < NO_GRADIENT
    return blocked and epoch["train"].get("error", 1.0) >= CHANCE * chance


def _spread(centres: Float[Tensor, "batch glimpse 2"], axis: int) -> Float[Tensor, "*rest"]:
    """The standard deviation of centres along an axis: the root of both coordinates' variances together."""
    return centres.var(axis, correction=0).sum(-1).sqrt()


def _stuck(name: str, units: Tensor, bound: float) -> dict[str, Tensor]:
    """The shares of units at the upper bound, and at zero."""
    silent = SILENT * (bound if math.isfinite(bound) else 1.0)
    return {
        f"{name}_saturated": (units >= SATURATED * bound).to(units.dtype).mean(),
        f"{name}_silent": (units.abs() <= silent).to(units.dtype).mean(),
    }
