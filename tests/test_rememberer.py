"""A scene is seen once; what was kept of it, and nothing else, answers questions."""

from dataclasses import replace

import pytest
import torch

import stawm
import tiny_scene
from stawm.data import ImageSet, load_data
from stawm.data.prepare.prepared import Prepared
from stawm.errors import DataError, UsageError
from stawm.look.answer import to_json
from stawm.look.asked import Asked, Kept
from stawm.look.rememberer import Rememberer, only
from stawm.model.heads.question import QuestionConfig
from stawm.store.weights import Trained, packaged
from tiny_server import looker

SCENES, EIGHT = load_data("scenes:2x2+4:1-4").test, load_data("scenes:2x4+4:1-8").test
SHOWN = [Prepared(pixels) for pixels in SCENES.images[:5]]
NAMES = [f"scene {number}" for number in range(5)]


@pytest.fixture(scope="module")
def own() -> Rememberer:
    return tiny_scene.rememberer()


def kept_by(own: Rememberer) -> list[Kept]:
    return [kept for _, kept in own.remember(SHOWN, NAMES) if kept is not None]


@torch.no_grad()
def test_answers_are_those_of_the_heads_in_a_whole_episode(own: Rememberer):
    """Against one forward pass, in which every head is asked with the picture still there."""
    answers = own.model(SCENES.images[:5].float() / 255).answers
    what, where, there = (answers[name].logits.softmax(-1) for name in ("identify", "locate", "detect"))
    for row, told in enumerate(own.ask(kept_by(own))):
        for place, cell in enumerate(told.cells):
            assert cell.number == place + 1
            assert cell.belief == pytest.approx(what[row, place].tolist(), abs=1e-5)
            assert cell.there == pytest.approx(float(there[row, place, 1]), abs=1e-5)
            if cell.there is not None and cell.there >= 0.5:
                assert cell.prediction == str(int(what[row, place].argmax()))
                assert cell.confidence == pytest.approx(float(what[row, place].max()), abs=1e-5)
            else:
                assert (cell.prediction, cell.confidence) == (None, None)
        held = (what[row] * there[row, :, 1:]).amax(0)
        for place, one in enumerate(told.classes):
            assert one.name == str(place)
            assert one.belief == pytest.approx(where[row, place].tolist(), abs=1e-5)
            assert one.cell == int(where[row, place].argmax()) + 1
            assert one.remembered == (float(held[place]) >= 0.5) or abs(float(held[place]) - 0.5) < 1e-4
        levels = (answers["draw"].canvas[row, 0] * 255).round()
        assert told.drawing is not None
        assert abs(torch.from_numpy(told.drawing.array.astype(float)) - levels).max() <= 1


def test_each_cell_has_its_part_of_the_redrawing(own: Rememberer):
    [told] = own.ask(kept_by(own)[:1])
    parts = [torch.from_numpy(cell.drawing.array) for cell in told.cells if cell.drawing is not None]
    whole = torch.cat([torch.cat(parts[:2], 1), torch.cat(parts[2:], 1)], 0)
    assert told.drawing is not None
    assert torch.equal(whole, torch.from_numpy(told.drawing.array))


def test_nothing_of_the_picture_is_needed_once_it_was_seen(own: Rememberer, monkeypatch: pytest.MonkeyPatch):
    kept = kept_by(own)

    def refuse(*_: object) -> None:
        raise AssertionError("it looks again")

    first = to_json(own.ask(kept))
    for part in ("context", "glimpse", "policy"):
        monkeypatch.setattr(getattr(own.model, part), "forward", refuse)
    monkeypatch.setattr(own.model, "look", refuse)
    assert to_json(own.ask(kept)) == first
    blank = replace(kept[0], codes=torch.zeros_like(kept[0].codes))
    assert to_json(own.ask([blank])) != to_json(own.ask(kept[:1])), "what was written matters"


def test_memories_are_asked_together_as_if_alone(own: Rememberer):
    kept = kept_by(own)
    for one, told in zip(kept, own.ask(kept), strict=True):
        [alone] = own.ask([one])
        for cell, same in zip(told.cells, alone.cells, strict=True):
            assert cell.belief == pytest.approx(same.belief, abs=1e-5)


def test_no_head_is_asked_while_it_looks(own: Rememberer, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("asked before anybody asked")

    for head in own.model.heads.values():
        monkeypatch.setattr(head, "forward", refuse)
    seen, kept = own.remember(SHOWN[:1], NAMES[:1])[0]
    assert kept is not None
    assert kept.codes.shape == (3, 10)
    assert (len(seen.glimpses), seen.rows, seen.columns, seen.classes) == (3, 2, 2, tuple("0123456789"))


def test_only_what_was_asked_is_told(own: Rememberer):
    [told] = own.ask(kept_by(own)[:1])
    assert only(told, None, None) is told
    about = only(told, 3, None)
    assert ([cell.number for cell in about.cells], about.classes, about.drawing) == ([3], (), None)
    about = only(told, None, "7")
    assert (about.cells, [one.name for one in about.classes]) == ((), ["7"])


def test_a_model_that_is_only_asked_what_was_where(own: Rememberer):
    plain = tiny_scene.rememberer({"identify": QuestionConfig()})
    [told] = plain.ask([kept for _, kept in plain.remember(SHOWN[:1], NAMES[:1]) if kept])
    assert all(cell.there is None and cell.drawing is None and cell.prediction is not None for cell in told.cells)
    assert (told.classes, told.drawing) == ((), None)
    with pytest.raises(UsageError, match="not asked where"):
        plain.check_class("7")


def test_a_model_without_questions_is_told_in_one_line():
    with pytest.raises(UsageError, match=r"sketchpad cannot be asked .* scenes-4-ask"):
        Rememberer(looker())
    assert Rememberer.of(looker()) is None


def public() -> Trained:
    known = tiny_scene.experiment()
    return Trained(tiny_scene.model(known), known, {})


def test_a_picture_or_cells_are_asked_about_in_python():
    model, digit = public(), load_data("mnist-5k").test.images[0, 0].numpy()
    asked = stawm.ask(SCENES.images[0], model=model)
    assert isinstance(asked, Asked)
    assert (asked.seen.name, len(asked.cells), len(asked.classes)) == ("picture 1", 4, 10)
    assert asked.drawing is not None
    assert to_json(stawm.ask(SCENES.images[0], model=model, at=2)) == to_json(asked.cells[1])
    asked = stawm.ask([digit, None, 255 - digit], model=model)
    assert (asked.seen.found, asked.seen.inverted) == (2, True)
    for bad in (0, 5):
        with pytest.raises(UsageError, match=f"no cell {bad}"):
            stawm.ask(digit, model=model, at=bad)
    with pytest.raises(DataError, match="6 pictures"):
        stawm.ask([digit] * 6, model=model)


def test_where_nothing_is_drawn_nothing_is_remembered():
    blank = SCENES.images[0] * 0
    for given in (blank, [None, None], []):
        asked = stawm.ask(given, model=public())
        assert (asked.recalled, asked.cells, asked.drawing, asked.seen.found) == (None, (), None, 0)
        assert len(asked.seen.glimpses) == 3
    assert stawm.ask(blank, model=public(), at=1) is None


def test_a_look_tells_what_is_where_in_words():
    [seen] = tiny_scene.looker().look(SHOWN[:1], ["a scene"])
    assert set(seen.answers) == {"identify", "locate"}
    assert list(seen.answers["identify"]) == ["cell 1", "cell 2", "cell 3", "cell 4"]
    assert list(seen.answers["locate"]) == list("0123456789")
    asked = stawm.ask(SCENES.images[0], model=public())
    for cell, words in zip(asked.cells, seen.answers["identify"].values(), strict=True):
        assert words.startswith(f"{cell.prediction or 'nothing'} (")


@pytest.mark.skipif("scenes-4-ask" not in packaged(), reason="the weights of scenes do not come with this package")
@pytest.mark.parametrize(("name", "scenes"), [("scenes-4-ask", SCENES), ("scenes-8-ask", EIGHT)])
def test_the_shipped_models_remember_held_out_scenes(name: str, scenes: ImageSet):
    right = wanted = 0
    assert scenes.labels is not None
    for image, labels in zip(scenes.images[:40], scenes.labels.tolist(), strict=False):
        for cell, label in zip(stawm.ask(image, model=name).cells, labels, strict=True):
            wanted += 1
            right += cell.prediction == (None if label < 0 else str(label))
    assert right > 0.9 * wanted
