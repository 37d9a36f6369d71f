"""The truth: the Hebb-Rosenblatt memory as loops over images and neurons, written from the equations alone."""

from collections.abc import Callable

import torch
from torch import Tensor


def unit_vector(vector: Tensor) -> Tensor:
    """The direction of one vector, element by element; zero for one that is blank."""
    length = sum((element * element for element in vector.unbind()), torch.zeros(()))
    return torch.stack([element / length.sqrt() for element in vector]) if length > 0 else torch.zeros_like(vector)


def layer_norm(units: list[Tensor], gain: Tensor) -> list[Tensor]:
    """Each unit less the mean, over the root of the variance and a hundred-thousandth of an even share; times gain."""
    count, nothing = len(units), torch.zeros(())
    mean = sum(units, nothing) / count
    variance = sum(((unit - mean) * (unit - mean) for unit in units), nothing) / count
    scale = (variance + 1e-5 / count).sqrt()
    return [each * (unit - mean) / scale for each, unit in zip(gain, units, strict=True)]


def recall_image(
    codes: Tensor,
    query: Tensor,
    rates: tuple[Tensor, Tensor, Tensor],
    read: str,
    phi: Callable[[Tensor], Tensor],
    gain: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The recalls after each write [count memory] and the final W [memory memory] of one image; normalised by gain."""
    delta, eta, theta = rates
    if gain is not None:
        codes, query = torch.stack([unit_vector(code) for code in codes]), unit_vector(query)
    neurons = range(codes.shape[1])
    weights = [[torch.zeros((), dtype=torch.float64) for _ in neurons] for _ in neurons]

    def gamma(vector: Tensor) -> list[Tensor]:
        element = vector.unbind()
        if read == "codes":
            return [sum((weights[mu][nu] * element[mu] for mu in neurons), torch.zeros(())) for nu in neurons]
        return [sum((weights[mu][nu] * element[nu] for nu in neurons), torch.zeros(())) for mu in neurons]

    recalls = []
    for code in codes:
        projected, e = gamma(code), code.unbind()
        p = [phi(projected[nu] + theta * e[nu]) for nu in neurons]
        weights = [[(1 - delta) * weights[mu][nu] + eta * e[mu] * p[nu] for nu in neurons] for mu in neurons]
        units = [phi(total) for total in gamma(query)]
        recalls.append(torch.stack(units if gain is None else layer_norm(units, gain)))
    return torch.stack(recalls), torch.stack([torch.stack(row) for row in weights])


def recall_images(
    codes: Tensor,
    query: Tensor,
    rates: tuple[Tensor, Tensor, Tensor],
    read: str,
    phi: Callable[[Tensor], Tensor],
    gain: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The recalls [batch count memory] and final W [batch memory memory], one image after the other."""
    images = [recall_image(*image, rates, read, phi, gain) for image in zip(codes, query, strict=True)]
    return torch.stack([recalls for recalls, _ in images]), torch.stack([weights for _, weights in images])
