"""Weights of eight bits: none is further off than half a step, and a graph of them multiplies as it should."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from stawm.look.eight_bits import BLOCK, LARGE, ZERO, in_blocks, to_eight_bits
from stawm.store.portable import quiet, write_onnx


def test_every_weight_is_within_half_a_step_of_itself():
    weights = np.random.default_rng(0).normal(size=(5, 3 * BLOCK)).astype(np.float32)
    weights[2, BLOCK : 2 * BLOCK] = 0
    levels, scales = in_blocks(weights)
    assert levels.shape == (5, 3, BLOCK) and scales.shape == (5, 3)
    again = ((levels.astype(np.float32) - ZERO) * scales[..., None]).reshape(weights.shape)
    assert (np.abs(again - weights) <= np.repeat(scales, BLOCK, 1) * 0.5001).all()
    assert not again[2, BLOCK : 2 * BLOCK].any()
    assert np.abs(levels.astype(int) - ZERO).max() == 127


class Layers(nn.Module):
    """A large layer that is asked twice, and a small one that stays as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.large, self.small = nn.Linear(256, LARGE // 256), nn.Linear(LARGE // 256, 3)

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        first = self.large(images).relu()
        return {"told": self.small(first), "again": self.large(2 * images)}


def test_a_graph_with_such_weights_answers_nearly_the_same(tmp_path: Path):
    onnxruntime = pytest.importorskip("onnxruntime")
    layers, images, path = Layers().eval(), torch.rand(3, 256), tmp_path / "graph.onnx"
    with torch.no_grad(), quiet():
        write_onnx(layers, images, {}, path)
    before = path.stat().st_size
    to_eight_bits(path)
    assert path.stat().st_size < 0.5 * before
    session = onnxruntime.InferenceSession(path)
    for count in (1, 5):
        given = torch.rand(count, 256)
        told, again = session.run(["told", "again"], {"images": given.numpy()})
        with torch.no_grad():
            wanted = layers(given)
        for got, want in ((told, wanted["told"]), (again, wanted["again"])):
            apart = np.abs(got - want.numpy()).max()
            # Rounded (some differ), and by no more than a few hundredths of the spread.
            assert 0 < apart < 0.05 * float(want.std()) + 1e-2
