"""The activations a memory may use: non-negative, bounded and nondecreasing, as Appendix A asks."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import torch
import torch.nn.functional as F
from torch import Tensor

from stawm.errors import UsageError


@dataclass(frozen=True)
class Activation:
    """An elementwise function whose values lie in [0, bound] and never fall as its input grows."""

    name: str
    function: Callable[[Tensor], Tensor]
    bound: float

    def __call__(self, total: Tensor) -> Tensor:
        """The responses of neurons whose total inputs are `total`."""
        return self.function(total)


ACTIVATIONS = {
    activation.name: activation
    for activation in (
        Activation("relu6", F.relu6, 6.0),
        Activation("sigmoid", torch.sigmoid, 1.0),
        Activation("hardsigmoid", F.hardsigmoid, 1.0),
    )
}


def activation_for(wanted: str | Activation) -> Activation:
    """The activation of this name; an `Activation` of the caller's own is returned as it is."""
    if isinstance(wanted, Activation):
        return wanted
    if wanted in ACTIVATIONS:
        return ACTIVATIONS[wanted]
    close = get_close_matches(wanted, ACTIVATIONS, n=1)
    hint = f"did you mean {close[0]}?" if close else "or pass an Activation(name, function, bound) of your own"
    raise UsageError(f"unknown memory activation {wanted!r}; choose one of {', '.join(ACTIVATIONS)}; {hint}")
