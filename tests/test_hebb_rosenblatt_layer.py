"""The memory as a layer: its rates, precision, devices, and what it refuses."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fresh_process import anew, start
from oracle import recall_images
from stawm.errors import UsageError
from stawm.memory.activations import Activation
from stawm.memory.hebb_rosenblatt import (
    HebbRosenblatt,
    Matrix,
    Trace,
)
from tiny_codes import drawn, three_rates


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("start", [(0.2, 0.4, 0.5), (0.1, 0.7, 0.3), (0.93, 1.7, 0.0)])
def test_rates_start_exactly_at_the_values_given(learn: bool, dtype: torch.dtype, start: tuple[float, float, float]):
    delta, eta, theta = start
    rates = HebbRosenblatt(4, learn_rates=learn, delta=delta, eta=eta, theta=theta).to(dtype).rates()
    assert (rates.delta.item(), rates.eta.item(), rates.theta.item()) == start


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=3), st.floats(1e-3, 0.99), st.floats(1e-3, 3))
def test_learnt_rates_stay_in_the_region_wherever_an_optimiser_throws_them(
    shift: list[float], delta: float, gap: float
):
    memory = HebbRosenblatt(4, learn_rates=True, delta=delta, eta=delta + gap, theta=0.5)
    with torch.no_grad():
        memory.shift.copy_(torch.tensor(shift))
    rates = memory.rates()
    for precision in (torch.float64, torch.float32):
        delta_now, eta_now, theta_now = (rate.to(precision).item() for rate in (rates.delta, rates.eta, rates.theta))
        assert 0 < delta_now < 1 and delta_now < eta_now < float("inf") and 0 <= theta_now < float("inf")


def test_learnt_rates_learn_and_wild_steps_do_not_break_them():
    memory = HebbRosenblatt(6, learn_rates=True)
    codes, query = 0.3 * drawn(15, 4, 5, 6, dtype=torch.float32), 0.3 * drawn(16, 4, 6, dtype=torch.float32)
    optimiser = torch.optim.SGD(memory.parameters(), lr=1e4)
    for sign in (1, -1, 1):
        optimiser.zero_grad()
        loss = sign * memory(codes, query).terminal.square().sum()
        loss.backward()
        assert memory.shift.grad is not None and memory.shift.grad.isfinite().all()
        optimiser.step()
        rates = memory.rates()
        assert 0 < rates.delta < 1 and rates.eta > rates.delta and rates.theta >= 0
    assert memory.shift.abs().min() > 0


def test_the_rates_follow_their_equations():
    memory = HebbRosenblatt(4, learn_rates=True).double()
    shift = torch.tensor([0.3, -0.2, 0.1], dtype=torch.float64)
    with torch.no_grad():
        memory.shift.copy_(8 * torch.atanh(shift / 8))
    a, b, c = shift.exp()
    delta = 0.2 * a / (0.2 * a + 0.8)
    rates = memory.rates()
    torch.testing.assert_close(rates.delta, delta)
    torch.testing.assert_close(rates.eta, delta + 0.2 * b)
    torch.testing.assert_close(rates.theta, 0.5 * c)


def test_rates_are_of_the_state_and_only_learnt_ones_are_parameters():
    assert HebbRosenblatt(4, delta=0.3).state_dict()["starting_rates"].tolist() == [0.3, 0.4, 0.5]
    assert list(HebbRosenblatt(4, learn_rates=True).state_dict()) == ["shift", "starting_rates"]
    assert list(HebbRosenblatt(4).parameters()) == []


@pytest.mark.parametrize("learn", [False, True])
def test_a_memory_that_was_loaded_computes_what_the_saved_one_did(learn: bool):
    codes, query = drawn(19, 2, 3, 6), drawn(20, 2, 6)
    saved = HebbRosenblatt(6, learn_rates=learn, delta=0.3, eta=0.7, theta=0.1)
    if learn:
        with torch.no_grad():
            saved.shift.copy_(torch.tensor([0.3, -0.2, 0.1]))
    loaded = HebbRosenblatt(6, learn_rates=learn)
    assert not torch.equal(loaded(codes, query).recalls, saved(codes, query).recalls)
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(loaded(codes, query).recalls, saved(codes, query).recalls)


def test_a_state_without_rates_leaves_them_as_they_are():
    memory = HebbRosenblatt(4, delta=0.3)
    memory.load_state_dict({})
    assert memory.starting_rates == (0.3, 0.4, 0.5)


@pytest.mark.parametrize("rates", [[0.2, 0.4], [float("nan"), 0.4, 0.5], [0.5, 0.4, 0.5], [0.2, 0.4, -1.0]])
def test_rates_that_the_memory_cannot_take_are_not_loaded(rates: list[float]):
    memory = HebbRosenblatt(4)
    with pytest.raises(RuntimeError, match="starting_rates"):
        memory.load_state_dict({"starting_rates": torch.tensor(rates)})
    assert memory.starting_rates == (0.2, 0.4, 0.5)


@pytest.mark.parametrize("form", ["trace", "matrix"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_on_request(form: Any, dtype: torch.dtype):
    codes, query = 0.1 * drawn(17, 2, 5, 16, dtype=torch.float32), 0.1 * drawn(18, 2, 16, dtype=torch.float32)
    memory = HebbRosenblatt(16, form=form)
    state = memory.start(2, dtype=dtype)
    for code in codes.unbind(1):
        state = memory.write(state, code)
    recalled = memory.recall(state, query)
    assert recalled.dtype == dtype
    torch.testing.assert_close(recalled.float(), memory(codes, query).terminal, rtol=0.05, atol=1e-3)


def test_saturated_half_precision_stays_finite():
    """36 · 2048 is beyond float16; the overflow must end at ReLU6's bound, not as 0 · ∞ in the masked product."""
    codes = torch.full((1, 3, 2048), 6.0, dtype=torch.float16)
    assert torch.equal(HebbRosenblatt(2048, form="trace")(codes, codes[:, 0]).recalls, codes)


WITHOUT_SHAPE_CHECKS = """
import itertools, torch
from stawm.errors import UsageError
from stawm.memory.hebb_rosenblatt import HebbRosenblatt

for form, read in itertools.product(("trace", "matrix"), ("codes", "responses")):
    memory = HebbRosenblatt(5, form=form, read=read, learn_rates=True)
    codes, query = torch.rand(2, 3, 5), torch.rand(2, 5)
    def whole(codes, query):
        return memory(codes, query).recalls
    def one_write(code, query):
        state = memory.write(memory.start(2), code)
        return memory.recall(memory.write(state, code), query)
    for function, arguments in ((whole, (codes, query)), (one_write, (codes[:, 0], query))):
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(*arguments), function(*arguments))
    print("compiled", form, read)
for wrong in ({"read": "rows"}, {"form": "dense"}):
    try:
        HebbRosenblatt(4, **wrong)
    except UsageError as refusal:
        print(refusal)
"""


def test_compile_without_a_graph_break_and_names_refused(tmp_path: Path):
    """Apart from pytest, whose shape checks cannot be compiled and would refuse a wrong name first."""
    started = start(anew, WITHOUT_SHAPE_CHECKS, home=tmp_path)
    assert started.end() == 0, started.err.read_text()
    *compiled, read, form = started.out.read_text().splitlines()
    assert compiled == [
        "compiled trace codes",
        "compiled trace responses",
        "compiled matrix codes",
        "compiled matrix responses",
    ]
    assert "'rows'" in read and "'dense'" in form


def test_a_copy_is_independent():
    memory = HebbRosenblatt(4, learn_rates=True)
    twin = copy.deepcopy(memory)
    with torch.no_grad():
        twin.shift.add_(1)
    assert memory.rates().delta.item() == 0.2 and twin.rates().delta.item() > 0.3


def test_a_state_lives_where_the_module_does_unless_told():
    memory = HebbRosenblatt(4).to("meta")
    for state in (memory.start(2), HebbRosenblatt(4).start(2, device="meta")):
        assert isinstance(state, Trace) and state.codes.device.type == "meta"
    doubled = HebbRosenblatt(4, form="matrix").double().start(2)
    assert isinstance(doubled, Matrix) and doubled.weights.dtype == torch.float64


def test_an_activation_of_ones_own():
    squash = Activation("squash", lambda total: total.clamp_min(0) / (1 + total.clamp_min(0)), 1.0)
    codes, query = drawn(21, 2, 3, 5), drawn(22, 2, 5)
    recalls = HebbRosenblatt(5, activation=squash).double()(codes, query).recalls
    wanted, _ = recall_images(codes, query, three_rates(), "codes", squash)
    torch.testing.assert_close(recalls, wanted)


def test_print_shows_the_settings():
    assert "16, read=responses, activation=sigmoid, form=auto" in repr(
        HebbRosenblatt(16, read="responses", activation="sigmoid")
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"size": 0}, "memory size 0"),
        ({"activation": "relu"}, "'relu'.* relu6"),
        ({"activation": "zzz"}, "Activation\\(name, function, bound\\)"),
        ({"delta": 1.0, "eta": 2.0}, "0 < delta < 1, not delta=1.0"),
        ({"delta": -0.1}, "0 < delta < 1, not delta=-0.1"),
        ({"delta": 0.0, "learn_rates": True}, "0 < delta < 1, not delta=0.0"),
        ({"eta": 0.2}, "eta=0.2 with delta=0.2"),
        ({"eta": float("nan")}, "eta > delta"),
        ({"delta": 0.0, "eta": 0.0}, "eta > delta"),
        ({"theta": -0.5}, "theta >= 0, not theta=-0.5"),
    ],
)
def test_settings_that_cannot_work_are_one_clear_line(settings: dict[str, Any], words: str):
    untyped: Any = HebbRosenblatt
    with pytest.raises(UsageError, match=words) as refusal:
        untyped(**{"size": 4, **settings})
    assert "\n" not in str(refusal.value)


def test_controls_may_never_forget_and_pass_nothing_on():
    rates = HebbRosenblatt(4, delta=0.0, theta=0.0).rates()
    assert (rates.delta.item(), rates.eta.item(), rates.theta.item()) == (0.0, 0.4, 0.0)


def test_codes_that_do_not_fit_are_refused():
    memory = HebbRosenblatt(4)
    with pytest.raises(UsageError, match=r"\[2, 5\].*\[2, 4\]"):
        memory.write(memory.start(2), torch.ones(2, 5))
    with pytest.raises(UsageError, match=r"\[2, 3\].*\[2, 4\]"):
        memory.recall(memory.start(2), torch.ones(2, 3))
    with pytest.raises(UsageError, match=r"\[2, 0, 4\].*codes, 4\], at least one of each"):
        memory(torch.ones(2, 0, 4), torch.ones(2, 4))
    with pytest.raises(UsageError, match=r"\[2, 3, 5\].* cannot be written"):
        memory(torch.ones(2, 3, 5), torch.ones(2, 5))
