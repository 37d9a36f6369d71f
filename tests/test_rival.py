"""The door of the rivals: each is trained, resumed, measured, saved and loaded as any model; what it cannot is told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from stawm.baselines.draw import DrawWriterConfig
from stawm.baselines.ram import RamConfig
from stawm.baselines.rival import RIVALS, Looked, Rival, RivalConfig
from stawm.cli.overrides import override
from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.check import check
from stawm.experiments.experiment import CnnConfig, Experiment, ModelConfig
from stawm.experiments.presets import PRESETS, preset
from stawm.ledger.card import Facts, card
from stawm.look.looker import Looker
from stawm.measure.controls import controls
from stawm.measure.evaluate import evaluate
from stawm.measure.flops import flops_of
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.draw import DrawConfig
from stawm.model.heads.head import HeadConfig
from stawm.show.figures.looked import where_it_looked
from stawm.show.request import Request
from stawm.store.portable import Portable, write_portable
from stawm.store.weights import Trained, load, load_trained
from stawm.training.fit import fit
from tiny_run import TINY, digits

SMALL: dict[str, dict[str, Any]] = {
    "ram": {"glimpses": 3, "hidden": 12, "rival": RamConfig(scales=2, features=8)},
    "draw-reader": {"glimpses": 3, "glimpse_height": 4, "glimpse_width": 5, "hidden": 12},
    "draw": {"glimpses": 2, "glimpse_height": 3, "glimpse_width": 3, "hidden": 12, "rival": DrawWriterConfig(write=4)},
    "stn": {"hidden": 8, "glimpse_height": 9, "glimpse_width": 9, "context": CnnConfig((4, 6), (2, 2)), "dropout": 0.1},
    "cnn": {"hidden": 8, "glimpse": CnnConfig((4, 6), (2, 2))},
}
CLASSIFIERS = [kind for kind in SMALL if kind != "draw"]


def heads(kind: str) -> dict[str, HeadConfig]:
    return (
        {"draw": DrawConfig(latent=3, beta=1.0, beta_scale=1.0)} if kind == "draw" else {"classify": ClassifyConfig()}
    )


def experiment(kind: str) -> Experiment:
    model = ModelConfig(kind=kind, heads=heads(kind), **SMALL[kind])
    return replace(TINY, name=f"tiny-{kind}", model=model)


@pytest.mark.parametrize("kind", SMALL)
def test_it_is_trained_resumed_evaluated_and_loaded_like_any_model(kind: str, tmp_path: Path) -> None:
    """A run that was stopped after its first epoch ends with the same weights; what was measured is measured again."""
    whole = list(fit(experiment(kind), tmp_path / "whole", data=digits()))
    halved = fit(experiment(kind), tmp_path / "halved", data=digits())
    next(halved)
    halved.close()
    [last] = fit(None, tmp_path / "halved", resume=True, data=digits())
    assert last.train == whole[-1].train
    one, other = load(tmp_path / "whole"), load(tmp_path / "halved")
    assert type(one) is RIVALS[kind] and isinstance(one, Rival)
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name
    found = evaluate(one, digits().test)
    scores = {"mse", "nats"} if kind == "draw" else {"error"}
    assert found["scores"].keys() == scores
    assert found["scores"] == pytest.approx(whole[-1].held_out["scores"])
    glimpses = {"ram": 3, "draw-reader": 3, "stn": 1, "cnn": 1}.get(kind, 0)
    assert len(found["error_after_glimpse"]) == glimpses
    looks = RIVALS[kind].looks
    assert ("path_spread" in found["health"]) == looks
    assert load_trained(tmp_path / "whole").experiment == experiment(kind).plain()


@pytest.mark.parametrize("kind", SMALL)
def test_pictures_in_a_batch_do_not_depend_on_each_other(kind: str) -> None:
    model, images = build(experiment(kind).model).eval(), torch.rand(4, 1, 28, 28).round()
    one, all_of_them = model(images[2:3]), model(images)
    for name, answer in one.answers.items():
        part = "logits" if name == "classify" else "canvas"
        torch.testing.assert_close(getattr(answer, part)[0], getattr(all_of_them.answers[name], part)[2])


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_more_than_chance_is_learnt_of_real_digits(kind: str, tmp_path: Path) -> None:
    """Of 256 digits in twenty epochs; by chance nine in ten answers are wrong."""
    config = replace(TINY.training, epochs=20, average=0.0, learning_rate=1e-2, checkpoint_every=0)
    wider = replace(experiment(kind).model, hidden=48)
    [*_, last] = fit(replace(experiment(kind), model=wider, training=config), tmp_path, data=digits(256, 20))
    assert last.train["error"] < 0.75


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "rma"}, "did you mean ram"),
        ({"kind": "nothing"}, "known are stawm, "),
        ({"kind": "cnn"}, "RivalConfig"),
        ({"heads": {"draw": DrawConfig()}}, "RAM classifies; it cannot have the heads draw"),
        ({"overview": 2}, r"RAM is not built from model\.overview"),
        ({"dropout": 0.1}, r"RAM is not built from model\.dropout"),
        ({"rival": DrawWriterConfig()}, "RamConfig"),
        ({"rival": RamConfig(scales=9)}, r"model\.rival\.scales is 9"),
    ],
)
def test_settings_that_do_not_go_together_are_one_clear_line(change: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told) as refusal:
        build(replace(experiment("ram").model, **change))
    assert "\n" not in str(refusal.value)


def test_nothing_of_a_rival_learns_alone_but_what_says_so() -> None:
    frozen = replace(experiment("ram"), training=replace(TINY.training, learns="classify", start_from="runs/some"))
    with pytest.raises(UsageError, match="RAM the head classify cannot learn alone"):
        check(frozen)
    with pytest.raises(UsageError, match="learns alone"):
        built("ram").readout()


def built(kind: str) -> Rival:
    model = build(experiment(kind).model)
    assert isinstance(model, Rival)
    return model


def test_batch_norm_settles_only_where_there_is_some() -> None:
    settled = replace(TINY.training, settle=2)
    check(replace(experiment("cnn"), training=settled))
    with pytest.raises(UsageError, match="batch norm"):
        check(replace(experiment("ram"), training=settled))


def test_the_command_line_changes_its_settings_and_its_kind() -> None:
    changed = override(preset("ram-cluttered-60"), ["--model.rival.scales", "2", "--model.hidden", "32"])
    assert changed.model.rival == RamConfig(scales=2) and changed.model.hidden == 32
    other = override(preset("draw-cluttered-60"), ["--model.kind", "ram", "--model.rival.core", "lstm"])
    assert (other.model.kind, other.model.rival) == ("ram", RamConfig(core="lstm"))
    assert override(other, ["--model.kind", "draw-reader"]).model.rival == RivalConfig()


@pytest.fixture(scope="module", params=["ram", "cnn", "draw"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("run") / request.param
    short = replace(experiment(request.param), training=replace(TINY.training, epochs=1))
    list(fit(short, folder, data=digits(32, 20)))
    return request.param, folder


def test_what_needs_a_memory_is_refused_in_one_line(run: tuple[str, Path]) -> None:
    kind, folder = run
    trained = load_trained(folder)
    with pytest.raises(UsageError, match="no memory to look with"):
        Looker(trained, "rival")
    with pytest.raises(UsageError, match="controls exchange the memories"):
        controls(trained.model, digits().test)
    request = Request("stages", (str(folder),), pictures=2)
    lacks = "does not" if kind == "cnn" else "has no memory"
    with pytest.raises(UsageError, match=f"stages needs a model.* and tiny-{kind} {lacks}"):
        _ = request.episode


def test_where_it_looked_can_be_shown(run: tuple[str, Path]) -> None:
    kind, folder = run
    request = Request("looked", (str(folder),), pictures=2)
    if kind == "cnn":
        with pytest.raises(UsageError, match="glimpses"):
            _ = request.looked
        return
    assert isinstance(request.looked, Looked)
    assert where_it_looked(request.looked).size[0] > 100


def test_its_card_says_how_it_sees(run: tuple[str, Path]) -> None:
    kind, folder = run
    trained = load_trained(folder)
    told = card(Facts("some", trained.experiment, 1, ()))
    assert ("whole pictures" in told) == (kind == "cnn")
    assert ("times" in told) == (kind != "cnn")


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("kind", ["ram", "draw-reader", "draw"])
def test_it_is_exported_and_answers_the_same_there(kind: str, tmp_path: Path) -> None:
    """For any number of pictures; the others have nothing that the paper's model does not have."""
    given = experiment(kind)
    short = replace(given.model, glimpses=2)
    grey = replace(short, rival=DrawWriterConfig(write=4, binary=False)) if kind == "draw" else short
    trained = Trained(build(grey), replace(given, model=grey), {}, tuple(map(str, range(10))))
    assert write_portable(trained, "torch", tmp_path / "rival.pt2") < 1e-4


def test_a_file_that_draws_no_chances_is_not_made_of_a_model_that_does() -> None:
    for kind, rival in (("ram", RamConfig(samples=2)), ("draw", DrawWriterConfig())):
        with pytest.raises(UsageError, match="by chance"):
            Portable(build(replace(experiment(kind).model, rival=rival)))


def test_its_arithmetic_is_counted() -> None:
    """By hand: 28 pixels become 13 and 6 in the CNN; of RAM a retina of 2 × 8 × 8, a core of 12 units, three times."""
    convolved = 9 * 4 * 13 * 13 + 9 * 4 * 6 * 6 * 6 + 216 * 8 + 8 * 10
    looked = 3 * (128 * 8 + 2 * 8 + 2 * 8 * 12 + 2 * 12 * 12 + 12 * (2 + 1 + 10))
    for kind, products in (("cnn", convolved), ("ram", looked)):
        assert flops_of(built(kind), (1, 28, 28)) == 2 * products
    assert flops_of(built("ram"), (1, 28, 28), 2) == 2 * looked * 2 // 3


@pytest.mark.parametrize("kind", ["ram", "draw-reader"])
def test_it_can_be_stopped_after_any_glimpse(kind: str) -> None:
    model, images = built(kind).eval(), torch.rand(4, 1, 28, 28)
    whole, shorter = model(images), model(images, glimpses=2)
    torch.testing.assert_close(shorter.logits, whole.logits[:, :2])
    torch.testing.assert_close(shorter.poses, whole.poses[:, :2])
    assert model(images, glimpses=5).logits.shape[1] == 5
    with pytest.raises(UsageError, match="at least 1"):
        model(images, glimpses=0)


def test_every_rival_has_a_preset() -> None:
    assert {known.model.kind for known in PRESETS.values()} == {"stawm", *RIVALS}
