"""The loop: what it learns, what it writes down, and what it refuses before the first step."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from stawm.data import ImageSet, Splits, batch_of
from stawm.data.augment import augment
from stawm.errors import DataError, TrainingError, UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import CnnConfig, DataConfig, Experiment, PolicyConfig
from stawm.files import read_json
from stawm.model.heads.classify import Classification
from stawm.model.heads.head import Batch
from stawm.store.checkpoint import list_checkpoints, newest_checkpoint
from stawm.training import feed as feed_module
from stawm.training import fit as fit_module
from stawm.training.engine import generator_of, seed_of, start_engine
from stawm.training.feed import Feed
from stawm.training.fit import fit
from stawm.training.journal import Journal, Step, read_metrics
from stawm.training.schedule import learning_rate
from tiny_model import heads
from tiny_run import PLAIN, STEPS, TINY, digits, with_data, with_model, with_training
from tiny_seed import SHIFT

LARGE = with_model(glimpse=CnnConfig(block="mobilenet-v2"), glimpse_height=32, glimpse_width=32)
OBLONG = replace(LARGE, model=replace(LARGE.model, glimpse_width=16))


def test_a_handful_of_digits_is_learnt_by_heart(tmp_path: Path):
    """All eight, whatever the seed and the rounding; two mistakes are spare, seven are chance."""
    experiment = with_training(PLAIN, epochs=40, batch_size=8, learning_rate=5e-3, checkpoint_every=0, clip_norm=1.0)
    few = digits(8, 8)
    records = list(fit(experiment, tmp_path, data=Splits(few.train, few.train)))
    assert records[-1].train["error"] <= min(2 / 8, records[0].train["error"] / 2)
    assert records[-1].held_out["scores"]["error"] <= 2 / 8


def test_steps_are_those_of_a_plain_loop(tmp_path: Path):
    """Three steps of Adam written out: the same order of images, learning rates, clipping and weights."""
    data = digits(3 * 16, 4)
    [record] = fit(with_training(PLAIN, epochs=1), tmp_path, data=data)
    torch.manual_seed(seed_of(SHIFT))
    model = build(PLAIN.model)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    order = torch.randperm(48, generator=generator_of(SHIFT, 0))
    losses, norms = [], []
    for indices in order.split(16):
        batch = batch_of(data.train, indices)
        loss = Classification().terms(model(batch.images).answers["classify"], batch)["cross_entropy"]
        optimiser.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimiser.step()
        losses.append(loss.item())
    newest = newest_checkpoint(tmp_path)
    assert newest is not None
    for name, value in newest.part("model").items():
        torch.testing.assert_close(value, model.state_dict()[name], rtol=1e-4, atol=1e-6)
    assert record.train["loss"] == pytest.approx(sum(losses) / 3, rel=1e-5)
    assert record.health["gradient_norm"] == pytest.approx(sum(norms) / 3, rel=1e-3)


def test_every_epoch_shows_each_image_once_in_an_order_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[Tensor] = []

    def spy(images: ImageSet, indices: Tensor, device: Any) -> Batch:
        seen.append(indices)
        return batch_of(images, indices, device)

    monkeypatch.setattr(feed_module, "batch_of", spy)
    list(fit(TINY, tmp_path, data=digits()))
    first, second = torch.cat(seen[:STEPS]), torch.cat(seen[STEPS:])
    assert [len(indices) for indices in seen] == [16] * (2 * STEPS)
    assert len(set(first.tolist())) == len(set(second.tolist())) == 16 * STEPS
    assert not torch.equal(first, second)


def test_what_is_yielded_is_written_down(tmp_path: Path):
    steps: list[Step] = []
    records = []
    for record in fit(TINY, tmp_path, data=digits(), on_step=steps.append):
        records.append(record)
        assert [json.dumps(entry) for entry in read_metrics(tmp_path)] == [json.dumps(one.to_dict()) for one in records]
    assert [(step.epoch, step.step) for step in steps] == [(epoch, step) for epoch in (1, 2) for step in range(1, 9)]
    assert steps[STEPS - 1].loss == pytest.approx(records[0].train["loss"])
    assert steps[-1].error == records[-1].train["error"]
    assert steps[-1].seconds_left == 0
    assert steps[0].seconds_left > 0
    assert records[0].learning_rate == learning_rate(TINY.training, STEPS - 1, STEPS)
    assert records[0].train["loss"] == records[0].train["cross_entropy"]
    assert records[0].held_out["split"] == "test"
    assert records[0].held_out["count"] == 30
    assert records[0].error == records[0].held_out["scores"]["error"]
    assert {"recalls_saturated", "memory_norm", "eta", "outside/2", "gradient_norm"} <= records[0].health.keys()
    assert read_json(tmp_path / "experiment.json") == json.loads(json.dumps(TINY.to_dict()))
    assert list((tmp_path / "tensorboard").iterdir())


def test_the_average_is_judged_and_exported(tmp_path: Path):
    list(fit(TINY, tmp_path / "with", data=digits(32, 30)))
    newest = newest_checkpoint(tmp_path / "with")
    assert newest is not None
    average, model = newest.part("average"), newest.part("model")
    assert not torch.equal(average["classify.classify.weight"], model["classify.classify.weight"])
    running = [name for name in model if name.endswith("running_mean")]
    assert running and all(not torch.equal(average[name], model[name]) for name in running)
    list(fit(with_training(average=0.0), tmp_path / "without", data=digits(32, 30)))
    plain = newest_checkpoint(tmp_path / "without")
    assert plain is not None
    assert plain.part("average") == {}
    assert all(torch.equal(value, model[name]) for name, value in plain.part("model").items()), "averaging only watches"


def test_the_last_images_can_be_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = digits(32, 30)
    experiment = with_data(with_training(epochs=1), hold_out=7)
    seen: list[ImageSet] = []
    judge = fit_module.evaluate
    monkeypatch.setattr(
        fit_module,
        "evaluate",
        lambda model, images, *rest, **more: seen.append(images) or judge(model, images, *rest, **more),
    )
    [record] = fit(experiment, tmp_path, data=data)
    assert (record.held_out["split"], record.held_out["count"], record.step) == ("validation", 7, 1)
    assert torch.equal(seen[0].images, data.train.images[-7:])


def test_a_batch_is_no_larger_than_the_data(tmp_path: Path):
    [record] = fit(with_training(epochs=1, batch_size=999), tmp_path, data=digits(10, 5))
    assert record.step == 1


def test_data_are_loaded_by_name(tmp_path: Path):
    records = fit(with_training(epochs=1, batch_size=1000), tmp_path)
    assert next(records).held_out["count"] == 1000


def test_pictures_are_varied_as_the_settings_say_and_each_of_these_counts():
    changes = {"strokes": 1.0, "rotate": 30.0, "warp": 1.0, "sampling": "bicubic", "shift": 3, "flip": True}
    experiment = with_data(with_training(batch_size=16), jitter=0.3, **changes)
    feed = Feed(experiment, digits(32), start_engine("cpu"))
    order = torch.randperm(32, generator=generator_of(SHIFT, 5))
    first, second = feed.batches(feed.of_epoch(5), 5, 0)
    for step, (images, labels) in enumerate((first, second)):
        batch = batch_of(feed.train, order[16 * step : 16 * step + 16])
        assert labels is not None and batch.labels is not None and torch.equal(labels, batch.labels)
        wanted = augment(batch.images, experiment.data, generator_of(SHIFT, 5, step, 0), batch.labels)
        assert torch.equal(images, wanted)
    plain = batch_of(feed.train, order[:16])
    for name in (*changes, "jitter"):
        usual = replace(experiment.data, **{name: getattr(DataConfig(rotate=0.0), name)})
        assert not torch.equal(augment(plain.images, usual, generator_of(SHIFT, 5, 0, 0), plain.labels), first[0]), name


class TestNotFinite:
    def test_a_loss_that_explodes_stops_with_step_term_and_advice(self, tmp_path: Path):
        experiment = with_training(learning_rate=1e38, warmup=0.9, checkpoint_every=1, clip_norm=0.0)
        with pytest.raises(TrainingError) as error:
            list(fit(experiment, tmp_path, data=digits()))
        told = str(error.value)
        assert "\n" not in told
        assert any(told.startswith(f"step {step}: the term cross_entropy") for step in range(2, 17)), told
        assert all(advice in told for advice in ("training.learning_rate", "training.warmup", "training.clip_norm"))

    def test_the_last_good_checkpoint_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        terms = Classification.terms
        calls = []

        def spoilt(self: Classification, episode: Any, batch: Batch) -> dict[str, Tensor]:
            calls.append(1)
            return {
                name: term * (float("nan") if len(calls) == 5 else 1)
                for name, term in terms(self, episode, batch).items()
            }

        monkeypatch.setattr(Classification, "terms", spoilt)
        with pytest.raises(TrainingError, match=r"step 5: .*cross_entropy is nan"):
            list(fit(TINY, tmp_path, data=digits()))
        [path] = list_checkpoints(tmp_path)
        newest = newest_checkpoint(tmp_path)
        assert newest is not None and newest.step == 3, path
        assert all(value.isfinite().all() for value in newest.part("model").values())

    def test_a_term_that_is_not_finite_on_held_out_images_stops_the_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        terms = Classification.terms

        def spoilt(self: Classification, episode: Any, batch: Batch) -> dict[str, Tensor]:
            share = 1 if episode.logits.requires_grad else float("inf")
            return {name: share * term for name, term in terms(self, episode, batch).items()}

        monkeypatch.setattr(Classification, "terms", spoilt)
        with pytest.raises(TrainingError, match=r"epoch 1: .*cross_entropy"):
            list(fit(TINY, tmp_path, data=digits()))
        newest = newest_checkpoint(tmp_path)
        assert newest is not None and newest.step == 6

    def test_a_run_that_has_died_stops_and_is_not_resumed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(fit_module, "died", lambda epochs, patience, chance: len(epochs) == patience - 4)
        records = fit(TINY, tmp_path, data=digits())
        assert next(records).epoch == 1
        for go_on in (records, fit(None, tmp_path, resume=True, data=digits())):
            with pytest.raises(TrainingError, match=r"died.* epoch 1,.*training\.learning_rate"):
                next(go_on)

    def test_a_gradient_that_explodes_is_named_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        terms = Classification.terms

        def steep(self: Classification, episode: Any, batch: Batch) -> dict[str, Tensor]:
            zero = (episode.logits - episode.logits.detach()).abs().sqrt().sum() * 0
            return {name: term + zero for name, term in terms(self, episode, batch).items()}

        monkeypatch.setattr(Classification, "terms", steep)
        with pytest.raises(TrainingError, match=r"step 1: .*gradient of \S+\.\S+"):
            list(fit(TINY, tmp_path, data=digits()))


@pytest.mark.parametrize(
    ("experiment", "error", "told"),
    [
        (with_model(heads=heads(7)), DataError, "10 classes.* 7"),
        (with_model(image=replace(TINY.model.image, channels=3)), DataError, "the model takes 3×28×28"),
        (with_data(hold_out=16), DataError, "data.hold_out=16"),
        (with_data(hold_out=-1), UsageError, "data.hold_out is -1"),
        (with_training(epochs=0), UsageError, "training.epochs is 0"),
        (with_training(batch_size=0), UsageError, "training.batch_size is 0"),
        (with_model(glimpse_height=1), UsageError, "cannot be built"),
        (with_training(glimpses=(1,)), UsageError, "training.glimpses=1 must end with all .*model.glimpses is 2"),
        (with_training(glimpses=(3, 2)), UsageError, "training.glimpses=3 2 must .* no larger"),
        (with_training(glimpses=(0, 2)), UsageError, "training.glimpses"),
        (with_training(sides=(8,)), UsageError, "training.sides=8 cannot be used: .* such as mobilenet-v2"),
        (with_training(LARGE, sides=(20, 28)), UsageError, "training.sides=20 28 must end .*are 32 and 32"),
        (with_training(LARGE, sides=(40, 32)), UsageError, "training.sides=40 32 must .* no larger"),
        (with_training(OBLONG, sides=(20, 32)), UsageError, "square .*are 32 and 16"),
        (with_training(with_model(policy=PolicyConfig("scan")), glimpses=(1, 2)), UsageError, "places are learnt"),
        (None, UsageError, "name a preset"),
    ],
)
def test_mistakes_are_told_before_the_first_step_and_leave_no_run(
    tmp_path: Path, experiment: Experiment | None, error: type[Exception], told: str
):
    steps: list[Step] = []
    with pytest.raises(error, match=told):
        next(fit(experiment, tmp_path / "run", data=digits(16, 5), on_step=steps.append))
    assert steps == []
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path: Path):
    list(fit(with_training(epochs=1), tmp_path, data=digits(16, 5)))
    before = (tmp_path / "metrics.jsonl").read_bytes()
    with pytest.raises(UsageError, match="--resume"):
        next(fit(with_training(epochs=1), tmp_path, data=digits(16, 5)))
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_an_unknown_device():
    with pytest.raises(UsageError, match="abacus"):
        start_engine("abacus")


def test_without_tensorboard_curves_are_in_the_metrics_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard.writer", None)
    journal = Journal(tmp_path, epoch=0, step=0)
    journal.close()
    assert "tensorboard" in caplog.text
    assert not (tmp_path / "tensorboard").exists()


def test_seeds_differ_with_every_number():
    seeds = {seed_of(*numbers) for numbers in [(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0)]}
    assert len(seeds) == 6
    assert all(0 <= seed < 2**63 for seed in seeds)
