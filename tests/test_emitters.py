"""Windows at what stands out in the overview, against a slow version in float64."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import CnnConfig, ModelConfig, PolicyConfig
from stawm.experiments.presets import PRESETS
from stawm.model.emitters import ASIDE, KEY, Emitter, SalientEmitter
from stawm.model.policy import Policy, start_centres
from stawm.vision.encoders import Block, ConvEncoder
from stawm.vision.glimpse import inverse

HIDDEN, CHANNELS, SCALE = 8, 3, 0.4
CELLS = torch.cartesian_prod(torch.linspace(-0.8, 0.8, 4), torch.linspace(-0.6, 0.6, 3))


def salient(starts: Tensor | None, *, trained: float) -> SalientEmitter:
    emitter = SalientEmitter(HIDDEN, 0.0, SCALE, starts, CELLS, CHANNELS).double()
    emitter.cells = CELLS.double()
    for weight in emitter.parameters():
        torch.nn.init.normal_(weight, 0, trained)
    return emitter


def slowly(emitter: SalientEmitter, context: Tensor, emission: Tensor, number: int) -> Tensor:
    """The equations, one picture, one place and one number at a time."""
    poses = []
    for picture, output in zip(context, emission, strict=True):
        narrow = torch.clamp(emitter.narrow.weight @ output + emitter.narrow.bias, min=0)
        sought = emitter.query.weight @ narrow + emitter.query.bias
        heights = []
        for place in range(len(CELLS)):
            there = torch.stack([picture[channel * len(CELLS) + place] for channel in range(CHANNELS)])
            height = (emitter.key.weight @ there) @ sought / math.sqrt(KEY)
            if emitter.starts is not None:
                height = height + emitter.starts[number % len(emitter.starts), place]
            heights.append(torch.exp(height))
        numbers = torch.tanh(emitter.window.weight @ narrow + emitter.window.bias)
        side = SCALE * 2 ** numbers[0]
        total, nothing = torch.stack(heights).sum(), torch.zeros_like(side)
        centre = [
            sum((height / total * cell[axis] for height, cell in zip(heights, CELLS.double(), strict=True)), nothing)
            + ASIDE * numbers[1 + axis]
            for axis in (0, 1)
        ]
        poses.append(torch.stack([side, nothing, centre[0], nothing, side, centre[1]]).reshape(2, 3))
    return torch.stack(poses)


@pytest.mark.parametrize("apart", [False, True])
def test_windows_and_their_gradients_are_those_of_the_equations(apart: bool) -> None:
    torch.manual_seed(0)
    emitter = salient(start_centres(5, "grid") if apart else None, trained=0.7)
    context = torch.randn(4, CHANNELS * len(CELLS), dtype=torch.float64, requires_grad=True)
    emission = torch.randn(4, HIDDEN, dtype=torch.float64, requires_grad=True)
    given = [context, emission, *emitter.parameters()]
    fast, slow = emitter(emission, 6, emitter.keys(context)), slowly(emitter, context, emission, 6)
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-12)
    weights = torch.randn_like(slow)
    pairs = zip(*(torch.autograd.grad((pose * weights).sum(), given) for pose in (fast, slow)), strict=True)
    for ours, theirs in pairs:
        assert theirs.abs().max() > 0
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)


def test_whatever_was_learnt_windows_stay_near_the_picture() -> None:
    torch.manual_seed(0)
    emitter = salient(start_centres(5, "grid"), trained=30.0)
    poses = emitter(torch.randn(64, HIDDEN).double(), 2, emitter.keys(torch.randn(64, CHANNELS * len(CELLS)).double()))
    low, high = CELLS.double().min(0).values - ASIDE, CELLS.double().max(0).values + ASIDE
    assert ((poses[..., 2] >= low) & (poses[..., 2] <= high)).all()
    assert poses[:, 0, 0].min() >= SCALE / 2 and poses[:, 0, 0].max() <= 2 * SCALE
    assert torch.equal(poses[:, 0, 0], poses[:, 1, 1]) and poses[:, [0, 1], [1, 0]].abs().max() == 0


def test_before_training_windows_lie_about_their_starts() -> None:
    cells = torch.cartesian_prod(torch.linspace(-1, 1, 21), torch.linspace(-1, 1, 21))
    context, emission = torch.randn(2, 441), torch.randn(2, HIDDEN)
    starts = torch.tensor([[0.0, 0.0], [0.5, -0.25], [-0.5, 0.25]])
    emitter = SalientEmitter(HIDDEN, 0.0, SCALE, starts, cells, 1)
    centres = torch.stack([emitter(emission, number, emitter.keys(context))[0, :, 2] for number in range(3)])
    assert (centres - starts).abs().max() < 0.2 and (centres[1] - centres[2]).norm() > 0.7
    one = SalientEmitter(HIDDEN, 0.0, SCALE, None, cells, 1)
    expected = torch.cat([SCALE * torch.eye(2), torch.zeros(2, 1)], 1).expand(2, 2, 3)
    torch.testing.assert_close(one(emission, 0, one.keys(context)), expected)


@pytest.mark.parametrize("spot", [(3, 4), (11, 4), (6, 10)])
def test_what_holds_at_one_place_holds_at_all(spot: tuple[int, int]) -> None:
    """A window that goes to what is bright goes there wherever it is: nothing has to be learnt for each place."""
    encoder = ConvEncoder(1, 16, 16, filters=(4,), strides=(1,), block="norm3").eval()
    torch.nn.init.constant_(encoder.convolutions[0].weight, 1.0)  # pyright: ignore[reportArgumentType]
    emitter = SalientEmitter(HIDDEN, 0.0, SCALE, None, encoder.cells, 4)
    torch.nn.init.constant_(emitter.key.weight, 1.0)
    torch.nn.init.constant_(emitter.query.bias, 3.0)
    picture = torch.zeros(1, 1, 16, 16)
    picture[0, 0, spot[0], spot[1]] = 1.0
    pose = emitter(torch.zeros(1, HIDDEN), 0, emitter.keys(encoder(picture)))
    there = torch.tensor([2 * spot[1] / 15 - 1, 2 * spot[0] / 15 - 1])
    torch.testing.assert_close(pose[0, :, 2], there, rtol=0, atol=1e-4)


@pytest.mark.parametrize("block", ["norm3", "plain4"])
@pytest.mark.parametrize("strides", [(1,), (2, 1), (2, 2)])
def test_cells_are_the_middle_of_what_a_place_of_the_map_sees(block: Block, strides: tuple[int, ...]) -> None:
    encoder = ConvEncoder(1, 24, 30, filters=(1,) * len(strides), strides=strides, block=block).double().eval()
    for convolution in encoder.convolutions:
        torch.nn.init.ones_(convolution.weight)  # pyright: ignore[reportArgumentType]
    picture = torch.ones(1, 1, 24, 30, dtype=torch.float64, requires_grad=True)
    maps = encoder(picture)[0]
    _, rows, columns = encoder.shape
    place = (rows // 2) * columns + columns // 2  # One whose view does not reach the padding.
    (seen,) = torch.autograd.grad(maps[place], picture)
    down, across = (torch.linspace(-1, 1, side, dtype=torch.float64) for side in (24, 30))
    share = seen[0, 0] / seen.sum()
    middle = torch.stack([(share.sum(0) * across).sum(), (share.sum(1) * down).sum()])
    torch.testing.assert_close(encoder.cells[place].double(), middle, rtol=0, atol=1e-6)


def test_a_sketch_goes_to_where_its_window_was() -> None:
    policy = Policy(CHANNELS * len(CELLS), HIDDEN, 0.0, draws=True, scale=SCALE, cells=CELLS)
    state, emission, pose = policy.emit(policy.start(torch.randn(2, CHANNELS * len(CELLS))))
    pasted = policy.pasted(state, emission, pose)
    assert pasted is not None and policy.inverse is None
    torch.testing.assert_close(pasted, inverse(pose))
    silent = Policy(CHANNELS * len(CELLS), HIDDEN, 0.0, scale=SCALE, cells=CELLS)
    assert silent.pasted(state, emission, pose) is None


def test_a_model_is_built_with_either() -> None:
    config = PRESETS["mnist-5k-cluttered-60"].model
    for poses, kind in (("affine", Emitter), ("salient", SalientEmitter)):
        model = build(replace(config, policy=replace(config.policy, poses=poses)))
        assert isinstance(model.policy.emitter, kind)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(policy=PolicyConfig(poses="salient"), context=CnnConfig(block="mobilenet-v2")),
        ModelConfig(policy=PolicyConfig(poses="salient"), context=CnnConfig(filters=(), strides=()), overview=4),
    ],
)
def test_a_context_without_maps_is_named(config: ModelConfig) -> None:
    with pytest.raises(UsageError, match=r"model\.policy\.poses affine"):
        build(config)


def test_salient_windows_cannot_start_inward() -> None:
    with pytest.raises(UsageError, match=r"give model\.policy\.starts=grid"):
        build(replace(ModelConfig(), policy=PolicyConfig(starts="inward", poses="salient")))
