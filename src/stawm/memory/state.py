"""The state of a Hebb-Rosenblatt memory: its matrix W, or the trace of pairs that W is made of; see hebb_rosenblatt."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Read = Literal["codes", "responses"]
Form = Literal["auto", "trace", "matrix"]


@dataclass(frozen=True)
class Rates:
    """The decay `delta`, the learning rate `eta` and the identity share `theta`."""

    delta: Float[Tensor, ""]
    eta: Float[Tensor, ""]
    theta: Float[Tensor, ""]


@dataclass(frozen=True)
class Trace:
    """A memory as the codes written so far and the responses they met, oldest first."""

    codes: Float[Tensor, "batch count memory"]
    responses: Float[Tensor, "batch count memory"]


@dataclass(frozen=True)
class Matrix:
    """A memory as its weights, input by output."""

    weights: Float[Tensor, "batch memory memory"]


State = Trace | Matrix


def trace_weights(count: int, rates: Rates, like: Tensor) -> Float[Tensor, "count"]:
    """η (1 − δ)^{t−1−i}: how strongly each of `count` writes, oldest first, still counts."""
    ages = torch.arange(count - 1, -1, -1, device=like.device, dtype=like.dtype)
    return rates.eta * (1 - rates.delta) ** ages


def weights_of(state: State, rates: Rates) -> Float[Tensor, "batch memory memory"]:
    """The matrix W of a state in either form."""
    if isinstance(state, Matrix):
        return state.weights
    strengths = trace_weights(state.codes.shape[1], rates, state.codes)
    return torch.bmm(state.codes.mT, strengths[:, None] * state.responses)


def reinforced(weights: Tensor, code: Tensor, response: Tensor, rates: Rates) -> Tensor:
    """(1 − δ) W + η e ⊗ p; the decayed copy is a fresh tensor, so the product is added to it in place."""
    decayed = weights * (1 - rates.delta)
    return decayed.baddbmm_(code.unsqueeze(2), (rates.eta * response).unsqueeze(1))
