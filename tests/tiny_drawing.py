"""Small models that draw, and ways to see what a figure shows."""

from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from stawm.experiments.experiment import ImageConfig, ModelConfig
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.draw import DrawConfig, Drawn
from stawm.model.heads.head import HeadConfig
from stawm.model.stawm import Stawm
from stawm.show.sheet import Colour
from stawm.vision.canvas import Painting
from tiny_model import SMALL, policy_of, small

TEAL, PINK, LIME = (0, 128, 128), (255, 0, 200), (120, 255, 0)
"""Colours that no figure draws with."""


def drawing_config(
    canvas: Literal["addition", "bernoulli"] = "addition", image: ImageConfig = SMALL.image, classes: int = 4
) -> ModelConfig:
    heads: dict[str, HeadConfig] = {"classify": ClassifyConfig(classes=classes)} if classes else {}
    return replace(SMALL, image=image, heads=heads | {"draw": DrawConfig(latent=2, canvas=canvas, start=0.0)})


def drawing_model(config: ModelConfig) -> Stawm:
    """An untrained model, set so that its poses and inverse poses differ from picture to picture."""
    model = small(**{part.name: getattr(config, part.name) for part in fields(config)})
    with torch.no_grad():
        inverse = policy_of(model).inverse
        assert inverse is not None
        inverse.pose.weight.normal_(0, 0.5)
    return model.eval()


def canvas_pose(scale: float, x: float = 0.0, y: float = 0.0) -> Tensor:
    """The inverse pose that pastes a sketch of `scale` times the canvas with its centre at (x, y)."""
    return torch.tensor([[1 / scale, 0.0, -x / scale], [0.0, 1 / scale, -y / scale]])


def drawn_by(canvases: Tensor, poses: Tensor, masks: Tensor | None = None) -> Drawn:
    """A drawing with these stages [batch glimpse channel height width], pasted by these inverse poses."""
    batch, glimpses, channels = canvases.shape[:3]
    latent, memory = torch.zeros(batch, glimpses, 2), torch.zeros(batch, glimpses, 6)
    sketches = torch.zeros(batch, glimpses, channels, 4, 4)
    painting = Painting(canvases[:, -1], torch.zeros_like(canvases), masks, canvases.unbind(1))
    return Drawn(memory[:, 0], memory, latent, latent, painting, sketches, poses)


def flat(colour: Colour, height: int = 12, width: int = 12) -> Tensor:
    return (torch.tensor(colour) / 255)[:, None, None].expand(3, height, width)


def where(drawn: Image.Image, colour: Colour, tolerance: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns at which `drawn` has this colour."""
    rows, columns = (np.abs(np.asarray(drawn).astype(int) - np.array(colour)).max(-1) <= tolerance).nonzero()
    return rows, columns


@dataclass(frozen=True)
class Box:
    left: int
    top: int
    right: int
    bottom: int

    @property
    def size(self) -> tuple[int, int]:
        return self.right - self.left, self.bottom - self.top


def box_of(drawn: Image.Image, colour: Colour, tolerance: int = 12) -> Box:
    """The smallest box around everything in this colour."""
    rows, columns = where(drawn, colour, tolerance)
    assert rows.size, f"nothing is {colour}"
    return Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
