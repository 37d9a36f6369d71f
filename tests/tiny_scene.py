"""A small, untrained model that is asked about scenes of 2 × 2 cells, with all question heads and a redrawing."""

from dataclasses import fields, replace
from pathlib import Path

import torch

from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig, ModelConfig
from stawm.look.looker import Looker
from stawm.look.rememberer import Rememberer
from stawm.model.heads.draw import DrawConfig
from stawm.model.heads.head import HeadConfig
from stawm.model.heads.question import QuestionConfig
from stawm.model.stawm import Stawm
from stawm.store.weights import Trained, export
from tiny_drawing import drawing_model
from tiny_model import SMALL, small

NAME = "tiny-scenes"
HEADS: dict[str, HeadConfig] = {
    "identify": QuestionConfig(),
    "locate": QuestionConfig(),
    "detect": QuestionConfig(),
    "draw": DrawConfig(latent=2),
}


def experiment(heads: dict[str, HeadConfig] | None = None) -> Experiment:
    config: ModelConfig = replace(SMALL, image=ImageConfig(1, 36, 36), heads=HEADS if heads is None else heads)
    return Experiment(name=NAME, about="small", model=config, data=DataConfig(name="scenes:2x2+4:1-4", rotate=0.0))


def model(known: Experiment) -> Stawm:
    """Set so that answers differ from cell to cell and picture to picture."""
    config = known.model
    plain = {part.name: getattr(config, part.name) for part in fields(config)}
    made = drawing_model(config) if config.draws else small(**plain)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if name.endswith(("answer.weight", "read.weight", "embed.weight")):
                weight.normal_(0, 1.0)
    return made.eval()


def looker(heads: dict[str, HeadConfig] | None = None) -> Looker:
    known = experiment(heads)
    return Looker(Trained(model(known), known, {}), NAME)


def rememberer(heads: dict[str, HeadConfig] | None = None) -> Rememberer:
    return Rememberer(looker(heads))


def weights(folder: Path) -> Path:
    known = experiment()
    return export(model(known), known, folder)
