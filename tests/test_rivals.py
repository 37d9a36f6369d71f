"""Every rule against its own equations, written out for one sequence at a time in float64, gradients included."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from oracle import layer_norm, unit_vector
from stawm.errors import UsageError
from stawm.measure.health import health
from stawm.memory.attention import Attention
from stawm.memory.delta_rule import DeltaRule
from stawm.memory.fast_weights import FastWeights
from stawm.memory.gated_delta import GatedDelta
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.memory.lstm import Lstm
from stawm.memory.mean_of_codes import MeanOfCodes
from stawm.memory.none import NoMemory
from stawm.memory.protocol import MEMORIES, Memory
from tiny_codes import drawn
from tiny_model import SMALL, stawm

SIZE, BATCH, COUNT = 6, 2, 5
Units = Callable[[Any, Tensor, Tensor], list[Tensor]]
"""From a memory, the codes [count memory] and the query [memory] of one sequence, what is read after each write."""


def delta_rule(memory: DeltaRule, codes: Tensor, query: Tensor) -> list[Tensor]:
    weights, found = torch.zeros(SIZE, SIZE, dtype=torch.float64), []
    for code in codes:
        key = unit_vector(code)
        weights = weights + memory.eta * torch.outer(key, code - weights.T @ key)
        found.append(F.relu6(weights.T @ query))
    return found


def fast_weights(memory: FastWeights, codes: Tensor, query: Tensor) -> list[Tensor]:
    delta, eta = memory.starting_rates
    weights, found = torch.zeros(SIZE, SIZE, dtype=torch.float64), []
    for code in codes:
        weights = (1 - delta) * weights + eta * torch.outer(code, code)
        state = query
        for _ in range(memory.steps - 1):
            state = unit_vector(F.relu6(query + weights @ state))
        found.append(F.relu6(weights @ state))
    return found


def gated_delta(memory: GatedDelta, codes: Tensor, query: Tensor) -> list[Tensor]:
    weights, found = torch.zeros(SIZE, SIZE, dtype=torch.float64), []
    for code in codes:
        key = unit_vector(code)
        alpha, beta = torch.sigmoid(memory.gates.weight @ code + memory.gates.bias)
        weights = alpha * (weights - beta * torch.outer(key, weights.T @ key)) + beta * torch.outer(key, code)
        found.append(F.relu6(weights.T @ query))
    return found


def lstm(memory: Lstm, codes: Tensor, query: Tensor) -> list[Tensor]:
    hidden = cell = torch.zeros(memory.hidden, dtype=torch.float64)
    opened, found = torch.sigmoid(memory.ask.weight @ query + memory.ask.bias), []
    for code in codes:
        gates = memory.enter.weight @ code + memory.enter.bias + memory.again.weight @ hidden
        i, f, o, g = gates.reshape(4, memory.hidden)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        found.append(F.relu6(memory.value.weight @ hidden * opened))
    return found


def mean_of_codes(memory: MeanOfCodes, codes: Tensor, query: Tensor) -> list[Tensor]:
    return [sum(codes[:last], torch.zeros(())) / last * query for last in range(1, len(codes) + 1)]


def attention(memory: Attention, codes: Tensor, query: Tensor) -> list[Tensor]:
    found = []
    for last in range(1, len(codes) + 1):
        shares = [torch.exp(query @ unit_vector(code) / memory.temperature) for code in codes[:last]]
        whole = sum(shares, torch.zeros(()))
        found.append(sum((share / whole * code for share, code in zip(shares, codes, strict=False)), torch.zeros(())))
    return found


CASES: dict[str, tuple[Callable[..., Memory], dict[str, Any], Units]] = {
    "delta-rule": (DeltaRule, {"eta": 0.7}, delta_rule),
    "fast-weights": (FastWeights, {"delta": 0.3}, fast_weights),
    "fast-weights in three steps": (FastWeights, {"steps": 3}, fast_weights),
    "gated-delta": (GatedDelta, {}, gated_delta),
    "lstm": (Lstm, {}, lstm),
    "lstm of four units": (Lstm, {"hidden": 4}, lstm),
    "mean-of-codes": (MeanOfCodes, {}, mean_of_codes),
    "attention": (Attention, {"temperature": 0.3}, attention),
}


def of_case(case: str, **settings: Any) -> Memory:
    """The memory of a case with weights that treat no unit like another, and of which some always pass a ReLU6."""
    rule, own, _ = CASES[case]
    memory = rule(SIZE, **own, **settings).double()
    with torch.no_grad():
        for number, (name, part) in enumerate(memory.named_parameters()):
            part += 0.5 * torch.sin(torch.arange(part.numel()).reshape(part.shape) + number)
            if name == "value.weight":
                part[1::2] = -part[::2]
    return memory


def truth(case: str, memory: Memory, codes: Tensor, query: Tensor) -> Tensor:
    choice: Any = getattr(memory, "normalise", None)
    found = []
    for one, asked in zip(codes, query, strict=True):
        if choice:
            one, asked = torch.stack([unit_vector(code) for code in one]), unit_vector(asked)
        units = CASES[case][2](memory, one, asked)
        gain = choice.gain if choice.choice == "learnt" else torch.ones(SIZE, dtype=torch.float64)
        found.append([torch.stack(layer_norm([*unit], gain)) if choice else unit for unit in units])
    return torch.stack([torch.stack(each) for each in found])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("normalise", ["none", "fixed", "learnt"])
@pytest.mark.parametrize("at_once", [True, False])
def test_it_follows_its_equations_in_values_and_gradients(case: str, normalise: str, at_once: bool) -> None:
    memory = of_case(case, normalise=normalise)
    codes, query = drawn(0, BATCH, COUNT, SIZE) + 0.05, drawn(1, BATCH, SIZE) + 0.05
    codes[:, 1] = 0  # A blank one amid the others.
    leaves = [codes.requires_grad_(), query.requires_grad_(), *memory.parameters()]
    wanted = truth(case, memory, codes, query)
    if at_once:
        found = memory(codes, query).recalls
    else:
        state, recalls = memory.start(BATCH), []
        for code in codes.unbind(1):
            state = memory.write(state, code)
            recalls.append(memory.recall(state, query))
        found = torch.stack(recalls, 1)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)
    shares = drawn(2, *wanted.shape) - 0.5
    truths = torch.autograd.grad((wanted * shares).sum(), leaves)
    assert min(part.abs().max().item() for part in truths) > 1e-7, "gradients that vanish compare nothing"
    for got, part in zip(torch.autograd.grad((found * shares).sum(), leaves), truths, strict=True):
        torch.testing.assert_close(got, part, rtol=1e-9, atol=1e-9)


def test_every_rule_of_the_package_has_an_oracle() -> None:
    apart = {"hebb-rosenblatt": HebbRosenblatt, "none": NoMemory}  # The one has a file of its own, the other none.
    told = {rule for rule, _, _ in CASES.values()} | set(apart.values())
    assert {MEMORIES[name] for name in MEMORIES if MEMORIES[name].__module__.startswith("stawm.")} == told


def test_the_gated_delta_rule_with_open_gates_is_the_delta_rule() -> None:
    gated, plain = GatedDelta(SIZE).double(), DeltaRule(SIZE, normalise="fixed").double()
    with torch.no_grad():
        gated.gates.weight.zero_()
        gated.gates.bias.fill_(50.0)
    codes, query = drawn(3, BATCH, COUNT, SIZE), drawn(4, BATCH, SIZE)
    torch.testing.assert_close(gated(codes, query).recalls, plain(codes, query).recalls)


def test_attention_that_is_cold_brings_back_the_best_match_alone() -> None:
    codes = torch.eye(4)[None] * 3
    found = Attention(4, temperature=0.01, normalise="none")(codes, codes[:, 2] / 3).terminal
    torch.testing.assert_close(found, codes[:, 2])


@pytest.mark.parametrize(
    ("rule", "settings", "told"),
    [
        (FastWeights, {"delta": 1.5}, "delta=1.5"),
        (FastWeights, {"eta": 0.0}, "eta=0"),
        (FastWeights, {"steps": 0}, "0 times"),
        (Attention, {"temperature": 0.0}, "temperature of attention is 0"),
        (Lstm, {"hidden": -1}, "-1 units"),
        (MeanOfCodes, {"size": 0}, "memory size 0"),
    ],
)
def test_settings_that_cannot_work_are_one_clear_line(rule: Any, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told) as refusal:
        rule(**{"size": 4, **settings})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("rule", "settings"), [(FastWeights, {"delta": 0.4, "eta": 0.9}), (Attention, {"temperature": 2.0})]
)
def test_a_memory_that_was_loaded_has_the_saved_rates(rule: Any, settings: dict[str, float]) -> None:
    saved, loaded = rule(4, **settings), rule(4)
    loaded.load_state_dict(saved.state_dict())
    assert loaded.starting_rates == tuple(settings.values())


@pytest.mark.parametrize("rule", list(MEMORIES))
def test_a_whole_model_looks_and_learns_with_every_rule(rule: str) -> None:
    model = stawm(replace(SMALL, memory=MEMORIES[rule].Config(size=10)))
    images = torch.rand(6, *SMALL.image.shape)
    episode = model(images)
    assert health(episode, model)["memory_norm"].isfinite()
    episode.logits[:, -1].square().sum().backward()
    reached = [part.grad is not None and bool(part.grad.isfinite().all()) for part in model.memory.parameters()]
    assert all(reached)
    sees = model.what.weight.grad
    assert (sees is None) == (rule == "none"), "without a memory nothing that is seen can be learnt from"
