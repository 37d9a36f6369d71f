"""Models that no machine should be asked for are refused before anything is allocated."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from stawm.errors import UsageError
from stawm.experiments.build import MOST_WEIGHTS, Budget, build, judge_of
from stawm.experiments.experiment import CnnConfig, Experiment, ImageConfig, PolicyConfig
from stawm.memory.activations import activation_for
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.emitters import Emitter
from stawm.model.heads.draw import Drawing
from stawm.model.heads.question import QuestionConfig
from stawm.model.policy import Starts, start_centres
from stawm.model.stawm import Stawm
from stawm.vision.canvas import AdditionCanvas, BernoulliCanvas
from stawm.vision.encoders import ConvEncoder
from tiny_model import SMALL, artist_of, emitter_of, heads, memory_of, stawm
from tiny_seed import SHIFT

LARGE = ImageConfig(height=4096, width=4096)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden": 65_536},
        {"memory": HebbRosenblattConfig(size=16_384)},
        {"heads": heads(65_536), "memory": HebbRosenblattConfig(size=16_384), "hidden": 2},
        {"glimpse": CnnConfig(filters=(65_536, 65_536), strides=(1, 1))},
        {"kind": "vae", "heads": heads(latent=65_536), "glimpse": CnnConfig(filters=(64,), strides=(1,))},
    ],
)
def test_a_model_with_too_many_weights_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{MOST_WEIGHTS:,} weights"):
        build(replace(SMALL, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"image": LARGE, "context": CnnConfig(filters=(64, 1), strides=(1, 4096))},
        {"image": LARGE, "context": CnnConfig(block="mobilenet-v2")},
        {"image": replace(LARGE, channels=1024), "context": CnnConfig(filters=(1,), strides=(2048,))},
        {"glimpses": 1024, "glimpse_height": 1024, "glimpse_width": 1024, "glimpse": CnnConfig((1,), (1024,))},
        {"image": LARGE, "context": CnnConfig((1,), (2048,)), "glimpses": 100, "heads": heads(latent=2)},
    ],
)
def test_a_picture_that_would_take_too_much_memory_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="one picture would take"):
        build(replace(SMALL, **change))


def test_what_a_picture_holds_is_counted_with_the_maps() -> None:
    encoder = ConvEncoder(3, 9, 9, filters=(4, 5), strides=(2, 1), block="norm3")
    assert encoder.held == 3 * 9 * 9 + 4 * 4 * 4 + 5 * 2 * 2


def test_a_budget_counts_before_it_makes() -> None:
    with Budget(most=100) as budget:
        torch.empty(9, 9)
        torch.zeros((4, 4))
        assert budget.numbers == 97
        with pytest.raises(UsageError):
            torch.ones(size=(10**6, 10**6))


def test_starts_may_be_taken_far_first() -> None:
    """Of four on a grid, opposite corners first; of five that start inward, the widest and the narrowest."""
    grid = stawm(replace(SMALL, glimpses=4, policy=PolicyConfig(starts="grid", far_first=True)))
    assert isinstance(grid.policy.emitter, Emitter) and grid.policy.emitter.starts is not None
    assert grid.policy.emitter.starts.tolist() == [[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5], [-0.5, 0.5]]
    policy = PolicyConfig(starts="inward", far_first=True)
    inward = stawm(replace(SMALL, glimpses=5, glimpse_scale=0.5, policy=policy))
    assert isinstance(inward.policy.emitter, Emitter) and inward.policy.emitter.larger is not None
    torch.testing.assert_close(inward.policy.emitter.larger.detach(), torch.tensor([0.5, 0.0, 0.25, 0.375, 0.125]))


@pytest.mark.parametrize("starts", ["grid", "outward"])
def test_starts_lie_over_one_of_two_pictures(starts: Starts) -> None:
    """An image of 24 × 12 that holds two is looked at as two squares: eight glimpses lie in three rows, not in four."""
    config = replace(SMALL, glimpses=8, policy=PolicyConfig(starts=starts))
    pair = replace(config, image=ImageConfig(height=24, width=12), heads={"change": QuestionConfig()})
    for one in (config, pair):
        emitter = stawm(one).policy.emitter
        assert isinstance(emitter, Emitter) and emitter.starts is not None
        torch.testing.assert_close(emitter.starts.detach(), start_centres(8, starts, aspect=1.0))
        assert emitter.starts[:, 1].unique().numel() == 3


@pytest.mark.parametrize("policy", [PolicyConfig(far_first=True), PolicyConfig("scan", "grid", far_first=True)])
def test_an_order_of_starts_that_do_not_differ_is_refused(policy: PolicyConfig) -> None:
    with pytest.raises(UsageError, match="far_first"):
        build(replace(SMALL, policy=policy))


@pytest.mark.parametrize("starts", ["grid", "outward"])
@pytest.mark.parametrize(("height", "width", "shape"), [(20, 60, (2, 6)), (60, 20, (6, 2)), (20, 20, (3, 4))])
def test_a_grid_of_starts_has_the_proportions_of_the_picture(
    starts: Starts, height: int, width: int, shape: tuple[int, int]
) -> None:
    wide = replace(SMALL, image=ImageConfig(1, height, width), glimpses=12, policy=PolicyConfig(starts=starts))
    centres = emitter_of(stawm(wide)).starts
    assert centres is not None
    across, down = centres.detach().unbind(1)
    assert (len(down.unique()), len(across.unique())) == shape


def test_a_strong_drawing_head_differs_in_the_scale_of_its_sketches_alone() -> None:
    def built(**draw: Any) -> Stawm:
        torch.manual_seed(SHIFT)
        return stawm(replace(SMALL, heads=heads(latent=2, **draw))).eval()

    plain, strong = built(), built(strength=4.0)
    latent = torch.randn(5, 3, 2)
    torch.testing.assert_close(artist_of(strong).sketches(latent), 4 * artist_of(plain).sketches(latent))
    pairs = zip(plain.named_parameters(), strong.parameters(), strict=True)
    assert [name for (name, weight), other in pairs if not torch.equal(weight, other)] == [
        "heads.draw.decoder.norms.0.weight"
    ]


def test_settings_of_a_drawing_head_reach_its_canvas_and_its_objective() -> None:
    added = stawm(replace(SMALL, heads=heads(latent=3, start=0.5)))
    assert artist_of(added).canvas == AdditionCanvas(0.5) and artist_of(added).mean.out_features == 3
    replaced = replace(SMALL, heads=heads(latent=3, canvas="bernoulli", temperature=0.5, mean="concrete"))
    assert artist_of(stawm(replaced)).canvas == BernoulliCanvas(0.5, "concrete")
    counts = {"beta": 3.0, "beta_scale": 2.0, "divergence": "joint", "weight": 0.5, "anytime": 0.3, "cover": 0.1}
    judge = judge_of(Experiment("weighed", model=replace(SMALL, heads=heads(latent=3, **counts))))
    assert judge.objectives == {"draw": Drawing(**counts)}


def test_settings_of_a_memory_reach_it() -> None:
    config = HebbRosenblattConfig(
        size=6,
        read="responses",
        activation="sigmoid",
        form="matrix",
        learn_rates=True,
        delta=0.1,
        eta=0.3,
        theta=0.7,
        normalise="learnt",
    )
    memory = memory_of(stawm(replace(SMALL, memory=config)))
    assert (memory.size, memory.read, memory.form, memory.learn_rates) == (6, "responses", "matrix", True)
    assert memory.activation == activation_for("sigmoid") and memory.normalise.choice == "learnt"
    with torch.no_grad():
        rates = memory.rates()
    assert [float(rate) for rate in (rates.delta, rates.eta, rates.theta)] == pytest.approx([0.1, 0.3, 0.7])
