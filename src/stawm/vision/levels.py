"""Levels of pictures as networks may want them: less their mean, over their deviation, channel by channel."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Levels:
    """(x − mean) / deviation for each channel, and back.

    Glimpses are cut of pictures that are normalised already, and zero stands for what lies outside: there, the mean.
    The paper's text does not say so; its authors' classifiers did (paper-notes, section 4).
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def normalised(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Pictures in [0, 1] as the networks see them."""
        return (images - _column(images, self.mean)) / _column(images, self.deviation)

    def restored(
        self, seen: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """What the networks see, in [0, 1] again, for people."""
        return seen * _column(seen, self.deviation) + _column(seen, self.mean)


def _column(like: Tensor, values: tuple[float, ...]) -> Tensor:
    return like.new_tensor(values)[:, None, None]
