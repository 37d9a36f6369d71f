"""An LSTM cell that is stepped many times with the same weights, whose gradients are then found in one product."""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from stawm.precision import exact, is_mixed, single

Rows = Float[Tensor, "batch hidden"]
Met = tuple[Tensor, Tensor | None, Tensor, Tensor]
"""Message, hidden state before it (none: nothing), gradient of the gates and that of the bias, of one step."""
MANY = 32
"""Rows from which on oneDNN multiplies float32."""
ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@dataclass(frozen=True)
class Weights:
    """The weights of a cell as all steps of one sequence use them, and where their gradients come together.

    A step leaves what it saw, and the gradient of its gates, in `met`. Once all steps have done so, the weights' own
    gradients are one large product over the whole sequence, rather than one for each step and a sum. What is left
    belongs to one run of autograd: what a run that did not ask for weights left is never counted by another.
    """

    inputs: Float[Tensor, "gates features"]
    hidden: Float[Tensor, "gates hidden"]
    bias: Float[Tensor, " gates"]
    token: Tensor
    """An empty tensor: through it autograd knows that the steps depend on the weights."""
    met: dict[int, list[Met]] = field(default_factory=dict)


class Held(tuple[Rows, Rows]):
    """Hidden and cell state, and the weights by which they were made, for the next step."""

    weights: Weights | None = None


class Cell(nn.LSTMCell):
    """`nn.LSTMCell`: the same weights, numbers and gradients up to rounding, in less time over a sequence.

    Under autocast products are in half precision; gates, hidden and cell states stay as precise as the weights are.
    """

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, message: Float[Tensor, "batch features"], state: tuple[Rows, Rows] | None = None
    ) -> tuple[Rows, Rows]:
        """The next hidden and cell state; what is returned knows the weights, so give it to the next step as it is.

        Without a state the one before was nothing: zeros, for which nothing is multiplied.
        """
        if torch.compiler.is_compiling() or torch.compiler.is_exporting() or torch._C._get_tracing_state():
            return super().forward(message, state)
        weights = getattr(state, "weights", None) or self._weights()
        held = Held(_Step.apply(message, *(state or (None, None)), weights.token, weights))
        held.weights = weights
        return held

    def _weights(self) -> Weights:
        """The weights now, in the precision of products."""
        own = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        met: dict[int, list[Met]] = {}
        precision = self.weight_ih.dtype
        if is_mixed(self.weight_ih):
            precision = torch.get_autocast_dtype(self.weight_ih.device.type)
        token: Any = _Shared.apply(met, *own)
        with torch.no_grad(), exact(self.weight_ih):
            inputs, hidden = (weight.detach().to(precision) for weight in own[:2])
            return Weights(inputs, hidden, (own[2] + own[3]).to(precision), token, met)


class _Shared(torch.autograd.Function):
    """Where the gradients of all steps come together: autograd calls it once, after the last of them."""

    @staticmethod
    def forward(ctx: Any, met: dict[int, list[Met]], *own: Tensor) -> Tensor:
        ctx.met, ctx.dtype, ctx.hidden = met, own[0].dtype, own[1].shape[1]
        ctx.set_materialize_grads(False)
        return own[0].new_empty(0)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *_: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        run = torch._C._current_graph_task_id()
        found = ctx.met.get(run, [])
        ctx.met.clear()
        if not found:
            return (None,) * 5
        found.sort(key=lambda one: one[1] is None)  # Those that had a state come first.
        messages, gates = (torch.cat([one[part] for one in found]) for part in (0, 2))
        hidden = torch.cat([gates[:0, : ctx.hidden], *(one[1] for one in found if one[1] is not None)])
        with exact(gates):
            bias, across = torch.stack([one[3] for one in found]).sum(0).to(ctx.dtype), gates.t()
            of_hidden = across[:, : len(hidden)] @ hidden
            return None, (across @ messages).to(ctx.dtype), of_hidden.to(ctx.dtype), bias, bias.clone()


class _Step(torch.autograd.Function):
    """One step: c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c'), with the gates i, f, g, o linear in message and h.

    tanh(c') is computed again for the gradient, which takes less than the memory to keep it is worth.
    """

    @staticmethod
    def forward(
        ctx: Any, message: Tensor, hidden: Tensor | None, cell: Tensor | None, token: Tensor, weights: Weights
    ) -> tuple[Tensor, Tensor]:
        with exact(message):
            seen = message.to(weights.inputs.dtype)
            before = None if hidden is None else hidden.to(weights.inputs.dtype)
            gates = _product(seen, weights.inputs.t(), weights.bias)
            if before is not None:
                gates = _product(before, weights.hidden.t(), gates)
            gates = single(gates)
            take, keep, new, show = gates.chunk(4, 1)
            new.mul_(2)
            gates.sigmoid_()
            new.mul_(2).sub_(1)
            after = take * new if cell is None else (keep * cell).addcmul_(take, new)
            shown = _tanh(after).mul_(show)
        ctx.save_for_backward(seen, before, cell, gates, after)
        ctx.weights, ctx.dtypes = weights, [None if each is None else each.dtype for each in (message, hidden, cell)]
        ctx.set_materialize_grads(False)
        return shown, after

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, of_hidden: Tensor | None, of_cell: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None]:
        seen, before, cell, gates, after = ctx.saved_tensors
        weights: Weights = ctx.weights
        take, keep, new, show = gates.chunk(4, 1)
        slopes = torch.empty_like(gates)
        of_take, of_keep, of_new, of_show = slopes.chunk(4, 1)
        sigmoid, tanh = torch.ops.aten.sigmoid_backward.grad_input, torch.ops.aten.tanh_backward.grad_input
        with exact(gates):
            if of_hidden is None:
                of_show.zero_()
                total = torch.zeros_like(after) if of_cell is None else of_cell
            else:
                bounded = _tanh(after)
                sigmoid(of_hidden * bounded, show, grad_input=of_show)
                total = torch.ops.aten.tanh_backward(of_hidden * show, bounded)
                total = total if of_cell is None else total.add_(of_cell)
            sigmoid(total * new, take, grad_input=of_take)
            of_keep.zero_() if cell is None else sigmoid(total * cell, keep, grad_input=of_keep)
            tanh(total * take, new, grad_input=of_new)
            narrow = slopes.to(weights.inputs.dtype)
            if ctx.needs_input_grad[3]:
                run = torch._C._current_graph_task_id()
                weights.met.setdefault(run, []).append((seen, before, narrow, slopes.sum(0)))
            asked, (of_message, of_before, of_state) = ctx.dtypes, ctx.needs_input_grad[:3]
            return (
                _product(narrow, weights.inputs).to(asked[0]) if of_message else None,
                _product(narrow, weights.hidden).to(asked[1]) if of_before else None,
                (total * keep).to(asked[2]) if of_state else None,
                None,
                None,
            )


def _tanh(rows: Tensor) -> Tensor:
    """tanh(x) as 2 σ(2x) − 1, in a third of the time."""
    return (2 * rows).sigmoid_().mul_(2).sub_(1)


def _product(rows: Tensor, matrix: Tensor, added: Tensor | None = None) -> Tensor:
    """`rows @ matrix`, plus a bias or what another product gave, to which it is added in place.

    In float32 by oneDNN, for on AMD's processors MKL takes up to 1.16 times as long (docs/speed.md).
    """
    if ONEDNN and rows.dtype == torch.float32 and rows.device.type == "cpu" and len(rows) >= MANY:
        bias = added if added is not None and added.dim() == 1 else None
        found = torch.ops.mkldnn._linear_pointwise(rows, matrix.t(), bias, "none", [], "")
        return found if added is None or bias is not None else added.add_(found)
    if added is None:
        return rows @ matrix
    return torch.addmm(added, rows, matrix, out=added if added.dim() == 2 else None)
