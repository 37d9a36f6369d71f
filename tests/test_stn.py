"""The spatial-transformer CNN: what it sees is what its pose says, and it learns to look at the digit."""

from dataclasses import replace

import torch
import torch.nn.functional as F

from stawm.baselines.stn import SpatialTransformer
from stawm.experiments.build import build
from stawm.experiments.experiment import CnnConfig, ImageConfig, ModelConfig
from stawm.experiments.presets import preset
from stawm.model.heads.classify import Classification, ClassifyConfig
from stawm.model.heads.head import Batch
from stawm.training.engine import optimiser_for
from tiny_learning import taught, total
from tiny_seed import SHIFT

CONFIG = ModelConfig(
    kind="stn",
    image=ImageConfig(1, 20, 20),
    heads={"classify": ClassifyConfig(classes=2)},
    glimpse_height=8,
    glimpse_width=8,
    hidden=16,
    context=CnnConfig(filters=(8, 8), strides=(2, 2)),
    glimpse=CnnConfig(filters=(8,), strides=(2,)),
    dropout=0.0,
)


def small(**changes: object) -> SpatialTransformer:
    torch.manual_seed(SHIFT)
    model = build(replace(CONFIG, **changes))
    assert isinstance(model, SpatialTransformer)
    return model


def test_it_starts_with_the_whole_picture() -> None:
    images = torch.rand(3, 1, 20, 20)
    looked = small().eval()(images)
    torch.testing.assert_close(looked.poses[:, 0], torch.eye(2, 3).expand(3, 2, 3))
    line = torch.linspace(-1, 1, 8)
    down, across = torch.meshgrid(line, line, indexing="ij")
    grid = torch.stack([across, down], -1).expand(3, 8, 8, 2)
    torch.testing.assert_close(looked.glimpses[:, 0], F.grid_sample(images, grid, align_corners=True))
    assert small(glimpse_scale=0.5).eval()(images).poses[0, 0, 0, 0] == 0.5


def test_its_answer_is_that_of_the_second_network_for_the_glimpse() -> None:
    model, images = small().eval(), torch.rand(3, 1, 20, 20)
    looked = model(images)
    features = F.relu(model.hidden(model.encoder(looked.glimpses[:, 0])))
    torch.testing.assert_close(looked.logits[:, 0], model.classify(features))


def test_the_emitter_has_its_share_of_the_learning_rate() -> None:
    groups = optimiser_for(small(), replace(preset("stn-cluttered-60").training, pose_share=0.1)).param_groups
    slow = [part for group in groups if group["share"] == 0.1 for part in group["params"]]
    assert sum(part.numel() for part in slow) == 16 * 8 + 8 + 8 * 6 + 6


def test_it_learns_and_moves() -> None:
    """Bars that stand or lie anywhere; seeds 0 to 4 end with at most one error of 64, and all poses move."""
    torch.manual_seed(SHIFT)
    labels, images = torch.arange(64) % 2, torch.zeros(64, 1, 20, 20)
    for place, (label, image) in enumerate(zip(labels, images, strict=True)):
        top, left = 2 + place % 11, 1 + place % 13
        image[:, top : top + 2, left : left + 5] = float(label)
        image[:, top : top + 5, left : left + 2] = 1 - float(label)
        image[:, top : top + 2, left : left + 2] = 1.0
    model, batch, judge = small(), Batch(images, labels), Classification()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    taught(optimiser, lambda: total(judge.terms(model(images).answers["classify"], batch)), 60)
    looked = model.eval()(images)
    assert judge.scores(looked.answers["classify"], batch)["error"].mean() < 0.2
    assert (looked.poses - torch.eye(2, 3)).abs().amax((1, 2, 3)).min() > 1e-3
