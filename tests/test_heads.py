"""What heads ask with stays within its bound, and settings of a head reach its parts."""

import pytest
import torch

from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.head import ConstantQuery, Order, Query, Scene
from stawm.vision.canvas import BernoulliCanvas
from tiny_model import artist_of, head_of, heads, small


@pytest.mark.parametrize(("order", "bound"), [("before", 6.0), ("after", 12.0)])
def test_a_query_stays_within_its_bound_in_training(order: Order, bound: float) -> None:
    query = Query(4, 64, dropout=0.5, order=order)
    with torch.no_grad():
        query.project.bias.fill_(100.0)
    assert query(torch.zeros(8, 4)).unique().tolist() == [0.0, bound], "dropped, or at the bound"
    assert query.eval()(torch.zeros(8, 4)).unique().tolist() == [6.0], "at evaluation nothing is dropped"


def test_a_query_may_drop_nothing() -> None:
    query = Query(4, 64, dropout=0.5, order="none")
    with torch.no_grad():
        query.project.bias.fill_(100.0)
    assert query.training and query(torch.zeros(8, 4)).unique().tolist() == [6.0]


@pytest.mark.parametrize("order", ["before", "after", "none"])
def test_the_order_of_dropout_is_a_setting_and_changes_no_trained_answer(order: Order) -> None:
    images = torch.rand(2, 1, 12, 12)
    plain = small().eval()
    model = small(heads={"classify": ClassifyConfig(classes=4, query_dropout=order)}).eval()
    query = head_of(model).query
    assert isinstance(query, Query) and query.order == order
    model.load_state_dict(plain.state_dict())
    assert torch.equal(model(images).logits, plain(images).logits)


def test_the_mean_of_masks_is_a_setting() -> None:
    images, drawn = torch.rand(2, 1, 12, 12), {}
    for mean in ("bernoulli", "concrete"):
        model = small(heads=heads(latent=2, canvas="bernoulli", mean=mean)).eval()
        assert artist_of(model).canvas == BernoulliCanvas(2.0, mean)
        drawn[mean] = model(images).answers["draw"].canvas
    assert not torch.equal(drawn["bernoulli"], drawn["concrete"])


def test_a_constant_query_asks_the_same_of_every_picture_and_learns() -> None:
    """What is recalled then comes out of the memory alone: other features of the context change nothing."""
    model = small(heads={"classify": ClassifyConfig(classes=4, query="constant")})
    query = head_of(model).query
    assert isinstance(query, ConstantQuery) and (query.vector > 0).all()
    episode = model(torch.rand(3, 1, 12, 12))
    asked = episode.answers["classify"].query
    assert torch.equal(asked, asked[:1].expand(3, -1)) and asked.max() <= 6
    other = model.ask(torch.randn_like(episode.context), episode.codes, Scene(12, 12, None))
    torch.testing.assert_close(other.logits, episode.logits)
    episode.logits.square().sum().backward()
    assert query.vector.grad is not None and query.vector.grad.any()
