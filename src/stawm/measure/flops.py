"""The arithmetic of one look: floating-point operations of products and convolutions, counted as they are called."""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from stawm.baselines.rival import Stepwise
from stawm.errors import UsageError
from stawm.measure.evaluate import evaluating
from stawm.model.stawm import Stawm


@torch.no_grad()
def flops_of(model: nn.Module, shape: tuple[int, int, int], glimpses: int | None = None) -> int:
    """Operations for the answer to one picture of `shape`, after so many glimpses (all, if not given).

    A multiplication and an addition are two. What is counted is matrix products and convolutions, as is usual; sampling
    glimpses, averages, norms and activations are not, and are little beside them.
    """
    if glimpses is not None and not isinstance(model, Stawm | Stepwise):
        raise UsageError(f"a {type(model).__name__} does not answer after each glimpse; leave their number out")
    device = next(model.parameters()).device
    picture = torch.zeros(1, *shape, device=device)
    with evaluating(model), FlopCounterMode(display=False) as counter:
        model(picture) if glimpses is None else model(picture, glimpses=glimpses)
    return counter.get_total_flops()
