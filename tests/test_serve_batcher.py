import threading
import time
from collections.abc import Hashable

import pytest

from stawm.serve.batcher import Batcher, Closed, Full

SOON = 5.0


class Work:
    """Squares numbers, remembers each batch, and can be held up."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[int], Hashable]] = []
        self.go, self.begun = threading.Event(), threading.Semaphore(0)
        self.go.set()

    def __call__(self, items: list[int], kind: Hashable) -> list[int]:
        self.batches.append((items, kind))
        self.begun.release()
        assert self.go.wait(SOON)
        if -1 in items:
            raise ArithmeticError("minus one")
        return [item * item for item in items]

    def hold_up(self, batcher: Batcher[int, int]) -> None:
        """Let the thread begin a batch of 0 and stay in it."""
        self.go.clear()
        batcher.submit([0])
        assert self.begun.acquire(timeout=SOON)


@pytest.fixture
def work() -> Work:
    return Work()


def test_one_order_is_done_at_once_and_alone(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=8, queue=8)
    done = batcher.submit([3, 4]).result(SOON)
    assert (done.results, done.batch) == ([9, 16], 2)
    assert work.batches == [([3, 4], None)]
    batcher.close()


def test_orders_that_come_together_are_done_together_and_each_gets_its_own(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=8, queue=64)
    work.hold_up(batcher)
    futures = [batcher.submit([number, number + 10]) for number in range(1, 4)]
    assert batcher.waiting == 6
    work.go.set()
    assert [future.result(SOON).results for future in futures] == [[1, 121], [4, 144], [9, 169]]
    assert [future.result().batch for future in futures] == [6, 6, 6]
    assert [items for items, _ in work.batches] == [[0], [1, 11, 2, 12, 3, 13]]
    assert batcher.waiting == 0
    batcher.close()


def test_a_batch_is_never_larger_than_asked_for_unless_one_order_is(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=3, queue=64)
    work.hold_up(batcher)
    futures = [batcher.submit(list(range(size))) for size in (2, 2, 1, 5, 1)]
    work.go.set()
    assert [len(future.result(SOON).results) for future in futures] == [2, 2, 1, 5, 1]
    assert [len(items) for items, _ in work.batches] == [1, 3, 3, 5]
    batcher.close()


def test_orders_of_different_kinds_are_not_mixed_and_the_first_is_not_overtaken_for_ever(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=8, queue=64)
    work.hold_up(batcher)
    for number, kind in enumerate(["a", "b", "a", "b", "a"]):
        batcher.submit([number], kind)
    work.go.set()
    batcher.close()
    assert work.batches == [([0], None), ([0, 2, 4], "a"), ([1, 3], "b")]


def test_more_than_may_wait_is_refused_and_taken_again_later(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=2, queue=3)
    work.hold_up(batcher)
    kept = batcher.submit([1, 2])
    with pytest.raises(Full):
        batcher.submit([3, 4])
    also = batcher.submit([5])
    work.go.set()
    assert [kept.result(SOON).results, also.result(SOON).results] == [[1, 4], [25]]
    assert batcher.submit([1, 2, 3]).result(SOON).results == [1, 4, 9]
    batcher.close()


def test_an_order_that_is_taken_back_is_not_done(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=8, queue=8)
    work.hold_up(batcher)
    dropped, kept = batcher.submit([6]), batcher.submit([7])
    assert dropped.cancel()
    work.go.set()
    assert kept.result(SOON).results == [49]
    assert [items for items, _ in work.batches] == [[0], [7]]
    assert batcher.waiting == 0
    batcher.close()


def test_a_failure_is_that_of_its_own_order_only_and_the_thread_goes_on(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=8, queue=8)
    work.hold_up(batcher)
    good, bad, other = batcher.submit([2]), batcher.submit([-1]), batcher.submit([3])
    work.go.set()
    assert (good.result(SOON).results, other.result(SOON).results) == ([4], [9])
    with pytest.raises(ArithmeticError, match="minus one"):
        bad.result(SOON)
    assert batcher.submit([5]).result(SOON).results == [25]
    batcher.close()


def test_work_that_loses_results_fails(work: Work):
    batcher: Batcher[int, int] = Batcher(lambda items, kind: items[1:], batch=8, queue=8)
    with pytest.raises(RuntimeError, match="2 items gave 1 results"):
        batcher.submit([1, 2]).result(SOON)
    batcher.close()


def test_closing_finishes_what_waits_and_takes_no_more(work: Work):
    batcher: Batcher[int, int] = Batcher(work, batch=1, queue=8)
    work.hold_up(batcher)
    futures = [batcher.submit([number]) for number in range(4)]
    closing = threading.Thread(target=batcher.close)
    closing.start()
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            futures.append(batcher.submit([4]))
        except Full:
            time.sleep(0.01)
        except Closed:
            break
    else:
        pytest.fail("a closed batcher took an order")
    work.go.set()
    closing.join(SOON)
    assert not closing.is_alive()
    assert all(future.done() and future.result().results for future in futures)
