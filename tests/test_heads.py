"""What heads ask with stays within its bound, and settings of a head reach its parts."""

import pytest
import torch

from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.head import Order, Query
from stawm.vision.canvas import BernoulliCanvas
from tiny_model import artist_of, head_of, heads, small


@pytest.mark.parametrize(("order", "bound"), [("before", 6.0), ("after", 12.0)])
def test_a_query_stays_within_its_bound_in_training(order: Order, bound: float) -> None:
    query = Query(4, 64, dropout=0.5, order=order)
    with torch.no_grad():
        query.project.bias.fill_(100.0)
    assert query.bound == bound
    assert query(torch.zeros(8, 4)).unique().tolist() == [0.0, bound], "dropped, or at the bound"
    assert query.eval()(torch.zeros(8, 4)).unique().tolist() == [6.0], "at evaluation nothing is dropped"


def test_a_query_may_drop_nothing() -> None:
    query = Query(4, 64, dropout=0.5, order="none")
    with torch.no_grad():
        query.project.bias.fill_(100.0)
    assert query.training and query.bound == 6.0
    assert query(torch.zeros(8, 4)).unique().tolist() == [6.0]


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
