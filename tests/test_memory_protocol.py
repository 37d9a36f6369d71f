"""Every rule of memory keeps the promises of the protocol, whoever wrote it."""

from dataclasses import dataclass, fields
from typing import Any

import pytest
import torch
from torch import Tensor

from stawm.errors import UsageError
from stawm.memory.protocol import MEMORIES, Memory, MemoryConfig, build_memory
from tiny_codes import drawn
from tiny_model import unchecked

RULES = list(MEMORIES)
SIZE = 9


def memory_of(rule: str) -> Memory:
    return build_memory(MEMORIES[rule].Config(size=SIZE)).double()


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
    memory(codes, query).terminal[1].sum().backward()
    assert codes.grad is not None
    assert codes.grad[1].any() and not codes.grad[[0, 2, 3]].any()


@pytest.mark.parametrize("rule", RULES)
def test_what_it_tells_of_itself_agrees(rule: str) -> None:
    memory, codes = memory_of(rule), drawn(5, 2, 4, SIZE)
    state = memory(codes, codes[:, 0]).state
    assert memory.health(state)["memory_norm"].item() == pytest.approx(memory.norm(state).mean().item())
    assert memory.recall(state, codes[:, 0]).max() <= memory.bound
    matrix, held = memory.matrix(state), memory.contents(codes)
    assert matrix is not None and held is not None, "both rules of the package have a matrix"
    torch.testing.assert_close(torch.linalg.matrix_norm(matrix), memory.norm(state))
    made = held.inputs.mT @ (held.strengths[-1][:, None] * held.outputs)
    torch.testing.assert_close(made, matrix)


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
