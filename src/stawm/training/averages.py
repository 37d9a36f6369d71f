"""Weight averaging: the exponential moving average (EMA) of a model, which is evaluated and exported in its place."""

from collections.abc import Iterator
from itertools import chain

from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


def average_decay(decay: float, step: int) -> float:
    """How much of the moving average outlives step number `step` (from 0): little at first, `decay` in the end."""
    return min(decay, (1 + step) / (10 + step))


def update_average(average: nn.Module, model: nn.Module, decay: float) -> None:
    """Move `average` towards `model`: weights and running statistics alike; whole numbers are copied."""
    own, new = [], []
    for mine, theirs in zip(_tensors(average), _tensors(model), strict=True):
        if mine.is_floating_point():
            own.append(mine)
            new.append(theirs)
        else:
            mine.copy_(theirs)
    get_ema_multi_avg_fn(decay)(own, new, None)


def _tensors(model: nn.Module) -> Iterator[Tensor]:
    return chain(model.parameters(), model.buffers())
