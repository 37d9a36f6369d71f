"""Counts and times of a server process, for Prometheus."""

import os
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """What a process has done since it started."""

    def __init__(self, workers: int = 1) -> None:
        # Workers count on their own, and each scrape reaches one of them: the label keeps their series apart.
        self._own = {"process": str(os.getpid())} if workers > 1 else {}
        self._all = CollectorRegistry()
        by_path, by_model = [*self._own, "path"], [*self._own, "model"]
        told = "Time from a request's head to its answer."
        self._requests = Counter("stawm_requests", "Requests answered.", [*by_path, "status"], registry=self._all)
        self._seconds = Histogram("stawm_request_seconds", told, by_path, buckets=SECONDS, registry=self._all)
        told = "Pictures in the batch that a request's pictures were looked at in."
        self._batches = Histogram("stawm_batch_pictures", told, by_model, buckets=BATCHES, registry=self._all)
        self._queue = Gauge("stawm_queue_pictures", "Pictures that wait for a model.", by_model, registry=self._all)
        self._pictures = Counter("stawm_pictures", "Pictures looked at.", by_model, registry=self._all)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count one request; `path` is one of the server's own, never the client's text."""
        self._requests.labels(**self._own, path=path, status=str(status)).inc()
        self._seconds.labels(**self._own, path=path).observe(seconds)

    def looked(self, model: str, pictures: int, batch: int) -> None:
        """Count the pictures of one request, and the size of the batch they were in."""
        self._pictures.labels(**self._own, model=model).inc(pictures)
        self._batches.labels(**self._own, model=model).observe(batch)

    def watch(self, model: str, waiting: Callable[[], int]) -> None:
        """Tell how many pictures wait for a model whenever that is asked."""
        self._queue.labels(**self._own, model=model).set_function(waiting)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._all)
