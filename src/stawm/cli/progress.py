"""A run as a person watches it: a bar and a line an epoch on a terminal, plain lines elsewhere, JSON for scripts."""

import json
import re
import sys
import time
from collections.abc import Iterable, Mapping
from textwrap import shorten

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from stawm.cli import first_process
from stawm.training.journal import Record, Step

PLAIN_SECONDS = 30.0
REMINDER = 70
"""Letters of a warning that is counted at the end."""


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

    def stored(self, done: int, count: int) -> None:
        """A frozen model has looked at some more of the pictures, to be learnt from."""

    def epoch(self, record: Record) -> None:
        """An epoch was done."""


class JsonReporter(Reporter):
    """One JSON line an epoch on stdout, nothing else there."""

    def epoch(self, record: Record) -> None:
        """Print the record; warnings are a field of it."""
        print(json.dumps(record.to_dict()), flush=True)


class PlainReporter(Reporter):
    """A line an epoch, and one now and then; what holds for many epochs is said once, and counted at the end."""

    def __init__(self, every: float = PLAIN_SECONDS) -> None:
        """Within an epoch, at most one line in `every` seconds."""
        self.epochs, self.split, self.warnings = 0, "", Warnings()
        self.every, self.spoke = every, time.monotonic()

    def step(self, step: Step) -> None:
        """Print how far the epoch is, if nothing was said for a while."""
        self.epochs = step.epochs
        if time.monotonic() - self.spoke >= self.every:
            self.say(f"epoch {step.epoch}/{step.epochs}, step {step.step}/{step.steps}: {step_line(step)}")

    def stored(self, done: int, count: int) -> None:
        """Say how many, if nothing was said for a while."""
        if time.monotonic() - self.spoke >= self.every:
            self.say(f"the frozen model has looked at {done:,} of {count:,} pictures; what it makes of them is stored")
            self.spoke = time.monotonic()

    def epoch(self, record: Record) -> None:
        """Say on what is measured, if that is new, the epoch's line, and the warnings that are new."""
        split = record.held_out.get("split", "held-out")
        if split != self.split:
            count = record.held_out.get("count")
            self.say(f"measured on {f'{count:,} ' if count else ''}{split} pictures after each epoch")
            self.split = split
        self.say(epoch_line(record, self.epochs))
        for warning in self.warnings.new(record.warnings):
            self.say(warning, warns=True)

    def __exit__(self, *trouble: object) -> None:
        for line in self.warnings.counted():
            self.say(line, warns=True)

    def say(self, line: str, *, warns: bool = False) -> None:
        """Print a line, a warning marked as such."""
        print(f"warning: {line}" if warns else line, flush=True)
        self.spoke = time.monotonic()


class BarReporter(PlainReporter):
    """For terminals: a progress bar with loss, scores, images a second and time left, below the epochs' lines."""

    def __init__(self) -> None:
        """A bar that appears with the first step."""
        super().__init__()
        self.console = Console()
        columns = TextColumn("{task.fields[head]}"), BarColumn(bar_width=24), TextColumn("{task.fields[told]}")
        self.bar = Progress(*columns, console=self.console, transient=True)
        self.task: TaskID | None = None

    def step(self, step: Step) -> None:
        """Move the bar."""
        if self.task is None:
            self.task = self.bar.add_task("", total=step.epochs * step.steps, told="", head="")
            self.bar.start()
        self.epochs = step.epochs
        done, head = (step.epoch - 1) * step.steps + step.step, f"epoch {step.epoch}/{step.epochs}"
        self.bar.update(self.task, completed=done, head=head, told=step_line(step))

    def say(self, line: str, *, warns: bool = False) -> None:
        """Print a line above the bar, a warning in yellow."""
        if warns:
            self.console.print("warning: ", style="yellow", end="")
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def __exit__(self, *trouble: object) -> None:
        self.bar.stop()
        super().__exit__(*trouble)


class Warnings:
    """The warnings of a run so far. Two that differ only in their numbers are one warning."""

    def __init__(self) -> None:
        self.now: set[str] = set()
        self.held: dict[str, list[str]] = {}
        self.epochs = 0

    def new(self, warnings: Iterable[str]) -> list[str]:
        """Count an epoch's warnings; those come back that were not there the epoch before."""
        by_words = {" ".join(re.findall(r"[^\W\d]+", warning)): warning for warning in warnings}
        for words, warning in by_words.items():
            self.held.setdefault(words, []).append(warning)
        fresh = [warning for words, warning in by_words.items() if words not in self.now]
        self.now = set(by_words)
        self.epochs += 1
        return fresh

    def counted(self) -> list[str]:
        """A line for each warning that held in more than one epoch."""
        return [
            f"in {len(said)} of {self.epochs} epochs: {shorten(said[-1], REMINDER, placeholder=' …')}"
            for said in self.held.values()
            if len(said) > 1
        ]


def reporter_for(as_json: bool) -> Reporter:
    """The reporter that suits this process and its output."""
    if not first_process():
        return Reporter()
    if as_json:
        return JsonReporter()
    return BarReporter() if sys.stdout.isatty() else PlainReporter()


def step_line(step: Step) -> str:
    """The moment in words: loss, scores, speed, time left."""
    speed, left = f"{step.images_per_second:,.0f} images/s", f"{duration(step.seconds_left)} left"
    return ", ".join([f"loss {step.loss:.4f}", *told(step.scores), speed, left])


def epoch_line(record: Record, epochs: int) -> str:
    """The epoch in words: loss and scores in training, scores on held-out images, learning rate, time."""
    parts = [f"loss {record.train['loss']:.4f}", *(f"training {score}" for score in told(record.train))]
    parts += [*told(record.held_out["scores"]), f"rate {record.learning_rate:.1e}"]
    if "seconds" in record.timing:
        parts.append(duration(record.timing["seconds"]))
    return f"epoch {record.epoch}{f'/{epochs}' if epochs else ''}: {', '.join(parts)}"


def told(values: Mapping[str, float]) -> list[str]:
    """The scores among these numbers, as people read them."""
    from stawm.model.heads.head import known_scores

    return [f"{score.title} {score.told(values[name])}" for name, score in known_scores().items() if name in values]


def duration(seconds: float) -> str:
    """Seconds as 42 s, 3 min 05 s or 2 h 07 min."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
