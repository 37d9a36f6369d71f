import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from stawm.look.memory_view import (
    ABOVE,
    BELOW,
    MOST_CELLS,
    PALETTE,
    WHITE,
    ZERO,
    MemoryView,
    diverging,
    memory_views,
)
from stawm.memory.delta_rule import DeltaRule
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.memory.state import Read, State


def written(memory: HebbRosenblatt, codes: Tensor) -> list[State]:
    """The states after each write, one by one, with the whole matrix."""
    state, states = memory.start(codes.shape[0]), []
    for code in codes.unbind(1):
        state = memory.write(state, code)
        states.append(state)
    return states


def views_of(memory: HebbRosenblatt, codes: Tensor) -> list[MemoryView]:
    views = memory_views(memory, codes)
    assert views is not None
    return views


def memory_of(size: int, read: Read = "codes") -> HebbRosenblatt:
    return HebbRosenblatt(size, read=read, form="matrix", activation="relu6")


def some_codes(batch: int, count: int, size: int) -> Tensor:
    return F.relu(torch.randn(batch, count, size)) / size**0.5


@pytest.mark.parametrize("read", ["codes", "responses"])
@pytest.mark.parametrize("count", [1, 4, 9])
def test_numbers_are_those_of_the_matrix_itself(read: Read, count: int):
    memory, codes = memory_of(7, read), some_codes(3, count, 7)
    views, states = views_of(memory, codes), written(memory, codes)
    for row, view in enumerate(views):
        assert view.size == 7
        matrices = torch.stack([memory.matrix(state)[row] for state in states])
        scale = view.steps[0].scale
        assert scale == pytest.approx(float(matrices[matrices > 0].quantile(0.98)), rel=1e-4)
        assert {step.scale for step in view.steps} == {scale}
        for step, matrix in zip(view.steps, matrices, strict=True):
            spectrum = torch.linalg.svdvals(matrix)
            assert step.norm == pytest.approx(float(matrix.norm()), rel=1e-4)
            found = torch.tensor(step.singular_values)
            assert torch.allclose(found, spectrum[: len(found)], atol=1e-5)
            assert (spectrum[len(found) :] < 1e-5).all()
        wanted = torch.stack([diverging_place(matrix, scale) for matrix in matrices])
        shown = torch.stack([torch.from_numpy(step.matrix.array).int() for step in view.steps])
        assert (shown - wanted).abs().max() <= 1


def diverging_place(matrix: Tensor, scale: float) -> Tensor:
    return (ZERO + (matrix / scale).clamp(-1, 1) * 127).round().int()


def test_a_large_matrix_is_shown_by_the_means_of_its_blocks():
    memory, codes = memory_of(4 * MOST_CELLS), some_codes(1, 3, 4 * MOST_CELLS)
    view = views_of(memory, codes)[0]
    whole = memory.matrix(written(memory, codes)[-1])[0]
    means = whole.reshape(MOST_CELLS, 4, MOST_CELLS, 4).mean((1, 3))
    assert view.steps[-1].matrix.array.shape == (MOST_CELLS, MOST_CELLS)
    shown = torch.from_numpy(view.steps[-1].matrix.array).int()
    assert (shown - diverging_place(means, view.steps[-1].scale)).abs().max() <= 1


def test_no_more_than_sixteen_singular_values():
    view = views_of(memory_of(40), some_codes(1, 20, 40))[0]
    assert len(view.steps[-1].singular_values) == 16
    assert list(view.steps[-1].singular_values) == sorted(view.steps[-1].singular_values, reverse=True)


@pytest.mark.parametrize("read", ["codes", "responses"])
def test_each_pair_is_asked_by_its_key_and_compared_by_its_value(read: Read):
    memory, codes = memory_of(12, read), some_codes(2, 5, 12)
    views = views_of(memory, codes)
    state, responses = memory.start(2), []
    rates = memory.rates()
    for code in codes.unbind(1):
        gamma = memory.matrix(state) if read == "codes" else memory.matrix(state).mT
        responses.append(F.relu6(torch.einsum("bm,bmn->bn", code, gamma) + float(rates.theta) * code))
        state = memory.write(state, code)
    keys, values = (codes, torch.stack(responses, 1)) if read == "codes" else (torch.stack(responses, 1), codes)
    for row, view in enumerate(views):
        for number, found in enumerate(view.recall):
            recall = memory.recall(state, keys[:, number])[row]
            cosines = F.cosine_similarity(recall[None], values[row])
            assert found.cosine == pytest.approx(float(cosines[number]), abs=1e-5)
            assert found.best == int(cosines.argmax()) + 1


def test_codes_apart_from_each_other_come_back_and_the_same_code_twice_does_too():
    codes = torch.eye(6)[:4][None]
    view = views_of(memory_of(6), codes)[0]
    assert [(recall.best, round(recall.cosine, 5)) for recall in view.recall] == [(1, 1), (2, 1), (3, 1), (4, 1)]
    assert view.similarity == tuple(tuple(row) for row in torch.eye(4).tolist())


def test_a_blank_code_is_like_nothing():
    codes = torch.stack([torch.zeros(5), torch.ones(5)])[None]
    view = views_of(memory_of(5), codes)[0]
    assert view.similarity[0] == (0.0, 0.0)
    assert view.similarity[1] == pytest.approx((0.0, 1.0))
    assert view.steps[0].norm == 0
    assert (view.steps[0].matrix.array == ZERO).all()
    assert view.recall[0].cosine == 0


def test_an_empty_memory_has_no_scale():
    view = views_of(memory_of(5), torch.zeros(1, 2, 5))[0]
    assert {step.scale for step in view.steps} == {0}
    assert all((step.matrix.array == ZERO).all() for step in view.steps)


def test_one_look_does_not_change_with_the_others_beside_it():
    memory, codes = memory_of(9), some_codes(3, 4, 9)
    alone = views_of(memory, codes[1:2])[0]
    together = views_of(memory, codes)[1]
    assert together.steps[0].scale == pytest.approx(alone.steps[0].scale, abs=1e-6)
    assert np.allclose(together.similarity, alone.similarity, atol=1e-6)
    assert np.allclose([step.norm for step in together.steps], [step.norm for step in alone.steps], atol=1e-5)


def test_the_colours_run_from_blue_through_white_to_red():
    assert [tuple(PALETTE[place].tolist()) for place in (1, ZERO, 255)] == [BELOW, WHITE, ABOVE]
    places = diverging(torch.tensor([[[-3.0, -1.0, 0.0, 0.5, 1.0, 9.0]]]), 1.0)
    assert places.tolist() == [[[1, 1, 128, 192, 255, 255]]]


def test_a_memory_that_cannot_tell_what_it_is_made_of_has_no_view():
    class Shy(HebbRosenblatt):
        def contents(self, codes: Tensor) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            return None

    assert memory_views(Shy(4), some_codes(2, 3, 4)) is None


def test_the_delta_rule_has_a_view_too():
    """Its newest write always comes back; W is what its writes added up to."""
    memory, codes = DeltaRule(6), some_codes(2, 3, 6)
    views = memory_views(memory, codes)
    assert views is not None
    state = memory(codes, codes[:, 0]).state
    for row, view in enumerate(views):
        assert view.steps[-1].norm == pytest.approx(float(memory.matrix(state)[row].norm()), rel=1e-4)
        assert view.recall[-1].cosine == pytest.approx(1.0, abs=1e-4)
        assert view.recall[-1].best == 3
