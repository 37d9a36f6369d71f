"""What does nothing, or does harm unseen, is refused before a run begins, in one line that says what to do."""

from typing import Any

import pytest

from stawm.cli.overrides import override
from stawm.errors import UsageError
from stawm.experiments.check import check
from stawm.experiments.experiment import CnnConfig, Experiment
from stawm.experiments.presets import preset
from tiny_model import heads
from tiny_run import TINY, with_data, with_model, with_training


def refused(experiment: Experiment) -> str:
    """The line that refuses a new run of it, which one that has begun does not meet."""
    check(experiment, begun=True)
    with pytest.raises(UsageError) as refusal:
        check(experiment)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("change", "cure"),
    [
        ({"rotate": 20.0}, "--data.rotate 0"),
        ({"warp": 1.5}, "--data.warp 0"),
        ({"shift": 4}, "--data.shift 0"),
        ({"flip": True}, "--data.flip False"),
        ({"strokes": 0.5}, "--data.strokes 0"),
    ],
)
@pytest.mark.parametrize(("name", "head"), [("scenes-4-ask", "identify"), ("scenes-4-change", "change")])
def test_nothing_is_moved_where_labels_tell_places(name: str, head: str, change: dict[str, Any], cure: str) -> None:
    told = refused(with_data(preset(name), **change))
    assert told.startswith(f"data.{next(iter(change))}=") and f"the head {head} " in told and cure in told


def test_what_moves_nothing_and_heads_without_places_are_free() -> None:
    known = preset("scenes-4-ask")
    check(with_data(known, jitter=0.2))
    drawing = with_model(known, heads={"draw": known.model.heads["draw"]})
    check(with_data(drawing, rotate=20.0, flip=True))
    check(with_data(TINY, rotate=20.0, shift=2))


@pytest.mark.parametrize(
    ("varied", "stored"), [({}, True), ({"rotate": 5.0, "views": 3}, True), ({"rotate": 5.0}, False)]
)
def test_digits_are_not_turned_anew_where_what_was_made_of_them_is_stored(varied: dict[str, Any], stored: bool) -> None:
    frozen = with_training(preset("mnist-5k-cluttered-60"), learns="classify", start_from="somewhere")
    turned = with_data(frozen, **{"rotate": 0.0, "turn": 15.0, **varied})
    check(with_data(turned, turn=0.0))
    if stored:
        assert "--data.turn 0" in refused(turned)
    else:
        check(turned)


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (["--model.glimpses", "4"], "model.glimpses", "8"),
        (["--model.memory.size", "64"], "model.memory.size", "256"),
        (["--model.policy.starts", "grid"], "model.policy.starts", "one"),
        (["--model.dropout", "0.1"], "model.dropout", "0.5"),
        (["--training.pose-share", "0.1"], "training.pose_share", "1"),
    ],
)
def test_what_does_nothing_in_a_vae_is_not_changed(flags: list[str], name: str, value: str) -> None:
    told = refused(override(preset("cifar10-vae"), flags))
    assert told == f"the β-VAE has no use for {name}; leave it as cifar10-vae has it: {value}"


def test_a_vae_keeps_the_settings_of_the_model_that_it_is_compared_with() -> None:
    """So that nothing but the kind differs; and what it is built from may be anything."""
    check(override(preset("cifar10-draw-16"), ["--model.kind", "vae"]))
    check(with_model(TINY, kind="vae", heads=heads(latent=2)))
    flags = [
        "--model.glimpse.filters",
        "8",
        "16",
        "--model.glimpse.strides",
        "2",
        "2",
        "--model.heads.draw.latent",
        "3",
    ]
    check(override(preset("cifar10-vae"), [*flags, "--data.jitter", "0.1", "--training.epochs", "3", "--seed", "2"]))


def test_a_vae_has_no_batch_norm_in_networks_that_it_does_not_have() -> None:
    plain = CnnConfig(filters=(8,), strides=(2,), block="plain4")
    config = with_model(with_training(settle=2), kind="vae", heads=heads(latent=2), context=CnnConfig())
    check(with_model(config, glimpse=CnnConfig()))
    with pytest.raises(UsageError, match=r"training\.settle=2"):
        check(with_model(config, glimpse=plain))
