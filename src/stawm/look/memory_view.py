"""What a memory holds after each glimpse: W as a picture, its singular values, how alike codes are, what comes back."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor

from stawm.look.picture import Picture
from stawm.memory.protocol import Contents, Memory

MOST_CELLS = 128
"""Edge of the largest picture of W; a larger W is shown by the means of its blocks."""
MOST_VALUES = 16
FULL = 0.98
"""The share of the weights that are not zero which the scale of the colours spans."""

WHITE, ABOVE, BELOW = (247, 247, 247), (178, 24, 43), (33, 102, 172)
"""Zero, the highest and the lowest weight (the middle and ends of ColorBrewer's RdBu)."""
ZERO = 128
"""The place of zero in the palette; full colour is 127 places away on either side."""


@dataclass(frozen=True)
class MemoryStep:
    """The memory after one write."""

    matrix: Picture
    """The weights, input (rows) by output (columns): white is zero, red above, blue below."""
    scale: float
    """The weight from which on colour is full, the same in all steps: few are larger, and those hide the others."""
    norm: float
    """Frobenius."""
    singular_values: tuple[float, ...]
    """The largest ones, in falling order; no more than there were writes can differ from zero."""


@dataclass(frozen=True)
class StoredRecall:
    """Whether the terminal memory brings back one of the pairs that were written."""

    cosine: float
    best: int
    """The number (from 1) of the write whose value is nearest to what came back."""


@dataclass(frozen=True)
class MemoryView:
    """The memory over one look."""

    size: int
    steps: tuple[MemoryStep, ...]
    similarity: tuple[tuple[float, ...], ...]
    """The cosine of each two codes; 0 for a code that is blank."""
    recall: tuple[StoredRecall, ...]


def memory_views(memory: Memory, codes: Float[Tensor, "batch count memory"]) -> list[MemoryView] | None:
    """The view of each picture's memory over its codes; none of a memory that cannot tell what it is made of.

    A write stores a pair. The memory is asked with the one side of it, and what comes back is compared with the other
    sides of all pairs (Hebb-Rosenblatt, read="codes": asked with the codes, compared with the responses).
    """
    held = memory.contents(codes)
    if held is None:
        return None
    recalls = memory(codes, held.asked).terminal
    matches = F.normalize(recalls, dim=-1) @ F.normalize(held.wanted, dim=-1).mT
    similarity = F.normalize(codes, dim=-1) @ F.normalize(codes, dim=-1).mT
    spectra = torch.stack([_singular_values(held, strengths) for strengths in held.strengths], 1)
    # The mean of a block of e ⊗ p is the product of their means, so W itself is never made.
    inputs, outputs = _block_means(held.inputs), _block_means(held.outputs)
    matrices = torch.stack([inputs.mT @ (strengths[:, None] * outputs) for strengths in held.strengths], 1)
    parts = zip(matrices, spectra, similarity, matches, strict=True)
    return [_view(memory.size, *part) for part in parts]


def _view(size: int, matrices: Tensor, spectra: Tensor, similarity: Tensor, matches: Tensor) -> MemoryView:
    weights = matrices.abs().flatten()
    drawn = weights[weights > 0]
    scale = float(drawn.quantile(FULL)) if drawn.numel() else 0.0
    pictures = [Picture(places, PALETTE) for places in diverging(matrices.cpu(), scale)]
    steps = tuple(
        MemoryStep(picture, scale, float(spectrum.square().sum().sqrt()), tuple(spectrum[:MOST_VALUES].tolist()))
        for picture, spectrum in zip(pictures, spectra.cpu(), strict=True)
    )
    own, best = matches.diagonal().tolist(), (matches.argmax(-1) + 1).tolist()
    recalls = tuple(StoredRecall(cosine, number) for cosine, number in zip(own, best, strict=True))
    return MemoryView(size, steps, tuple(tuple(row) for row in similarity.tolist()), recalls)


def _palette() -> UInt8[np.ndarray, "256 3"]:
    shares = ((np.arange(256) - ZERO) / (ZERO - 1)).clip(-1, 1)[:, None]
    white, above, below = (np.array(colour, np.float64) for colour in (WHITE, ABOVE, BELOW))
    colours = white + shares.clip(0, 1) * (above - white) - shares.clip(-1, 0) * (below - white)
    return colours.round().astype(np.uint8)


PALETTE = _palette()
"""The colours from the lowest weight through zero to the highest."""


def diverging(weights: Float[Tensor, "count height width"], scale: float) -> UInt8[np.ndarray, "count height width"]:
    """Weights as places in the palette: zero at its middle, `scale` at its end."""
    shares = (weights / scale if scale > 0 else torch.zeros_like(weights)).clamp(-1, 1)
    return (ZERO + shares * (ZERO - 1)).round().to(torch.uint8).numpy()


def _singular_values(held: Contents, strengths: Float[Tensor, "count"]) -> Float[Tensor, "batch values"]:
    """The singular values of W = Σ w_i e_i ⊗ p_i, from factors as small as the number of writes: W = Q_e R Q_pᵀ."""
    _, inputs = torch.linalg.qr(held.inputs.double().mT)
    _, outputs = torch.linalg.qr(held.outputs.double().mT)
    return torch.linalg.svdvals(inputs @ (strengths.double()[:, None] * outputs.mT)).float()


def _block_means(vectors: Float[Tensor, "batch count memory"]) -> Float[Tensor, "batch count cells"]:
    return F.adaptive_avg_pool1d(vectors, min(MOST_CELLS, vectors.shape[-1]))
