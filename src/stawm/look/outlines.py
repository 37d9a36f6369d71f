"""Where glimpses and sketches lie on their image."""

from jaxtyping import Float
from torch import Tensor

from stawm.show.picture import corners_of

Corners = tuple[tuple[float, float], ...]
"""Top left, top right, bottom right, bottom left, in pixels of the image: 0 is its left edge, its width the right."""


def outlines_of(poses: Float[Tensor, "batch glimpse 2 3"], height: int, width: int) -> list[list[Corners | None]]:
    """The corners of each glimpse, or of a sketch by its true pose; none for a pose that is not finite."""
    corners = corners_of(poses, height, width).tolist()
    finite = poses.isfinite().all(-1).all(-1).tolist()
    return [
        [tuple((x, y) for x, y in four) if whole else None for four, whole in zip(row, known, strict=True)]
        for row, known in zip(corners, finite, strict=True)
    ]
