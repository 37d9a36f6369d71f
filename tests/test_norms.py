"""Batch norm with statistics for each glimpse."""

import torch
from torch import nn

from stawm.vision.norms import GlimpseNorm


def test_each_glimpse_has_its_own_statistics() -> None:
    """Two looks with different statistics: evaluation normalises each with its own, where one shared norm cannot."""
    norm = GlimpseNorm(2, glimpses=2, momentum=1.0)
    bright, dark = 5 + torch.randn(64, 2, 4, 4), 0.1 * torch.randn(64, 2, 4, 4)
    trained = [norm(bright, 0), norm(dark, 1)]
    norm.eval()
    for number, (maps, expected) in enumerate(zip((bright, dark), trained, strict=True)):
        torch.testing.assert_close(norm(maps, number), expected, rtol=1e-2, atol=1e-2)
    assert (norm(bright, 1) - trained[0]).abs().max() > 10


def test_one_glimpse_is_plain_batch_norm() -> None:
    ours, theirs = GlimpseNorm(3), nn.BatchNorm2d(3)
    maps = torch.randn(8, 3, 5, 5)
    for shift in (0, 1, 2):
        torch.testing.assert_close(ours(maps + shift), theirs(maps + shift))
    torch.testing.assert_close(ours.eval()(maps), theirs.eval()(maps))
    torch.testing.assert_close(ours.running_var[0], theirs.running_var)


def test_a_look_past_the_last_uses_the_last_statistics() -> None:
    norm = GlimpseNorm(1, glimpses=2).eval()
    with torch.no_grad():
        norm.running_mean[1] = 3.0
    torch.testing.assert_close(norm(torch.full((1, 1, 1, 1), 3.0), 7), torch.zeros(1, 1, 1, 1))
