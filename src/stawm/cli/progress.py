"""A run as a person watches it: a bar and a line an epoch on a terminal, plain lines elsewhere, JSON for scripts."""

import json
import sys
import time
from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from stawm.cli import first_process
from stawm.training.journal import Record, Step

PLAIN_SECONDS = 30.0


def watch(records: Iterable[Record], reporter: "Reporter") -> None:
    """Drive a run to its end, telling each epoch as it comes."""
    with reporter:
        for record in records:
            reporter.epoch(record)


class Reporter:
    """Says nothing: the base of the others, and what every process but the first uses."""

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, *trouble: object) -> None: ...

    def step(self, step: Step) -> None:
        """A training step was done."""

    def epoch(self, record: Record) -> None:
        """An epoch was done."""


class JsonReporter(Reporter):
    """One JSON line an epoch on stdout, nothing else there."""

    def epoch(self, record: Record) -> None:
        """Print the record; warnings are a field of it."""
        print(json.dumps(record.to_dict()), flush=True)


class PlainReporter(Reporter):
    """A line an epoch, and one now and then between, for logs."""

    def __init__(self, every: float = PLAIN_SECONDS) -> None:
        """Within an epoch, at most one line in `every` seconds."""
        self.every, self.spoke, self.epochs = every, time.monotonic(), 0

    def step(self, step: Step) -> None:
        """Print how far the epoch is, if nothing was said for a while."""
        self.epochs = step.epochs
        if time.monotonic() - self.spoke >= self.every:
            self._say(f"epoch {step.epoch}/{step.epochs}, step {step.step}/{step.steps}: {step_line(step)}")

    def epoch(self, record: Record) -> None:
        """Print the epoch's line and its warnings."""
        self._say(epoch_line(record, self.epochs))
        for warning in record.warnings:
            self._say(f"warning: {warning}")

    def _say(self, line: str) -> None:
        print(line, flush=True)
        self.spoke = time.monotonic()


class BarReporter(Reporter):
    """A progress bar with loss, error, images a second and time left; above it a line for each epoch."""

    def __init__(self) -> None:
        """A bar that appears with the first step."""
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        self.epochs = 0

    def step(self, step: Step) -> None:
        """Move the bar."""
        if self.bar is None:
            self.bar = _bar(Console())
            self.task = self.bar.add_task("", total=step.epochs * step.steps, told="", head="")
            self.bar.start()
        assert self.task is not None
        self.epochs = step.epochs
        self.bar.update(
            self.task,
            completed=(step.epoch - 1) * step.steps + step.step,
            head=f"epoch {step.epoch}/{step.epochs}",
            told=step_line(step),
        )

    def epoch(self, record: Record) -> None:
        """Print the epoch's line above the bar, its warnings in yellow."""
        console = self.bar.console if self.bar else Console()
        console.print(epoch_line(record, self.epochs), highlight=False, markup=False, soft_wrap=True)
        for warning in record.warnings:
            console.print(f"[yellow]warning:[/yellow] {escape(warning)}", highlight=False, soft_wrap=True)

    def __exit__(self, *trouble: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def reporter_for(as_json: bool) -> Reporter:
    """The reporter that suits this process and its output."""
    if not first_process():
        return Reporter()
    if as_json:
        return JsonReporter()
    return BarReporter() if sys.stdout.isatty() else PlainReporter()


def step_line(step: Step) -> str:
    """The moment in words: loss, error, speed, time left."""
    error = "" if step.error is None else f"error {percent(step.error)}, "
    return f"loss {step.loss:.4f}, {error}{step.images_per_second:,.0f} images/s, {duration(step.seconds_left)} left"


def epoch_line(record: Record, epochs: int) -> str:
    """The epoch in words: loss in training, error on held-out images, learning rate, time."""
    of = f"/{epochs}" if epochs else ""
    parts = [f"loss {record.train['loss']:.4f}"]
    if "error" in record.train:
        parts.append(f"training error {percent(record.train['error'])}")
    if record.error is not None:
        parts.append(f"{record.held_out.get('split', 'held-out')} error {percent(record.error)}")
    parts.append(f"rate {record.learning_rate:.1e}")
    seconds = record.timing.get("seconds")
    if seconds is not None:
        parts.append(duration(seconds))
    return f"epoch {record.epoch}{of}: {', '.join(parts)}"


def percent(share: float) -> str:
    """0.0041 as 0.41 %."""
    return f"{100 * share:.2f} %"


def duration(seconds: float) -> str:
    """Seconds as 42 s, 3 min 05 s or 2 h 07 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.fields[head]}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[told]}"),
        console=console,
        transient=True,
    )
