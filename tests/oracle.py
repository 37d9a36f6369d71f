"""The truth: the Hebb-Rosenblatt memory as loops over images and neurons, written from the equations alone."""

from collections.abc import Callable

import torch
from torch import Tensor


def recall_image(
    codes: Tensor, query: Tensor, rates: tuple[Tensor, Tensor, Tensor], read: str, phi: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """The recalls after each write [count memory] and the final W [memory memory] of one image."""
    delta, eta, theta = rates
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
        recalls.append(torch.stack([phi(total) for total in gamma(query)]))
    return torch.stack(recalls), torch.stack([torch.stack(row) for row in weights])


def recall_images(
    codes: Tensor, query: Tensor, rates: tuple[Tensor, Tensor, Tensor], read: str, phi: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """The recalls [batch count memory] and final W [batch memory memory], one image after the other."""
    images = [recall_image(*image, rates, read, phi) for image in zip(codes, query, strict=True)]
    return torch.stack([recalls for recalls, _ in images]), torch.stack([weights for _, weights in images])
