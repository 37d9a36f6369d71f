from dataclasses import dataclass

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

import stawm.look.views as views
from stawm.look.answer import to_json
from stawm.look.looker import Looker, Prepared
from stawm.look.views import VIEWS, View, answers_of, heads_of, plain, views_of
from stawm.look.views.draw import sketches_alone
from stawm.registry import Registry
from stawm.vision.canvas import AdditionCanvas, BernoulliCanvas
from tiny_drawing import drawing_config, drawing_model
from tiny_server import looker


@dataclass(frozen=True)
class Counted:
    query: Float[Tensor, "batch memory"]
    value: Float[Tensor, "batch"]
    map: Float[Tensor, "batch height width"]


COUNTED = Counted(torch.zeros(2, 5), torch.tensor([3.0, 4.0]), torch.zeros(2, 50, 50))


def test_the_heads_of_this_package_have_views():
    assert set(VIEWS) == {"classify", "draw"}


def test_heads_and_answers_go_by_the_same_names():
    model = drawing_model(drawing_config())
    episode = model(torch.rand(2, 1, 12, 12))
    assert list(heads_of(model)) == list(answers_of(episode)) == ["classify", "draw"]
    only_draws = drawing_model(drawing_config(classes=0))
    assert list(heads_of(only_draws)) == list(answers_of(only_draws(torch.rand(1, 1, 12, 12)))) == ["draw"]


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


def with_a_counter(monkeypatch: pytest.MonkeyPatch) -> Looker:
    """A looker whose model has one more head, which counts."""
    real, real_heads = views.answers_of, views.heads_of
    monkeypatch.setattr(views, "answers_of", lambda episode: real(episode) | {"count": COUNTED})
    monkeypatch.setattr(views, "heads_of", lambda model: real_heads(model) | {"count": torch.nn.Identity()})
    return looker("counter", draws=False)


PREPARED = [Prepared(torch.full((1, 12, 12), level, dtype=torch.uint8)) for level in (9, 99)]


def test_a_head_of_ones_own_is_told_with_and_without_a_view(monkeypatch: pytest.MonkeyPatch):
    own = with_a_counter(monkeypatch)
    seen = own.look(PREPARED, ["a", "b"])
    assert [to_json(one)["answers"] for one in seen] == [{"count": {"value": 3.0}}, {"count": {"value": 4.0}}]
    more: Registry = Registry("view", home="stawm.look.views", group="stawm.none")
    monkeypatch.setattr(views, "VIEWS", more)
    more.add("classify", VIEWS["classify"])

    @more.add("count")
    def counted(head: torch.nn.Module, answer: Counted, episode: object, classes: tuple[str, ...]) -> list[View]:
        counts = [int(value) for value in answer.value]
        return [View(look={"notes": (f"{count} things",)}, answer={"things": count}) for count in counts]

    seen = own.look(PREPARED, ["a", "b"])
    assert [one.answers for one in seen] == [{"count": {"things": 3}}, {"count": {"things": 4}}]
    assert [one.notes for one in seen] == [("3 things",), ("4 things",)]
    assert seen[0].prediction in own.classes


def test_a_sketch_alone_is_what_it_would_paint_on_a_grey_canvas_or_over_black():
    sketches, whole_canvas = torch.randn(2, 1, 3, 5, 5), torch.eye(2, 3).expand(2, 1, 2, 3)
    assert torch.equal(sketches_alone(sketches, AdditionCanvas(-6.0)), sketches_alone(sketches, AdditionCanvas(0.0)))
    for canvas in (AdditionCanvas(0.0), BernoulliCanvas()):
        painted = canvas.paint(sketches, whole_canvas, 5, 5, sample=False).canvases
        assert torch.allclose(sketches_alone(sketches, canvas), painted, atol=1e-5)
