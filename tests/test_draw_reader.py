"""DRAW's reader: one picture at a time by the equations, and it learns to find a digit's place."""

import torch
from torch import Tensor

from oracle_draw import naive_bank, naive_read
from stawm.baselines.draw_reader import DrawReader
from stawm.model.heads.classify import Classification
from stawm.model.heads.head import Batch
from tiny_learning import taught, total
from tiny_seed import SHIFT


def small() -> DrawReader:
    torch.manual_seed(2 + SHIFT)
    model = DrawReader((2, 6, 7), classes=3, glimpses=3, glimpse_size=(2, 3), hidden=5).double()
    with torch.no_grad():
        model.start.normal_()
    return model


def by_hand(model: DrawReader, picture: Tensor) -> Tensor:
    (hidden, cell), found, core = model.start.unbind(), [], model.core
    for _ in range(3):
        patch = naive_read(picture, naive_bank(model.attend.weight @ hidden + model.attend.bias, (6, 7), (2, 3)))
        gates = core.weight_ih @ patch.flatten() + core.bias_ih + core.weight_hh @ hidden + core.bias_hh
        i, f, g, o = gates.chunk(4)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        found.append(model.classify.weight @ hidden + model.classify.bias)
    return torch.stack(found)


def test_it_follows_its_equations_in_values_and_gradients() -> None:
    model, images = small(), torch.rand(2, 2, 6, 7, dtype=torch.float64)
    found, wanted = model(images).logits, torch.stack([by_hand(model, picture) for picture in images])
    torch.testing.assert_close(found, wanted)
    shares = torch.rand_like(wanted) - 0.5
    truths = torch.autograd.grad((wanted * shares).sum(), list(model.parameters()))
    assert min(part.abs().max().item() for part in truths) > 1e-9
    for got, truth in zip(torch.autograd.grad((found * shares).sum(), list(model.parameters())), truths, strict=True):
        torch.testing.assert_close(got, truth, rtol=1e-8, atol=1e-11)


def test_it_says_where_it_looked() -> None:
    looked = small().eval()(torch.rand(4, 2, 6, 7, dtype=torch.float64))
    assert looked.poses.shape == (4, 3, 2, 3)
    assert looked.glimpses.shape == (4, 3, 2, 2, 3)
    assert looked.poses[..., 0, 1].eq(0).all() and looked.poses[..., 1, 0].eq(0).all(), "the grid is upright"


def test_a_handful_of_pictures_is_learnt() -> None:
    """Bars that stand or lie somewhere; seeds 0 to 7 end without an error. Without clipping some lose the picture."""
    torch.manual_seed(SHIFT)
    labels, images = torch.arange(32) % 2, torch.zeros(32, 1, 12, 12)
    for place, (label, image) in enumerate(zip(labels, images, strict=True)):
        top, left = 3 + place % 3, 3 + place % 4
        image[:, top : top + 2, left : left + 6] = float(label)
        image[:, top : top + 6, left : left + 2] = 1 - float(label)
        image[:, top : top + 2, left : left + 2] = 1.0
    model = DrawReader((1, 12, 12), classes=2, glimpses=2, glimpse_size=(4, 4), hidden=32)
    batch, judge = Batch(images, labels), Classification()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    taught(optimiser, lambda: total(judge.terms(model(images).answers["classify"], batch)), 100, clip=1.0)
    assert judge.scores(model(images).answers["classify"], batch)["error"].mean() < 0.2
