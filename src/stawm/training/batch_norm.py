"""Precise batch norm: running statistics taken anew, from pictures as they are and not as augmentation made them."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from stawm.data.image_set import ImageSet, batch_of
from stawm.experiments.experiment import Experiment
from stawm.training.engine import generator_of
from stawm.vision.norms import GlimpseNorm

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def norms_of(model: nn.Module) -> list[GlimpseNorm]:
    """The layers that keep running statistics."""
    return [layer for layer in model.modules() if isinstance(layer, GlimpseNorm)]


@torch.no_grad()
def take_on(model: nn.Module, known: int) -> None:
    """Give all glimpses after the first `known` the running statistics of the last of these."""
    for norm in norms_of(model):
        for kept in (norm.running_mean, norm.running_var):
            kept[known:] = kept[min(known, norm.glimpses) - 1].clone()


@torch.no_grad()
def settle(model: nn.Module, pictures: ImageSet, experiment: Experiment, engine: "Fabric") -> None:
    """Replace the running statistics of `model` by their plain mean over some batches of unvaried `pictures`.

    Rotated and warped digits are blurred by interpolation, so the statistics of training do not quite fit sharp ones.
    Every process takes its share of each batch, as in training. A model that compares looks at two pictures with the
    same statistics: those of both count alike.
    """
    norms, training = norms_of(model), experiment.training
    momentum = [norm.momentum for norm in norms]
    counts = [norm.register_forward_pre_hook(_counting(), with_kwargs=True) for norm in norms]
    order = torch.randperm(len(pictures), generator=generator_of(experiment.seed, training.epochs, training.settle))
    batch = min(training.batch_size, len(pictures)) // engine.world_size * engine.world_size
    model.eval()
    for norm in norms:
        norm.train()
    for indices in order[: len(order) // batch * batch].split(batch)[: training.settle]:
        model(batch_of(pictures, indices[engine.global_rank :: engine.world_size], engine.device).images)
    for norm, usual, count in zip(norms, momentum, counts, strict=True):
        count.remove()
        norm.momentum = usual
    model.eval()


def _counting() -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]:
    """A hook that makes running statistics the plain mean over all batches that a layer meets, look by look."""
    met: Counter[int] = Counter()

    def count(norm: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        assert isinstance(norm, GlimpseNorm)
        glimpse = named.get("glimpse", given[1] if len(given) > 1 else 0)
        look = min(glimpse, norm.glimpses - 1)
        met[look] += 1
        norm.momentum = 1 / met[look]

    return count
