"""Counts and times of a server, in Prometheus' text format; a few lines, so no library is needed for them."""

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
Labels = tuple[tuple[str, str], ...]


@dataclass
class Histogram:
    """How often a value was at most each bound."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: Labels) -> Iterable[str]:
        """The cumulative buckets, the sum and the count."""
        below = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            below += count
            yield f"{name}_bucket{_shown((*labels, ('le', str(bound))))} {below}"
        yield f"{name}_sum{_shown(labels)} {self.total:.6f}"
        yield f"{name}_count{_shown(labels)} {below}"


class Metrics:
    """What a process has done since it started; touched by its event loop alone, so nothing is locked."""

    def __init__(self, workers: int = 1) -> None:
        # Workers count on their own, and each scrape reaches one of them: the label keeps their series apart.
        self._own: Labels = (("process", str(os.getpid())),) if workers > 1 else ()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._batches: dict[str, Histogram] = {}
        self._pictures: Counter[str] = Counter()

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count one request; `path` is one of the server's own, never the client's text."""
        self._requests[path, status] += 1
        self._seconds.setdefault(path, Histogram(SECONDS)).observe(seconds)

    def looked(self, model: str, pictures: int, batch: int) -> None:
        """Count the pictures of one request, and the size of the batch they were in."""
        self._pictures[model] += pictures
        self._batches.setdefault(model, Histogram(BATCHES)).observe(batch)

    def text(self, waiting: Mapping[str, int]) -> str:
        """All of it, with how many pictures wait for each model just now."""
        lines: list[str] = []

        def tell(name: str, kind: str, about: str, values: Iterable[str]) -> None:
            lines.extend([f"# HELP {name} {about}", f"# TYPE {name} {kind}", *values])

        def one(name: str, labels: Labels, value: int) -> str:
            return f"{name}{_shown((*self._own, *labels))} {value}"

        def all_of(name: str, label: str, histograms: Mapping[str, Histogram]) -> Iterable[str]:
            for value, histogram in sorted(histograms.items()):
                yield from histogram.lines(name, (*self._own, (label, value)))

        name = "stawm_requests_total"
        counted = sorted(self._requests.items())
        values = [one(name, (("path", path), ("status", str(code))), count) for (path, code), count in counted]
        tell(name, "counter", "Requests answered.", values)
        name = "stawm_request_seconds"
        tell(name, "histogram", "Time from a request's head to its answer.", all_of(name, "path", self._seconds))
        name = "stawm_batch_pictures"
        about = "Pictures in the batch that a request's pictures were looked at in."
        tell(name, "histogram", about, all_of(name, "model", self._batches))
        name = "stawm_queue_pictures"
        values = [one(name, (("model", model),), count) for model, count in waiting.items()]
        tell(name, "gauge", "Pictures that wait for a model.", values)
        name = "stawm_pictures_total"
        values = [one(name, (("model", model),), count) for model, count in sorted(self._pictures.items())]
        tell(name, "counter", "Pictures looked at.", values)
        return "\n".join(lines) + "\n"


def _shown(labels: Labels) -> str:
    escaped = [(name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")) for name, value in labels]
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}" if labels else ""
