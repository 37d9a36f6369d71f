"""The plain CNN: an encoder, a layer, a classifier, and sizes by hand."""

from itertools import pairwise

import torch
import torch.nn.functional as F

from stawm.baselines.cnn import PlainCnn
from stawm.experiments.build import build
from stawm.experiments.presets import preset


def test_its_answer_by_hand() -> None:
    model, images = build(preset("cnn-cluttered-60").model).eval(), torch.rand(2, 1, 60, 60)
    assert isinstance(model, PlainCnn)
    maps = images
    for convolution, norm in zip(model.encoder.convolutions, model.encoder.norms, strict=True):  # pyright: ignore
        maps = F.conv2d(maps, convolution.weight, stride=2)
        maps = F.relu(F.batch_norm(maps, torch.zeros(maps.shape[1]), torch.ones(maps.shape[1]), norm.weight, norm.bias))
    features = F.relu(maps.flatten(1) @ model.hidden.weight.T + model.hidden.bias)
    torch.testing.assert_close(model(images).answers["classify"].logits[:, 0], model.classify(features))


def test_its_sizes_by_hand() -> None:
    """60 pixels become 29, 14 and 6; in the deep one 58, 28, 26, 12, 10 and 4."""
    for name, filters, side in (
        ("cnn-cluttered-60", (32, 64, 128), 6),
        ("cnn-cluttered-60-deep", (32, 32, 64, 64, 128, 128), 4),
    ):
        config = preset(name).model
        convolutions = sum(9 * wide * deep + 2 * deep for wide, deep in pairwise((1, *filters)))
        linear = (filters[-1] * side * side + 1) * config.hidden_size + (config.hidden_size + 1) * 10
        assert sum(part.numel() for part in build(config).parameters()) == convolutions + linear
