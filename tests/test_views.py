from dataclasses import dataclass, replace

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from stawm.data.prepare.prepared import Prepared
from stawm.experiments.experiment import DataConfig, Experiment
from stawm.look.answer import to_json
from stawm.look.looker import Looker
from stawm.look.views import VIEWS, View, plain, views_of
from stawm.look.views.draw import sketches_alone
from stawm.model.heads.head import HEADS, HeadConfig
from stawm.store.weights import Trained
from stawm.vision.canvas import AdditionCanvas, BernoulliCanvas
from tiny_drawing import drawing_config, drawing_model
from tiny_model import SMALL, heads, small
from toy_head import Brightness, Told


@dataclass(frozen=True)
class Counted:
    query: Float[Tensor, "batch memory"]
    value: Float[Tensor, "batch"]
    map: Float[Tensor, "batch height width"]


COUNTED = Counted(torch.zeros(2, 5), torch.tensor([3.0, 4.0]), torch.zeros(2, 50, 50))


def test_the_heads_of_this_package_have_views():
    assert set(VIEWS) == {"classify", "draw", "identify", "detect", "locate"}


@torch.no_grad()
def test_the_prediction_is_the_class_that_is_believed_most_at_the_end():
    model = drawing_model(drawing_config())
    episode = model(torch.rand(3, 1, 12, 12))
    for row, found in enumerate(views_of(model, episode, ("a", "b", "c", "d"))):
        beliefs = episode.logits[row].softmax(-1)
        assert found["classify"].look["prediction"] == "abcd"[int(beliefs[-1].argmax())]
        assert found["classify"].look["confidence"] == pytest.approx(float(beliefs[-1].max()))
        assert [one["belief"] for one in found["classify"].glimpses] == [
            pytest.approx(belief.tolist()) for belief in beliefs
        ]
        assert len(found["draw"].glimpses) == len(beliefs)


def test_a_head_without_a_view_is_told_by_its_few_numbers():
    first, second = plain(COUNTED, 2)
    assert to_json(first.answer) == {"value": 3.0}
    assert to_json(second.answer) == {"value": 4.0}
    assert to_json(plain(torch.tensor([[1.5, 2.0]]), 1)[0].answer) == {"value": [1.5, 2.0]}


def with_brightness(monkeypatch: pytest.MonkeyPatch) -> Looker:
    """A looker whose model has one more head, which says that the picture has brightness 3."""
    monkeypatch.setitem(HEADS._things, "brightness", Brightness)
    model = small(heads=heads(4) | {"brightness": HeadConfig()}).eval()
    head = model.head("brightness")
    torch.nn.init.zeros_(head.get_parameter("tell.weight"))
    torch.nn.init.constant_(head.get_parameter("tell.bias"), 3.0)
    config = replace(SMALL, heads=heads(4) | {"brightness": HeadConfig()})
    return Looker(Trained(model, Experiment("bright", model=config, data=DataConfig(name="folder:some")), {}), "bright")


PREPARED = [Prepared(torch.full((1, 12, 12), level, dtype=torch.uint8)) for level in (9, 99)]


def in_words(head: torch.nn.Module, answer: Told, episode: object, classes: tuple[str, ...]) -> list[View]:
    return [View(look={"notes": ("bright",)}, answer={"words": f"{value:g} of 6"}) for value in answer.value.tolist()]


def test_a_head_of_ones_own_is_told_with_and_without_a_view(monkeypatch: pytest.MonkeyPatch):
    own = with_brightness(monkeypatch)
    seen = own.look(PREPARED, ["a", "b"])
    assert [to_json(one)["answers"] for one in seen] == [{"brightness": {"value": 3.0}}] * 2
    monkeypatch.setitem(VIEWS._things, "brightness", in_words)
    seen = own.look(PREPARED, ["a", "b"])
    assert [one.answers for one in seen] == [{"brightness": {"words": "3 of 6"}}] * 2
    assert [one.notes for one in seen] == [("bright",)] * 2
    assert seen[0].prediction in own.classes


def test_a_sketch_alone_is_what_it_would_paint_on_a_grey_canvas_or_over_black():
    sketches, whole_canvas = torch.randn(2, 1, 3, 5, 5), torch.eye(2, 3).expand(2, 1, 2, 3)
    assert torch.equal(sketches_alone(sketches, AdditionCanvas(-6.0)), sketches_alone(sketches, AdditionCanvas(0.0)))
    for canvas in (AdditionCanvas(0.0), BernoulliCanvas()):
        painted = canvas.paint(sketches, whole_canvas, 5, 5, sample=False).canvases
        assert torch.allclose(sketches_alone(sketches, canvas), painted, atol=1e-5)
