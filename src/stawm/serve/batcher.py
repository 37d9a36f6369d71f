"""Work that arrives together is done together: one thread takes all that waits, up to a batch, and waits for no more.

Nothing is delayed to fill a batch. While one batch is computed others gather, so batches grow with the load by
themselves, and a request on its own is answered at once.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Full(Exception):
    """More waits than may wait."""


class Closed(Exception):
    """Work that came after the end."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """The results of one order, and how many items went through together with it, its own included."""

    results: list[Result]
    batch: int


@dataclass(frozen=True)
class _Order(Generic[Item, Result]):
    items: Sequence[Item]
    kind: Hashable
    future: "Future[Done[Result]]" = field(default_factory=Future)


class Batcher(Generic[Item, Result]):
    """A thread of its own that does `work(items, kind)` on the items of several orders of one kind at a time."""

    def __init__(
        self, work: Callable[[list[Item], Hashable], Sequence[Result]], *, batch: int, queue: int, name: str = "batcher"
    ) -> None:
        """At most `batch` items at a time (an order is never split), and at most `queue` items waiting."""
        self._work, self._batch, self._queue = work, batch, queue
        self._orders: deque[_Order[Item, Result]] = deque()
        self._waiting, self._closed = 0, False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many items wait; those in work are not counted."""
        return self._waiting

    def submit(self, items: Sequence[Item], kind: Hashable = None) -> "Future[Done[Result]]":
        """The future of this order; `Full` if it may not wait. Cancelling the future takes the order back."""
        order: _Order[Item, Result] = _Order(items, kind)
        with self._changed:
            if self._closed:
                raise Closed
            if self._waiting + len(items) > self._queue:
                raise Full
            self._orders.append(order)
            self._waiting += len(items)
            self._changed.notify()
        return order.future

    def close(self) -> None:
        """Take no more orders, finish those that wait, and return when all is done."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while orders := self._next():
            self._do(orders)

    def _next(self) -> list[_Order[Item, Result]]:
        """The first order and all of its kind that fit into a batch with it; none when there will be no more."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._orders or self._closed)
                taken: list[_Order[Item, Result]] = []
                left: deque[_Order[Item, Result]] = deque()
                count = 0
                for order in self._orders:
                    if taken and (order.kind != taken[0].kind or count + len(order.items) > self._batch):
                        left.append(order)
                        continue
                    self._waiting -= len(order.items)
                    if order.future.set_running_or_notify_cancel():
                        taken.append(order)
                        count += len(order.items)
                self._orders = left
                if taken or self._closed:
                    return taken

    def _do(self, orders: list[_Order[Item, Result]]) -> None:
        items = [item for order in orders for item in order.items]
        try:
            results = list(self._work(items, orders[0].kind))
            if len(results) != len(items):
                raise RuntimeError(f"{len(items)} items gave {len(results)} results")
        except BaseException as failure:
            if len(orders) > 1:  # What one of them did wrong is not to be laid at the door of the others.
                for order in orders:
                    self._do([order])
            else:
                orders[0].future.set_exception(failure)
            return
        rest = iter(results)
        for order in orders:
            order.future.set_result(Done(list(islice(rest, len(order.items))), len(items)))
