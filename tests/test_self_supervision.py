"""Self-supervised classification through the one loop: on stored features as the slow way, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import stawm
from stawm.data import ImageSet, Splits, batch_of
from stawm.data.image_set import FeatureSet
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import build, learning_part
from stawm.experiments.experiment import CnnConfig, Experiment
from stawm.measure.evaluate import evaluate
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.readout import MemoryReadout
from stawm.store.checkpoint import newest_checkpoint
from stawm.store.weights import export, load
from stawm.training import feed as feed_module
from stawm.training.engine import start_engine
from stawm.training.feed import Feed, Views, stored_features
from stawm.training.fit import fit
from stawm.training.journal import Record, Step
from tiny_model import heads, memory_of
from tiny_run import TINY, digits, with_data, with_model, with_training

DRAW = with_model(
    with_training(with_data(TINY, rotate=0.0), epochs=2, average=0.0, learning_rate=1e-2),
    heads=heads(latent=3),
    memory=HebbRosenblattConfig(size=16, normalise="fixed"),
)
VAE = with_model(DRAW, kind="vae", glimpse=CnnConfig(filters=(4, 8), strides=(2, 2), block="plain4"))
RATES = HebbRosenblattConfig(size=16, learn_rates=True, normalise="fixed")
"""With unit codes a small memory is never silent, whatever the seed."""
HEADS = ("classify.", "memory.shift")


def self_supervised(source: Path | str, drawing: Experiment = DRAW, **training: object) -> Experiment:
    both = with_model(drawing, heads=heads(10, latent=3), memory=RATES)
    experiment = replace(both, name="self-taught", after="mnist-draw-6")
    return with_training(experiment, learns="classify", start_from=str(source), **training)


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("draw")
    list(fit(DRAW, run, data=digits()))
    return run / "weights"


@pytest.fixture(scope="module")
def vae(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("vae")
    list(fit(VAE, run, data=digits()))
    return run


def weights_of(run: Path) -> dict[str, Tensor]:
    newest = newest_checkpoint(run)
    assert newest is not None
    return newest.part("model")


def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on pictures stay pictures, and the whole frozen model looks at them in every step."""
    monkeypatch.setattr(Feed, "store", lambda feed, *given, **options: None)


def plain(records: list[Record]) -> list[dict[str, object]]:
    return [{**record.to_dict(), "timing": None} for record in records]


@pytest.mark.parametrize(("kind", "average"), [("drawing", 0.0), ("drawing", 0.9), ("vae", 0.0)])
def test_stored_features_teach_what_the_slow_way_teaches(
    kind: str, average: float, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same weights, average and scores; dropout of the query and all, since nothing frozen draws numbers."""
    source = request.getfixturevalue(kind)
    experiment = self_supervised(source, DRAW if kind == "drawing" else VAE, average=average)
    fast = list(fit(experiment, tmp_path / "fast", data=digits()))
    slow(monkeypatch)
    slower = list(fit(experiment, tmp_path / "slow", data=digits()))
    for name, value in weights_of(tmp_path / "fast").items():
        torch.testing.assert_close(value, weights_of(tmp_path / "slow")[name], rtol=1e-5, atol=1e-5)
    fast_model, slow_model = load(tmp_path / "fast"), load(tmp_path / "slow")
    images = batch_of(digits().test, torch.arange(30)).images
    with torch.no_grad():
        logits = fast_model(images).answers["classify"].logits
        torch.testing.assert_close(logits, slow_model(images).answers["classify"].logits, rtol=1e-5, atol=1e-5)
    assert logits[:, -1].std(0).mean() > 1e-3, "answers differ from image to image by far more than those two may"
    assert fast[-1].train["loss"] == pytest.approx(slower[-1].train["loss"], rel=1e-5)
    assert fast[-1].held_out["terms"] == pytest.approx(slower[-1].held_out["terms"], rel=1e-5)
    assert fast[-1].health.keys() == slower[-1].health.keys()


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_what_is_frozen_keeps_every_bit_and_the_rest_moves(drawing: Path, tmp_path: Path, average: float) -> None:
    [*_, last] = fit(self_supervised(drawing, average=average), tmp_path, data=digits())
    drew, read = load(drawing).state_dict(), load(tmp_path).state_dict()
    assert read.keys() - drew.keys() == {name for name in read if name.startswith(HEADS)}
    assert all(torch.equal(read[name], value) for name, value in drew.items())
    assert read["memory.shift"].any(), "the rates have learnt"
    assert last.health["delta"] != pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("kind", ["drawing", "vae"])
def test_the_exported_model_answers_pictures_as_the_run_answered_stored_features(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    experiment = self_supervised(request.getfixturevalue(kind), DRAW if kind == "drawing" else VAE)
    [*_, last] = fit(experiment, tmp_path, data=digits())
    found = evaluate(stawm.load(tmp_path), digits().test)
    assert found["scores"]["error"] == pytest.approx(last.held_out["scores"]["error"])
    assert found["terms"]["cross_entropy"] == pytest.approx(last.held_out["terms"]["cross_entropy"], rel=1e-5)
    assert found["error_after_glimpse"] == pytest.approx(last.held_out["error_after_glimpse"])
    assert "mse" in found["scores"], "a whole model: it still draws"


def test_a_resumed_run_ends_as_an_unbroken_one_and_needs_its_source_no_more(drawing: Path, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(step: Step) -> None:
        if (step.epoch, step.step) == (2, 5):
            raise Stopped

    source = export(load(drawing), DRAW, tmp_path / "source")
    experiment = self_supervised(source, average=0.9)
    unbroken = list(fit(experiment, tmp_path / "one", data=digits()))
    with pytest.raises(Stopped):
        list(fit(experiment, tmp_path / "two", data=digits(), on_step=stop))
    (source / "model.safetensors").unlink()
    [last] = fit(None, tmp_path / "two", resume=True, data=digits())
    assert plain([last]) == plain(unbroken[1:])
    assert all(
        torch.equal(value, weights_of(tmp_path / "two")[name]) for name, value in weights_of(tmp_path / "one").items()
    )


def test_with_augmentation_pictures_are_looked_at_anew(
    drawing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("features of varied pictures must not be stored")

    for name in ("stored_features", "Views"):
        monkeypatch.setattr(feed_module, name, never)
    varied = with_data(self_supervised(drawing, epochs=1), rotate=10.0)
    [record] = fit(varied, tmp_path, data=digits())
    drew = load(drawing).state_dict()
    assert all(torch.equal(weights_of(tmp_path)[name], value) for name, value in drew.items())
    assert record.held_out["count"] == 30


def test_stored_features_are_those_of_each_picture(drawing: Path) -> None:
    experiment = self_supervised(drawing)
    readout = learning_part(build(experiment.model), experiment.training)
    assert isinstance(readout, MemoryReadout)
    pictures: ImageSet = digits().test
    seen: list[tuple[int, int]] = []
    stored = stored_features(readout, pictures, batch_size=7, on_stored=lambda *counts: seen.append(counts))
    assert seen == [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)]
    assert (len(stored), stored.checksum, stored.classes) == (30, pictures.checksum, pictures.classes)
    one = readout.features(batch_of(pictures, torch.tensor([17])).images)
    torch.testing.assert_close(stored.features[17], one[0], rtol=1e-5, atol=1e-6)
    assert stored.labels is not None and pictures.labels is not None
    assert batch_of(stored, torch.tensor([17])).images.shape == (1, one.shape[1])


@pytest.mark.parametrize("precision", ["32", "bf16-mixed"])
def test_a_frozen_model_looks_in_the_precision_of_its_run(drawing: Path, precision: str) -> None:
    experiment = self_supervised(drawing)
    readout = learning_part(build(experiment.model), experiment.training)
    assert isinstance(readout, MemoryReadout)
    feed = Feed(experiment, digits(), start_engine("cpu", precision))
    feed.store(readout, [readout.model], fresh=False)
    exact = stored_features(readout, digits().test).features
    assert isinstance(feed.held_out, FeatureSet)
    taught = feed.of_epoch(0)
    assert isinstance(taught, FeatureSet) and taught.features.dtype == torch.float32
    assert torch.equal(feed.held_out.features, exact) == (precision == "32")
    torch.testing.assert_close(feed.held_out.features, exact, rtol=0.1, atol=0.05 * float(exact.abs().max()))


def test_views_vary_each_picture_and_come_round_again(drawing: Path) -> None:
    experiment = with_data(self_supervised(drawing), rotate=20.0, views=3)
    readout = learning_part(build(experiment.model), experiment.training)
    assert isinstance(readout, MemoryReadout)
    pictures = digits().test
    views = Views(readout, pictures, experiment.data, seed=4)
    unvaried, first, second = (views.of_epoch(epoch) for epoch in (0, 1, 2))
    assert views.of_epoch(4) is first and views.of_epoch(5) is second and len(views.stored) == 3
    assert torch.equal(unvaried.features, stored_features(readout, pictures).features)
    for one, other in ((first, second), (first, unvaried), (second, unvaried)):
        assert one.features.shape == other.features.shape and one.checksum == other.checksum
        assert (one.features != other.features).any(1).all(), "every picture differs"
    again = Views(readout, pictures, experiment.data, seed=4).of_epoch(5)
    assert torch.equal(again.features, second.features), "whatever was asked before"
    assert not torch.equal(Views(readout, pictures, experiment.data, seed=5).of_epoch(1).features, first.features)


def test_a_run_with_views_is_resumed_to_the_same_end(drawing: Path, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(step: Step) -> None:
        if (step.epoch, step.step) == (4, 3):
            raise Stopped

    experiment = with_data(self_supervised(drawing, epochs=4), rotate=20.0, warp=0.5, views=2)
    unbroken = list(fit(experiment, tmp_path / "one", data=digits()))
    with pytest.raises(Stopped):
        list(fit(experiment, tmp_path / "two", data=digits(), on_step=stop))
    [last] = fit(None, tmp_path / "two", resume=True, data=digits())
    assert plain([last]) == plain(unbroken[3:])
    unvaried = list(fit(self_supervised(drawing, epochs=4), tmp_path / "three", data=digits()))
    assert (
        unvaried[0].train["loss"] == unbroken[0].train["loss"]
        and unvaried[1].train["loss"] != unbroken[1].train["loss"]
    )


@pytest.mark.parametrize(("preset", "views", "rotate"), [("head", 2, 0.0), ("head", 1, 20.0), ("all", 2, 20.0)])
def test_views_that_nothing_would_use_are_refused(
    preset: str, views: int, rotate: float, drawing: Path, tmp_path: Path
) -> None:
    experiment = self_supervised(drawing) if preset == "head" else DRAW
    with pytest.raises(UsageError, match=rf"data\.views={views} .*--data\.rotate 20"):
        next(fit(with_data(experiment, rotate=rotate, views=views), tmp_path / "run", data=digits()))
    assert not (tmp_path / "run").exists()


def test_a_frozen_model_settles_before_its_head_learns(drawing: Path, tmp_path: Path) -> None:
    """The statistics are those of unvaried pictures from the first step on, in the run and in its average."""
    records = list(fit(with_training(self_supervised(drawing, average=0.9), settle=3), tmp_path, data=digits()))
    before, after = load(drawing).state_dict(), load(tmp_path).state_dict()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed and all(name.endswith(("running_mean", "running_var")) for name in changed)
    run, average = weights_of(tmp_path), after
    assert all(torch.equal(run[name], average[name]) for name in changed)
    found = evaluate(stawm.load(tmp_path), digits().test)
    assert found["terms"]["cross_entropy"] == pytest.approx(records[-1].held_out["terms"]["cross_entropy"], rel=1e-5)


def test_rates_start_where_the_drawing_model_left_them(tmp_path: Path) -> None:
    learnt = with_model(DRAW, memory=RATES)
    source = build(learnt.model)
    assert isinstance(source, stawm.Stawm)
    with torch.no_grad():
        memory_of(source).shift.copy_(torch.tensor([0.3, -0.2, 0.1]))
    export(source, learnt, tmp_path / "source")
    steps = with_training(self_supervised(tmp_path / "source", learnt), epochs=1, learning_rate=0.0)
    list(fit(steps, tmp_path / "run", data=digits(16, 5)))
    assert torch.equal(weights_of(tmp_path / "run")["memory.shift"], torch.tensor([0.3, -0.2, 0.1]))


def test_a_whole_model_can_go_on_from_weights(drawing: Path, tmp_path: Path) -> None:
    """Fine-tuning: with nothing frozen and a rate of 0, the first epoch's score is the old model's."""
    list(fit(with_training(DRAW, epochs=1, learning_rate=0.0, start_from=str(drawing)), tmp_path, data=digits(16, 30)))
    drew, again = load(drawing), load(tmp_path)
    assert all(torch.equal(value, dict(again.named_parameters())[name]) for name, value in drew.named_parameters())


def few(count: int = 16) -> Splits:
    return digits(count, 5)


def test_without_weights_it_says_what_to_train_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        next(fit(self_supervised(""), tmp_path / "run", data=few()))
    told = str(error.value)
    assert "mnist-draw-6 " in told and f"--training.start-from runs/mnist-draw-6-seed{TINY.seed}" in told
    assert "\n" not in told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("trained", "told"),
    [
        (with_model(DRAW, glimpses=3), r"model\.glimpses = 3, not 2.*--model\.glimpses 3"),
        (with_model(DRAW, memory=replace(RATES, delta=0.1)), r"model\.memory\.delta = 0\.1, not 0\.2"),
        (
            with_model(DRAW, heads=heads(10, latent=3)),
            "from labels.* such as mnist-draw-6",
        ),
        (VAE, r"model\.kind = 'vae', not 'stawm'"),
    ],
)
def test_weights_of_a_model_that_does_not_fit_are_refused(tmp_path: Path, trained: Experiment, told: str) -> None:
    export(build(trained.model), trained, tmp_path / "source")
    with pytest.raises(UsageError, match=told) as error:
        next(fit(self_supervised(tmp_path / "source"), tmp_path / "run", data=few()))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no weights in"):
        next(fit(self_supervised(tmp_path / "nowhere"), tmp_path / "run", data=few()))


def test_a_frozen_model_without_a_classifier_has_nothing_to_learn(drawing: Path, tmp_path: Path) -> None:
    experiment = with_model(self_supervised(drawing), heads=heads(latent=3))
    with pytest.raises(UsageError, match=r"training\.learns is 'classify'"):
        next(fit(experiment, tmp_path / "run", data=few()))
