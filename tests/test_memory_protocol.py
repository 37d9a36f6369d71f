"""Every rule of memory keeps the promises of the protocol, whoever wrote it."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fresh_process import anew, start
from stawm.errors import UsageError
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.memory.protocol import MEMORIES, Memory, MemoryConfig, build_memory
from tiny_codes import drawn
from tiny_model import unchecked

RULES = list(MEMORIES)
SIZE = 9


WITH_CONTENTS = ("delta-rule", "fast-weights", "hebb-rosenblatt")
WITH_MATRIX = (*WITH_CONTENTS, "gated-delta")


def memory_of(rule: str, *, learnt: bool = False) -> Memory:
    settings: dict[str, Any] = {"normalise": "learnt"} if learnt and rule != "none" else {}
    return build_memory(MEMORIES[rule].Config(size=SIZE, **settings)).double()


@pytest.mark.parametrize("rule", RULES)
def test_the_whole_sequence_is_its_steps(rule: str) -> None:
    memory, codes, queries = memory_of(rule), drawn(0, 3, 5, SIZE), drawn(1, 3, 2, SIZE)
    whole = memory(codes, queries)
    assert whole.recalls.shape == (3, 2, 5, SIZE)
    state = memory.start(3, dtype=torch.float64)
    for step, code in enumerate(codes.unbind(1)):
        state = memory.write(state, code)
        for number in range(2):
            torch.testing.assert_close(memory.recall(state, queries[:, number]), whole.recalls[:, number, step])
    torch.testing.assert_close(memory.norm(whole.state), memory.norm(state))
    torch.testing.assert_close(memory(codes, queries[:, 0]).terminal, whole.terminal[:, 0])


class AsAnyRule(HebbRosenblatt):
    """A rule that says nothing of sequences: the protocol's own way through them."""

    forward, at_end = Memory.forward, Memory.at_end


def each_way() -> dict[str, Memory]:
    forms = {
        "matrix-codes": HebbRosenblatt(SIZE, form="matrix"),
        "matrix-responses": HebbRosenblatt(SIZE, form="matrix", read="responses"),
        "trace-responses": HebbRosenblatt(SIZE, form="trace", read="responses", normalise="fixed"),
        "plain": AsAnyRule(SIZE),
    }
    return {rule: memory_of(rule, learnt=True) for rule in RULES} | {k: m.double() for k, m in forms.items()}


@pytest.mark.parametrize("name", list(each_way()))
@pytest.mark.parametrize("count", [1, 5])
def test_asked_at_the_end_it_says_what_it_says_after_the_last_write(name: str, count: int) -> None:
    memory, upstream = each_way()[name], drawn(7, 3, 2, SIZE)
    found = []
    for way in (memory, memory.at_end):
        codes, queries = drawn(0, 3, count, SIZE).requires_grad_(), drawn(1, 3, 2, SIZE).requires_grad_()
        whole = way(codes, queries)
        told = (whole.terminal * upstream).sum() + memory.norm(whole.state).sum()
        leaves = [codes, queries, *memory.parameters()]
        grads = (
            torch.autograd.grad(told, leaves, allow_unused=True, materialize_grads=True) if told.requires_grad else ()
        )
        found.append([whole.recalls[..., -1:, :], memory.norm(whole.state), *grads])
    assert found[1][0].shape == (3, 2, 1, SIZE)
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(
        memory.at_end(codes, queries[:, 1]).recalls, memory.at_end(codes, queries).recalls[:, 1], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("rule", RULES)
def test_states_are_values(rule: str) -> None:
    memory, codes = memory_of(rule), drawn(2, 2, 3, SIZE)
    state = memory.write(memory.start(2, dtype=torch.float64), codes[:, 0])
    before = memory.recall(state, codes[:, 1]).clone()
    memory.write(state, codes[:, 2])
    torch.testing.assert_close(memory.recall(state, codes[:, 1]), before, rtol=0, atol=0)


@pytest.mark.parametrize("rule", RULES)
def test_sequences_do_not_touch_each_other_and_gradients_flow(rule: str) -> None:
    memory, codes, query = memory_of(rule), drawn(3, 4, 3, SIZE).requires_grad_(), drawn(4, 4, SIZE)
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(memory(codes[order], query[order]).recalls, memory(codes, query).recalls[order])
    if rule == "none":
        assert not memory(codes, query).recalls.any()
        return
    # Not the plain sum: that of a layer norm is always zero.
    (memory(codes, query).terminal[1] * drawn(13, SIZE)).sum().backward()
    assert codes.grad is not None
    assert codes.grad[1].any() and not codes.grad[[0, 2, 3]].any()


@pytest.mark.parametrize("rule", RULES)
def test_what_it_tells_of_itself_agrees(rule: str) -> None:
    memory, codes = memory_of(rule), drawn(5, 2, 4, SIZE)
    state = memory(codes, codes[:, 0]).state
    assert memory.health(state)["memory_norm"].item() == pytest.approx(memory.norm(state).mean().item())
    assert memory.recall(state, codes[:, 0]).max() <= memory.bound
    matrix, held = memory.matrix(state), memory.contents(codes)
    assert (matrix is not None, held is not None) == (rule in WITH_MATRIX, rule in WITH_CONTENTS)
    if matrix is not None:
        torch.testing.assert_close(torch.linalg.matrix_norm(matrix), memory.norm(state))
        torch.testing.assert_close(memory.norm(memory.start(2)), torch.zeros(2, dtype=torch.float64))
        empty = memory.matrix(memory.start(2))
        assert empty is not None and not empty.any()
    if held is not None:
        made = held.inputs.mT @ (held.strengths[-1][:, None] * held.outputs)
        torch.testing.assert_close(made, matrix)
        asked = memory(codes, held.asked).terminal
        assert F.cosine_similarity(asked[:, -1], held.wanted[:, -1], dim=-1).min() > 0.5


@pytest.mark.parametrize("rule", RULES)
def test_an_empty_memory_says_nothing_whatever_is_asked(rule: str) -> None:
    """So no answer can come from the query alone."""
    memory, query = memory_of(rule), drawn(14, 3, SIZE) + 1
    assert not memory.recall(memory.start(3), query).any()
    blank = memory(torch.zeros(3, 4, SIZE, dtype=torch.float64), query).recalls
    assert blank.isfinite().all() and (rule == "lstm" or not blank.any()), "an LSTM counts even blank codes"
    assert memory.recall(memory.start(3), torch.zeros_like(query)).isfinite().all()


@pytest.mark.parametrize("rule", RULES)
def test_every_parameter_learns(rule: str) -> None:
    memory = memory_of(rule, learnt=True)
    learning = [part for part in memory.parameters() if part.requires_grad]
    assert bool(learning) == (rule != "none")
    if learning:
        (memory(drawn(15, 4, 5, SIZE) + 0.1, drawn(16, 4, SIZE) + 0.1).recalls * drawn(17, 4, 5, SIZE)).sum().backward()
        assert all(part.grad is not None and part.grad.abs().max() > 1e-9 for part in learning)


@pytest.mark.parametrize("rule", RULES)
def test_it_computes_under_autocast_and_in_half_precision(rule: str) -> None:
    memory = build_memory(MEMORIES[rule].Config(size=SIZE))
    codes, query = drawn(18, 2, 4, SIZE, dtype=torch.float32) / 8, drawn(19, 2, SIZE, dtype=torch.float32) / 8
    wanted = memory(codes, query).terminal
    with torch.autocast("cpu", dtype=torch.bfloat16):
        whole = memory(codes.bfloat16().requires_grad_(), query)
        state = memory.start(2)
        for code in codes.unbind(1):
            state = memory.write(state, code.bfloat16())
        one_by_one = memory.recall(state, query)
    if rule != "none":
        whole.recalls.float().square().sum().backward()
    half = memory.start(2, dtype=torch.float16)
    for code in codes.unbind(1):
        half = memory.write(half, code)
    for found in (whole.terminal, one_by_one, memory.recall(half, query)):
        torch.testing.assert_close(found.float(), wanted, rtol=0.1, atol=0.1)
    assert memory.recall(half, query).dtype == torch.float16


@pytest.mark.parametrize("rule", RULES)
def test_the_size_of_a_state_is_that_of_its_smallest_form(rule: str) -> None:
    memory, codes = memory_of(rule), drawn(20, 1, 3, SIZE)
    state = memory(codes, codes[:, 0]).state
    held = sum(part.numel() if isinstance(part, Tensor) else 1 for part in vars(state).values())
    assert memory.state_size(3) == held
    most = memory.state_size(1000)
    assert most == {"attention": 1000 * SIZE}.get(rule, SIZE**2 if rule in WITH_MATRIX else held)


WITHOUT_SHAPE_CHECKS = """
import torch
from stawm.memory.protocol import MEMORIES, build_memory

class Asked(torch.nn.Module):
    def __init__(self, memory):
        super().__init__()
        self.memory = memory
    def forward(self, codes, query):
        return self.memory(codes, query).recalls

batch = torch.export.Dim("batch", min=1)
memories = {rule: build_memory(MEMORIES[rule].Config(size=5)) for rule in MEMORIES}
for form, choice in (("trace", "fixed"), ("matrix", "learnt")):
    memories[f"{form}, {choice}"] = MEMORIES["hebb-rosenblatt"](5, form=form, normalise=choice)
for name, memory in memories.items():
    torch._dynamo.reset()  # Else it compiles the same lines for eight memories and no more.
    asked = Asked(memory)
    given = (torch.rand(2, 3, 5), torch.rand(2, 5))
    program = torch.export.export(asked, given, dynamic_shapes=({0: batch}, {0: batch}))
    codes, query = torch.rand(4, 3, 5), torch.rand(4, 5)
    torch.testing.assert_close(program.module()(codes, query), asked(codes, query))
    compiled = torch.compile(asked, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(codes, query), asked(codes, query))
    print(name)
"""


def test_every_rule_is_compiled_and_exported_whatever_the_batch(tmp_path: Path) -> None:
    """Apart from pytest, whose shape checks cannot be compiled."""
    started = start(anew, WITHOUT_SHAPE_CHECKS, home=tmp_path)
    assert started.end() == 0, started.err.read_text()
    assert {*started.out.read_text().splitlines()} == {*RULES, "trace, fixed", "matrix, learnt"}


@pytest.mark.parametrize("rule", RULES)
def test_settings_are_the_arguments_and_misfits_are_refused(rule: str) -> None:
    config = MEMORIES[rule].Config(size=SIZE)
    assert config.rule == rule
    memory = memory_of(rule)
    with pytest.raises(UsageError, match=str(SIZE)):
        memory(torch.zeros(2, 3, SIZE + 1), torch.zeros(2, SIZE + 1))
    with pytest.raises(UsageError, match=str(SIZE)):
        memory.write(memory.start(2), torch.zeros(2, SIZE + 1))
    assert all(hasattr(config, part.name) for part in fields(config))


def test_a_rule_of_the_users_needs_four_methods() -> None:
    """The mean of all codes, whatever is asked: no matrix, no contents, the default whole-sequence call."""

    @dataclass(frozen=True)
    class MeanConfig(MemoryConfig):
        rule: str = "mean"

    class Mean(Memory):
        Config = MeanConfig

        def __init__(self, size: int) -> None:
            super().__init__()
            self.size = size

        def start(self, batch: int, *, device: Any = None, dtype: Any = None) -> Tensor:
            return torch.zeros(batch, 0, self.size, device=device, dtype=dtype)

        def write(self, state: Tensor, code: Tensor) -> Tensor:
            return torch.cat([state, code[:, None]], 1)

        def recall(self, state: Tensor, query: Tensor) -> Tensor:
            return state.mean(1)

        def norm(self, state: Tensor) -> Tensor:
            return state.mean(1).norm(dim=-1)

    codes = drawn(6, 2, 3, 4)
    found = Mean(4)(codes, codes[:, :2])
    torch.testing.assert_close(found.recalls[:, 1, 2], codes.mean(1))
    assert Mean(4).matrix(found.state) is None and Mean(4).contents(codes) is None


@pytest.mark.parametrize("rule", RULES)
def test_wrong_calls_are_refused_with_what_was_given_and_wanted(rule: str) -> None:
    memory, codes, query = memory_of(rule), drawn(6, 2, 3, SIZE), drawn(7, 2, SIZE)
    state = memory.start(2, dtype=torch.float64)
    wrong = {
        "[2, 9]": [(memory, (query, query)), (memory.write, (memory.start(3), query))],
        "[3, 9]": [(memory, (codes, drawn(8, 3, SIZE))), (memory.recall, (state, drawn(8, 3, SIZE)))],
        "[9]": [(memory, (codes, query[0])), (memory.write, (state, query[0]))],
        "float32": [(memory, (codes, query.float()))],
        "int64": [(memory, (codes.long(), query)), (memory.recall, (state, query.long()))],
        "meta": [(memory, (codes, query.to("meta"))), (memory.write, (state, query.to("meta")))],
        "NoneType": [(memory, (None, query)), (memory.write, (state, None))],
        "no state": [(memory.write, (None, query)), (memory.recall, (None, query))],
        "-1": [(memory.start, (-1,))],
        "'2'": [(memory.start, ("2",))],
    }
    with unchecked():
        for told, calls in wrong.items():
            for call, given in calls:
                with pytest.raises(UsageError) as error:
                    call(*given)
                assert told in str(error.value) and "\n" not in str(error.value)
