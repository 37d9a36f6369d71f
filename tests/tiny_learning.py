"""The loop by which a test teaches a small model a handful of examples by heart."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_


def taught(
    optimiser: torch.optim.Optimizer, loss_of: Callable[[], Tensor], steps: int, clip: float = math.inf
) -> list[float]:
    """The loss before each of so many steps; gradients are no longer than `clip`."""
    weights, losses = [weight for group in optimiser.param_groups for weight in group["params"]], []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = loss_of()
        loss.backward()
        clip_grad_norm_(weights, clip)
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


def total(terms: dict[str, Tensor]) -> Tensor:
    """The loss of all terms together."""
    return torch.stack([*terms.values()]).sum()
