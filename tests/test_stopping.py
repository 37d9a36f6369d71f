"""Looking no further once a belief is high enough: counted in evaluation, done in a look."""

import json
import math
from pathlib import Path

import pytest
import torch
from PIL import Image

from stawm.cli import main
from stawm.data.image_set import ImageSet, batch_of
from stawm.data.prepare.prepared import Prepared
from stawm.errors import UsageError
from stawm.look.engine import TorchEngine
from stawm.look.looker import Looker
from stawm.look.public import look as looked_at
from stawm.measure.evaluate import evaluate
from stawm.measure.stopping import THRESHOLDS, last_glimpse, stops
from stawm.store.weights import Trained, export, load_trained
from tiny_model import heads, stawm
from tiny_run import digits, with_model


@pytest.fixture(scope="module")
def images() -> ImageSet:
    return digits().test


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with random weights whose beliefs differ from glimpse to glimpse."""
    torch.manual_seed(0)
    experiment = with_model(glimpses=4)
    model = stawm(experiment.model)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "classify.weight" in name:
                weight.mul_(40)
    return str(export(model, experiment, tmp_path_factory.mktemp("stop") / "weights"))


@pytest.fixture(scope="module")
def trained(folder: str) -> Trained:
    return load_trained(folder)


def logits(*beliefs: float) -> torch.Tensor:
    """Logits of two classes, of which the first is believed so much after each glimpse."""
    return torch.tensor([[[math.log(belief), math.log(1 - belief)] for belief in beliefs]])


def test_it_stops_at_the_first_belief_that_passes_else_at_the_last() -> None:
    wavering = logits(0.6, 0.95, 0.7, 0.99)
    for until, wanted in ((0.5, 0), (0.8, 1), (0.97, 3), (0.999, 3)):
        assert last_glimpse(wavering, until).tolist() == [wanted]


def test_the_answer_is_that_of_the_moment_it_stopped() -> None:
    both = torch.cat([logits(0.9, 0.1, 0.2), logits(0.6, 0.7, 0.1)])
    found = {name: float(value) for name, value in stops(both, torch.tensor([0, 0]), [0.85]).items()}
    assert found == {"stop/0.85/glimpses": 2.0, "stop/0.85/error": 0.5}


def test_evaluation_counts_what_a_loop_over_pictures_counts(trained: Trained, images: ImageSet) -> None:
    wanted = (0.2, 0.5, 1.0)
    found = evaluate(trained.model, images, until=wanted)["stopping"]
    batch = batch_of(images, torch.arange(len(images)))
    assert batch.labels is not None
    with torch.no_grad():
        beliefs = trained.model(batch.images).logits.softmax(-1)  # pyright: ignore[reportAttributeAccessIssue]
    for until, row in zip(wanted, found, strict=True):
        taken, wrong = 0, 0
        for belief, label in zip(beliefs, batch.labels.tolist(), strict=True):
            stop = next((place for place, one in enumerate(belief) if one.max() >= until), len(belief) - 1)
            taken, wrong = taken + stop + 1, wrong + int(belief[stop].argmax() != label)
        assert row["until"] == until
        assert row["glimpses"] == pytest.approx(taken / len(images), abs=0.05)
        assert row["error"] == pytest.approx(wrong / len(images), abs=0.05)
    assert found[-1]["glimpses"] == 4


def test_a_look_takes_no_further_glimpse_and_says_so(trained: Trained, images: ImageSet) -> None:
    whole = looked_at(list(images.images), model=trained)
    sure = [max(look.glimpses[0].belief or (0.0,)) for look in whole]
    until = sorted(sure)[len(sure) // 2]
    ended = looked_at(list(images.images), model=trained, until=until)
    assert len({len(look.glimpses) for look in ended}) > 1, "some are sure at once, others are not"
    for all_of_it, part in zip(whole, ended, strict=True):
        taken = len(part.glimpses)
        for one, same in zip(part.glimpses, all_of_it.glimpses[:taken], strict=True):
            assert one.belief == pytest.approx(same.belief, abs=1e-4) and one.outside == same.outside
        assert (taken < 4) == any("of 4 glimpses" in note for note in part.notes)
        assert part.confidence is not None and (taken == 4 or part.confidence >= until)
        assert all(max(one.belief or (0.0,)) < until for one in part.glimpses[:-1])


def test_it_really_stops(trained: Trained, images: ImageSet, monkeypatch: pytest.MonkeyPatch) -> None:
    looker = Looker(trained, "x")
    taken: list[int] = []
    look = type(looker.model).look
    monkeypatch.setattr(type(looker.model), "look", lambda self, gaze: taken.append(1) or look(self, gaze))
    assert len(looked_at(images.images[0], model=trained, until=1e-6).glimpses) == 1
    assert len(taken) == 1


def test_the_verbs_take_it(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", folder, "--until", "0.8", "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)["stopping"]
    assert [row["until"] for row in found] == sorted({0.8, *THRESHOLDS})
    glimpses = [row["glimpses"] for row in found]
    assert glimpses == sorted(glimpses), "more belief takes more glimpses"
    assert main(["evaluate", folder, "--until", "0.8", "--device", "cpu"]) == 0
    assert any(line.startswith("until 0.8 ") for line in capsys.readouterr().out.splitlines())
    picture = tmp_path / "one.png"
    assert main(["evaluate", folder, "--json", "--device", "cpu"]) == 0
    assert "stopping" not in json.loads(capsys.readouterr().out)
    Image.fromarray(digits().test.images[0, 0].numpy()).save(picture)
    assert main(["look", str(picture), "--weights", folder, "--until", "0.000001", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["glimpses"]) == 1


@pytest.mark.parametrize("until", [0.0, 1.5, -1.0])
def test_beliefs_that_cannot_be_are_refused(trained: Trained, images: ImageSet, until: float) -> None:
    with pytest.raises(UsageError, match="--until"):
        evaluate(trained.model, images, until=(until,))
    with pytest.raises(UsageError, match="--until"):
        looked_at(images.images[0], model=trained, until=until)


def test_who_is_never_sure_is_refused(images: ImageSet) -> None:
    torch.manual_seed(0)
    experiment = with_model(heads=heads(latent=2))
    draws = Trained(stawm(experiment.model), experiment, {})
    with pytest.raises(UsageError, match="never sure"):
        looked_at(images.images[0], model=draws, until=0.9)
    with pytest.raises(UsageError, match="classifies"):
        evaluate(draws.model, images, until=(0.9,))


def test_an_engine_that_takes_all_glimpses_at_once_is_refused(trained: Trained, images: ImageSet) -> None:
    class Graph:
        name = "onnx"

        def __call__(self, pictures: torch.Tensor) -> object:
            return TorchEngine(trained.model)(pictures)  # pyright: ignore[reportArgumentType]

    looker = Looker(trained, "x", Graph())  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="--engine torch"):
        looker.look([Prepared(images.images[0])], ["a"], until=0.9)
