"""A grid as a person watches it: a live table on a terminal, a plain line for each cell that ends elsewhere."""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stawm.cli import first_process
from stawm.cli.progress import duration
from stawm.compare.outcome import Outcome, counted, outcomes_of
from stawm.compare.plan import Cell, Plan, holds_plan, read_plan
from stawm.compare.run import Ended
from stawm.compare.task import Progress
from stawm.experiments.facts import told_score

ROWS_KEPT = 8
"""Lines of the terminal that are left to other things than cells."""


def watch(ended: Iterable[Ended], reporter: "GridReporter", out: Path, plan: Plan | None) -> None:
    """Drive a grid to its end, telling each cell as it comes."""
    plan = plan or read_plan(out)
    known = outcomes_of(out, plan) if holds_plan(out) else {}
    with reporter:
        reporter.begin(plan, known)
        for one in ended:
            reporter.ended(one)


class GridReporter:
    """Says nothing: the base of the others."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self.outcomes: dict[str, Outcome] = {}

    def __enter__(self) -> "GridReporter":
        return self

    def __exit__(self, *trouble: object) -> None: ...

    def begin(self, plan: Plan, known: dict[str, Outcome]) -> None:
        """A grid begins or goes on."""
        self.cells = {cell.name: cell for cell in plan.cells}
        self.outcomes = {name: known.get(name, Outcome("left")) for name in self.cells}

    def progress(self, cell: Cell, progress: Progress) -> None:
        """A cell is so far."""

    def ended(self, one: Ended) -> None:
        """A cell has ended."""
        self.outcomes[one.cell.name] = one.outcome


class PlainGrid(GridReporter):
    """One line when a cell ends."""

    def begin(self, plan: Plan, known: dict[str, Outcome]) -> None:
        """Say how many cells there are, and how many are done."""
        super().begin(plan, known)
        self.say(self.stand())

    def ended(self, one: Ended) -> None:
        """Say what the cell found, or why it failed."""
        super().ended(one)
        done = counted(list(self.outcomes.values()))
        self.say(f"{done['finished'] + done['failed']}/{len(self.cells)} {one.cell.name}: {told_outcome(one.outcome)}")

    def stand(self) -> str:
        """The counts in words."""
        parts = {state: number for state, number in self.counts().items() if number}
        return f"{len(self.cells)} cells: {', '.join(f'{number} {state}' for state, number in parts.items())}"

    def counts(self) -> dict[str, int]:
        """How many cells stand how."""
        return {**counted(list(self.outcomes.values()))}

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, flush=True)


class LiveGrid(PlainGrid):
    """For terminals: a table of all cells, or of those that run where there are too many, below the lines."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console()
        self.running: dict[str, tuple[Progress, float]] = {}
        self.live = Live(console=self.console, transient=True, refresh_per_second=2, get_renderable=self.table)

    def begin(self, plan: Plan, known: dict[str, Outcome]) -> None:
        """Show the table."""
        super().begin(plan, known)
        self.live.start()

    def progress(self, cell: Cell, progress: Progress) -> None:
        """Note how far a cell is."""
        began = self.running[cell.name][1] if cell.name in self.running else time.monotonic()
        self.running[cell.name] = progress, began

    def ended(self, one: Ended) -> None:
        """Say it above the table."""
        self.running.pop(one.cell.name, None)
        super().ended(one)

    def table(self) -> Group:
        """What is done, running and left."""
        room = self.console.height - ROWS_KEPT
        names = list(self.cells) if len(self.cells) <= room else list(self.running)
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("cell", "stands", "scores"):
            table.add_column(column, no_wrap=True)
        for name in names:
            table.add_row(name, *self._told(name))
        return Group(table, Text(self.stand(), style="dim"))

    def counts(self) -> dict[str, int]:
        """How many cells stand how; those that run count as such."""
        rest = [outcome for name, outcome in self.outcomes.items() if name not in self.running]
        return {"running": len(self.running), **counted(rest)}

    def _told(self, name: str) -> tuple[str, str]:
        if name in self.running:
            progress, began = self.running[name]
            return f"{progress.at}, {duration(time.monotonic() - began)}", told_scores(progress.scores)
        outcome = self.outcomes[name]
        return outcome.state, told_scores(outcome.found.scores) if outcome.found else outcome.why

    def say(self, line: str) -> None:
        """Print a line above the table."""
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def __exit__(self, *trouble: object) -> None:
        self.live.stop()


def reporter_for(as_json: bool) -> GridReporter:
    """The reporter that suits the output."""
    if as_json or not first_process():
        return GridReporter()
    return LiveGrid() if sys.stdout.isatty() else PlainGrid()


def told_outcome(outcome: Outcome) -> str:
    """How a cell ended, in words."""
    if outcome.found is None:
        return f"{outcome.state}: {outcome.why}"
    return f"{told_scores(outcome.found.scores)}, {duration(outcome.found.seconds)}"


def told_scores(scores: dict[str, float]) -> str:
    """Scores as people read them."""
    return ", ".join(told_score(name, value) for name, value in scores.items())
