"""Batch norm for a network that looks several times: shared weights, running statistics for each glimpse."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm.precision import single


class GlimpseNorm(nn.Module):
    """Batch normalisation whose running mean and variance are kept apart for each glimpse.

    The glimpses of an episode differ (the first is often a wide view, the last a detail), so one set of running
    statistics mixed over all of them describes none: evaluation then disagrees with training. Scale and shift are
    shared. In several processes the statistics of a batch are those of all processes together, so that gradients equal
    those of the joined batch.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int, glimpses: int = 1, *, momentum: float = 0.1, eps: float = 1e-5) -> None:
        """Statistics for `glimpses` looks; later looks use those of the last."""
        super().__init__()
        self.momentum, self.eps, self.glimpses = momentum, eps, glimpses
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(glimpses, channels))
        self.register_buffer("running_var", torch.ones(glimpses, channels))

    def forward(
        self, maps: Float[Tensor, "batch channel height width"], glimpse: int = 0
    ) -> Float[Tensor, "batch channel height width"]:
        """The normalised feature maps of look number `glimpse`."""
        look = min(glimpse, self.glimpses - 1)
        mean, var = self.running_mean[look], self.running_var[look]
        if self.training and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            return self._joined(maps, mean, var)
        return F.batch_norm(maps, mean, var, self.weight, self.bias, self.training, self.momentum, self.eps)

    def _joined(self, maps: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
        from torch.distributed.nn.functional import all_reduce  # A build of torch without processes does not have it.

        maps = single(maps)
        own = torch.cat([maps.sum((0, 2, 3)), maps.square().sum((0, 2, 3)), maps.new_tensor([maps[:, 0].numel()])])
        joined: Tensor = all_reduce(own)  # Its gradient is the sum of the gradients of all processes.
        total, square, count = joined.split([maps.shape[1], maps.shape[1], 1])
        mean = total / count
        var = (square / count - mean.square()).clamp_min(0)
        with torch.no_grad():
            running_mean.lerp_(mean, self.momentum)
            running_var.lerp_(var * count / (count - 1), self.momentum)
        scale = self.weight * torch.rsqrt(var + self.eps)
        shift = self.bias - mean * scale
        return maps * scale[:, None, None] + shift[:, None, None]
