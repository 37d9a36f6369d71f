"""What queries read back after each write of a whole sequence, in either form; the same numbers as step by step.

With `last` they are asked after the last write alone.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from stawm.memory.activations import Activation
from stawm.memory.protocol import Recalls
from stawm.memory.state import Matrix, Rates, Read, Trace, reinforced

BLOCK = 16
"""Writes whose responses are found one by one from each other; all earlier ones reach them in a single product."""


def recall_trace(
    codes: Float[Tensor, "batch count memory"],
    query: Float[Tensor, "batch *query memory"],
    rates: Rates,
    read: Read,
    activation: Activation,
    *,
    last: bool = False,
) -> Recalls:
    """The recalls after each write of a whole sequence, in trace form: all of them in one masked product."""
    batch, count, size = codes.shape
    ages = torch.arange(count, device=codes.device, dtype=codes.dtype)
    ages = (ages[:, None] - ages[None, :]).clamp_min(0)
    strengths = rates.eta * (1 - rates.delta) ** ages
    responses = _responses(codes, strengths, rates, read, activation)
    keys, values = (codes, responses) if read == "codes" else (responses, codes)
    matches = torch.bmm(query.reshape(batch, -1, size), keys.mT).unsqueeze(2)
    shares = matches * strengths[-1:] if last else torch.tril(matches * strengths)
    recalls = activation(torch.bmm(shares.flatten(1, 2), values))
    return Recalls(recalls.reshape(*query.shape[:-1], -1, size), Trace(codes, responses))


def recall_matrix(
    codes: Float[Tensor, "batch count memory"],
    query: Float[Tensor, "batch *query memory"],
    rates: Rates,
    read: Read,
    activation: Activation,
    *,
    last: bool = False,
) -> Recalls:
    """The recalls after each write of a whole sequence, in matrix form: W is read once, by queries and next code."""
    batch, count, size = codes.shape
    queries = query.reshape(batch, -1, size)
    weights = codes.new_zeros(batch, size, size)
    response = activation(rates.theta * codes[:, 0])
    projections = []
    for step in range(count):
        weights = reinforced(weights, codes[:, step], response, rates)
        asking = queries[:, :0] if last and step + 1 < count else queries
        rows = torch.cat([asking, codes[:, step + 1 : step + 2]], dim=1)
        read_back = torch.bmm(rows, weights if read == "codes" else weights.mT)
        projections += [read_back[:, : asking.shape[1]]] if asking.shape[1] else []
        if step + 1 < count:
            response = activation(read_back[:, -1] + rates.theta * codes[:, step + 1])
    recalls = activation(torch.stack(projections, dim=2))
    return Recalls(recalls.reshape(*query.shape[:-1], -1, size), Matrix(weights))


def _responses(codes: Tensor, strengths: Tensor, rates: Rates, read: Read, activation: Activation) -> Tensor:
    """p_0 … p_{T−1}, [batch count memory], block by block: each needs all those before it."""
    earlier = strengths.roll(1, dims=0)
    matches = torch.bmm(codes, codes.mT) * earlier if read == "codes" else None
    finished: list[Tensor] = []
    for number, block in enumerate(codes.split(BLOCK, dim=1)):
        first, last = number * BLOCK, number * BLOCK + block.shape[1]
        total = rates.theta * block
        if finished:
            past = torch.cat(finished, dim=1)
            if matches is not None:
                total = torch.baddbmm(total, matches[:, first:last, :first], past)
            else:
                scores = torch.bmm(block, past.mT) * earlier[first:last, :first]
                total = torch.baddbmm(total, scores, codes[:, :first])
        if matches is not None:
            finished.append(_block_by_codes(total, matches[:, first:last, first:last], activation))
        else:
            finished.append(_block_by_responses(total, block, earlier[first:last, first:last], activation))
    return torch.cat(finished, dim=1)


def _block_by_codes(total: Tensor, matches: Tensor, activation: Activation) -> Tensor:
    """The responses of one block, given the inputs from outside it and how far its codes match each other."""
    rows = total.unsqueeze(2).unbind(1)
    responses = [activation(rows[0])]
    for step in range(1, len(rows)):
        inside = torch.baddbmm(rows[step], matches[:, step : step + 1, :step], torch.cat(responses, dim=1))
        responses.append(activation(inside))
    return torch.cat(responses, dim=1)


def _block_by_responses(total: Tensor, codes: Tensor, strengths: Tensor, activation: Activation) -> Tensor:
    """The responses of one block, given the inputs from outside it; each is matched with the codes once it is known."""
    rows = total.unsqueeze(2).unbind(1)
    responses = [activation(rows[0])]
    matches = []
    for step in range(1, len(rows)):
        matches.append(torch.bmm(codes, responses[-1].mT))
        scores = torch.cat(matches, dim=2)[:, step : step + 1] * strengths[step, :step]
        inside = torch.baddbmm(rows[step], F.pad(scores, (0, len(rows) - step)), codes)
        responses.append(activation(inside))
    return torch.cat(responses, dim=1)
