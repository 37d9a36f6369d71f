import io
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from stawm.data import load_data
from stawm.data.pictures import pixels_of, whole
from stawm.data.prepare.given import Given, open_given
from stawm.data.prepare.prepared import Prepared
from stawm.data.sets.celeba import face
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig, ModelConfig
from stawm.look.answer import Look, rounded, to_json
from stawm.look.looker import Looker, preferred, shipped
from stawm.show.picture import outline_of, pasted_outline_of
from stawm.store.weights import Trained, load_trained
from stawm.vision.glimpse import outside
from tiny_drawing import drawing_config, drawing_model
from tiny_model import SMALL, heads, small
from tiny_trust import trust_for

SHIPPED = "mnist-5k-sketchpad"


def looker_of(config: ModelConfig, data: str = "folder:somewhere", classes: tuple[str, ...] = ()) -> Looker:
    model = drawing_model(config) if config.draws else small(**_settings(config)).eval()
    return Looker(Trained(model, Experiment("tiny", model=config, data=DataConfig(name=data)), {}, classes), "tiny")


def _settings(config: ModelConfig) -> dict[str, Any]:
    return {part.name: getattr(config, part.name) for part in fields(config)}


def noise(looker: Looker, count: int = 3) -> list[Prepared]:
    shape = (looker.image.channels, looker.image.height, looker.image.width)
    return [Prepared(torch.randint(0, 256, shape, dtype=torch.uint8)) for _ in range(count)]


def look(looker: Looker, prepared: list[Prepared], memory: bool = False) -> list[Look]:
    return looker.look(prepared, [f"{number}.png" for number in range(len(prepared))], memory=memory)


def levels(image: Tensor) -> np.ndarray:
    picture = (image.clamp(0, 1) * 255).round().to(torch.uint8)
    return picture[0].numpy() if picture.shape[0] == 1 else picture.permute(1, 2, 0).numpy()


COLOUR = ImageConfig(3, 10, 16)
CONFIGS = {
    "classifies": SMALL,
    "draws": drawing_config(classes=0),
    "sketchpad": drawing_config(),
    "bernoulli": drawing_config("bernoulli", COLOUR),
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_look_shows_what_happened_and_nothing_else(kind: str):
    looker = looker_of(CONFIGS[kind])
    prepared = noise(looker)
    seen = look(looker, prepared)
    height, width = looker.image.height, looker.image.width
    with torch.no_grad():
        episode = looker.model(torch.stack([one.pixels for one in prepared]).float() / 255)
    shares = outside(episode.poses)
    assert [one.name for one in seen] == ["0.png", "1.png", "2.png"]
    for row, one in enumerate(seen):
        assert (one.image.png.array == levels(prepared[row].pixels / 255)).all()
        assert len(one.glimpses) == looker.glimpses == 3
        assert [glimpse.number for glimpse in one.glimpses] == [1, 2, 3]
        assert [glimpse.colour for glimpse in one.glimpses] == ["#2c7be5", "#ca3ea0", "#f6b228"]
        for number, glimpse in enumerate(one.glimpses):
            corners = outline_of(episode.poses[row, number], height, width)
            assert np.allclose(glimpse.outline, corners, atol=1e-4)
            assert glimpse.outside == pytest.approx(float(shares[row, number]))
            assert (glimpse.glimpse.array == levels(episode.glimpses[row, number])).all()
            if "classify" not in episode.answers:
                assert glimpse.belief is None
            else:
                assert glimpse.belief == pytest.approx(episode.logits[row, number].softmax(-1).tolist(), abs=1e-5)
            drawn = episode.answers.get("draw")
            if drawn is None:
                assert (glimpse.sketch, glimpse.sketch_outline, glimpse.canvas) == (None, None, None)
            else:
                assert glimpse.canvas is not None
                assert (glimpse.canvas.array == levels(drawn.painting.canvases[row, number])).all()
                pasted = pasted_outline_of(drawn.poses[row, number], height, width)
                assert pasted is not None
                assert glimpse.sketch_outline is not None
                assert np.allclose(glimpse.sketch_outline, pasted, rtol=1e-4, atol=1e-3)
                assert glimpse.sketch is not None
                assert glimpse.sketch.array.shape[:2] == (5, 5)


@pytest.mark.parametrize("kind", CONFIGS)
def test_what_a_looker_says_of_itself(kind: str):
    looker = looker_of(CONFIGS[kind], classes=("a", "b", "c", "d") if CONFIGS[kind].classes else ())
    assert looker.classifies == (kind != "draws")
    assert looker.draws == (kind != "classifies")
    assert looker.classes == (() if kind == "draws" else ("a", "b", "c", "d"))
    seen = look(looker, noise(looker))[0]
    assert (seen.prediction in looker.classes) if looker.classifies else seen.prediction is None


def test_classes_without_names_are_numbered():
    assert looker_of(SMALL).classes == ("0", "1", "2", "3")


@pytest.mark.parametrize("kind", ["sketchpad", "bernoulli"])
def test_batched_equals_single(kind: str):
    looker = looker_of(CONFIGS[kind])
    prepared = noise(looker, 5)
    together = [to_json(one) for one in look(looker, prepared, memory=True)]
    for number, one in enumerate(prepared):
        alone = to_json(looker.look([one], [f"{number}.png"], memory=True)[0])
        same(alone, together[number])


def same(one: Any, other: Any) -> None:
    """All numbers within 1e-4 (they have four decimals), pictures within two levels, all else equal."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for part, other_part in zip(one, other, strict=True):
            same(part, other_part)
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1.01e-4, rel=1e-4)
    elif isinstance(one, str) and one.startswith("data:"):
        assert abs(len(one) - len(other)) < 200
    else:
        assert one == other


def test_batched_equals_single_to_five_decimals():
    looker = looker_of(CONFIGS["sketchpad"])
    prepared = noise(looker, 6)
    together = look(looker, prepared)
    for one, seen in zip(prepared, together, strict=True):
        alone = looker.look([one], [seen.name])[0]
        for first, second in zip(alone.glimpses, seen.glimpses, strict=True):
            assert first.belief == pytest.approx(second.belief, abs=1e-5)
            assert np.allclose(first.outline, second.outline, atol=1e-4)
            assert first.canvas is not None
            assert second.canvas is not None
            assert np.abs(first.canvas.array.astype(int) - second.canvas.array).max() <= 1


def test_the_memory_is_shown_when_asked_for():
    looker = looker_of(SMALL)
    without, with_it = look(looker, noise(looker, 1)), look(looker, noise(looker, 1), memory=True)
    assert without[0].memory is None
    assert with_it[0].memory is not None
    assert (with_it[0].memory.size, len(with_it[0].memory.steps)) == (10, 3)


def test_nothing_is_nothing():
    assert looker_of(SMALL).look([], []) == []


def test_a_model_without_glimpses_cannot_look():
    config = replace(SMALL, kind="vae", heads=heads(4, latent=2))
    trained = Trained(build(config), Experiment("plain", model=config), {}, ())
    with pytest.raises(UsageError, match="no memory to look with"):
        Looker(trained, "plain")


def coloured(width: int, height: int, kind: str = "PNG") -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, kind)
    return content.getvalue()


@pytest.mark.parametrize("size", [(40, 10), (10, 40), (16, 10), (5, 5)])
@pytest.mark.parametrize("kind", ["sketchpad", "bernoulli"])
def test_pictures_for_other_models_are_made_as_in_training(kind: str, size: tuple[int, int]):
    looker = looker_of(CONFIGS[kind])
    shape = (looker.image.channels, looker.image.height, looker.image.width)
    prepared = looker.prepare(open_given(coloured(*size), "x"))
    assert (prepared.pixels.numpy() == pixels_of(coloured(*size), shape, whole)).all()
    assert (prepared.inverted, prepared.notes) == (False, ())


def test_faces_are_framed_as_in_training():
    looker = looker_of(CONFIGS["bernoulli"], data="celeba")
    shape = (3, 10, 16)
    prepared = looker.prepare(open_given(coloured(178, 218), "x"))
    assert (prepared.pixels.numpy() == pixels_of(coloured(178, 218), shape, face)).all()
    other = looker.prepare(open_given(coloured(100, 100), "x"))
    assert (other.pixels.numpy() == pixels_of(coloured(100, 100), shape, whole)).all()


def test_weights_come_with_the_package_and_one_is_preferred():
    assert SHIPPED in shipped()
    assert preferred() == shipped()[0]


def test_the_shipped_model_answers_the_same_for_files_as_for_the_data_set():
    looker = Looker(load_trained(SHIPPED), SHIPPED)
    digits = load_data("mnist-5k").test
    assert digits.labels is not None
    given = [Given("x", Image.fromarray(pixels)) for pixels in digits.images[:200, 0].numpy()]
    seen = look(looker, [looker.prepare(one) for one in given])
    with torch.no_grad():
        raw = looker.model(digits.images[:200].float() / 255).logits[:, -1].argmax(-1)
    assert [one.prediction for one in seen] == [str(int(answer)) for answer in raw]
    assert sum(int(answer) != int(label) for answer, label in zip(raw, digits.labels[:200], strict=True)) <= 10


def test_what_was_shown_is_not_touched_by_the_look(tmp_path: Path):
    looker = looker_of(SMALL)
    prepared = noise(looker)
    before = [one.pixels.clone() for one in prepared]
    first, second = look(looker, prepared), look(looker, prepared)
    assert all(torch.equal(one.pixels, old) for one, old in zip(prepared, before, strict=True))
    assert [to_json(one) for one in first] == [to_json(one) for one in second]


def test_an_answer_that_is_not_finite_is_not_told():
    looker = looker_of(SMALL)
    with torch.no_grad():
        looker.model.what.bias[0] = torch.nan
    with pytest.raises(CheckpointError, match=r"what\.bias"):
        looker.look(noise(looker), ["a", "b", "c"])


@pytest.mark.parametrize(("threshold", "recognised"), [(0.0, True), (1.0, False)])
def test_a_calibrated_model_says_how_familiar_a_picture_is(threshold: float, recognised: bool):
    plain = looker_of(CONFIGS["sketchpad"])
    shown = noise(plain)
    trust = trust_for(plain.model, CONFIGS["sketchpad"].image.shape, threshold)
    calibrated = Looker(Trained(plain.model, plain.experiment, {}, (), trust), "tiny")
    before, after = look(plain, shown)[0], look(calibrated, shown)[0]
    assert before.familiar is None and after.familiar is not None
    assert after.familiar.recognised is recognised
    assert to_json(after)["familiar"] == {"score": rounded(after.familiar.score), "recognised": recognised}
    assert ("I don't recognise this" in after.lines()) is not recognised
    assert (after.prediction, before.believed()[0]) == (before.prediction, after.believed()[0])
    assert after.confidence is not None and before.confidence is not None
    assert after.confidence < before.confidence
