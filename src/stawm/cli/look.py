"""`stawm look`.

Pictures are PNG, JPEG, WebP or BMP, of any size, in colour or grey; a model of digits gets each cropped, scaled and
centred as MNIST's are, light on dark. The report is one HTML file that needs no network: where the model looked,
what it saw and drew, what it believed after each glimpse. Without IMAGES it looks at twelve of the digits that come
with the package.

Examples:
  stawm look
  stawm look my-digits photo.jpg --out report.html
  stawm look photo.jpg --weights runs/mnist-sketchpad-seed0 --memory
  stawm look my-digits --json | jq -r '[.name, .prediction] | @tsv'
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from stawm.cli.options import Device, Images, Json
from stawm.errors import DataError, UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from stawm.look.answer import Look
    from stawm.look.looker import Looker
    from stawm.look.stream import Source

REPORT = Path("look.html")
TITLE = "What the model saw"
EXAMPLE_DIGITS = 12
LONG_TABLE, SHORT_TABLE = 40, 20
"""A table of more rows than the first is shortened to the second."""


def look(
    images: Images = (),
    *,
    weights: Annotated[str | None, arg(metavar="NAME_OR_PATH", help_behavior_hint="")] = None,
    out: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint=f"({REPORT}; with --json none)")] = None,
    memory: bool = False,
    most: Annotated[int, arg(metavar="N")] = 200,
    batch_size: Annotated[int, arg(metavar="N")] = 64,
    device: Device = "auto",
    json: Json = False,
) -> int:
    """Show pictures to a trained model: what it saw, believed and drew, as a table and a report.

    Args:
        weights: the model: weights by name, a folder or a run
        out: the report
        memory: show also what the memory held after each glimpse
        most: pictures in the report, the first N
        batch_size: pictures looked at together
    """
    for option, number in (("--most", most), ("--batch-size", batch_size)):
        if number < 1:
            raise UsageError(f"{option} takes at least 1, not {number}")

    from stawm.look.stream import pictures_in

    pictures = pictures_in(list(images)) if images else _examples()
    looker, file = _looker(weights, device), out or (None if json else REPORT)
    shown = _Shown(file, most, json)
    told, broken = _look_at(looker, pictures, shown, batch_size=batch_size, memory=memory)
    if not json:
        told.print(looker)
        some = f" (the first {most:,} of {told.count:,} pictures; --most changes that)"
        print(f"the report is {file}{some if told.count > most else ''}")
    return DataError.exit_code if broken.count else 0


@dataclass(frozen=True)
class _Shown:
    """Where looks are shown while they come: in a report of the first so-many, as lines of JSON, or both."""

    report: Path | None
    most: int
    json: bool


def _look_at(
    looker: "Looker", pictures: "Sequence[tuple[str, Source]]", shown: _Shown, *, batch_size: int, memory: bool
) -> "tuple[_Told, _Broken]":
    """What is to be told of the looks at all pictures, each shown as soon as it is there; none at all is an error."""
    from stawm.look.answer import to_json
    from stawm.look.stream import look_at
    from stawm.page.report import open_report

    bar, broken, told = _bar(), _Broken(), _Told()
    with bar, ExitStack() as stack:
        report = None
        counted = bar.track(pictures, total=len(pictures), description="looking")
        for seen in look_at(looker, counted, batch_size=batch_size, memory=memory, broken=broken.hear):
            broken.tell(bar.console)
            payload = None
            if shown.report is not None and told.count < shown.most:
                payload = to_json(seen)
                report = report or stack.enter_context(open_report(shown.report, title=TITLE, model=looker.name))
                report.add(payload)
            if shown.json:
                print(dumps(payload or to_json(seen), allow_nan=False))
            told.add(seen)
    if not told.count:
        raise broken.all_of_them()
    broken.tell(bar.console)
    return told, broken


class _Broken:
    """Pictures that could not be read, told as soon as one could: if none can, one line says it all."""

    def __init__(self) -> None:
        self.count = 0
        self.waiting: list[str] = []

    def hear(self, failure: DataError) -> None:
        """Remember a failure."""
        self.count += 1
        self.waiting.append(str(failure))

    def tell(self, console: "Console") -> None:
        """Print what was heard, a line each."""
        for line in self.waiting:
            console.print(f"stawm: {line}", markup=False, highlight=False, soft_wrap=True)
        self.waiting.clear()

    def all_of_them(self) -> DataError:
        """The one line for the case that nothing could be read."""
        if self.count == 1:
            return DataError(self.waiting[0])
        return DataError(f"none of the {self.count:,} pictures can be read; the first: {self.waiting[0]}")


class _Told:
    """What the table says of the looks so far: all of a few, the first of many, and how often each class was seen."""

    def __init__(self) -> None:
        self.count = 0
        self.rows: list[tuple[str, ...]] = []
        self.predictions: Counter[str] = Counter()

    def add(self, seen: "Look") -> None:
        """Count a look; its row is kept while the table may still need it."""
        self.count += 1
        if seen.prediction is not None:
            self.predictions[seen.prediction] += 1
        if self.count <= LONG_TABLE:
            self.rows.append(_row(seen))

    def print(self, looker: "Looker") -> None:
        """Print the table; a long one is shortened, and says so."""
        from rich.console import Console
        from rich.table import Table

        console = Console()
        table = Table(box=None, pad_edge=False, header_style="dim")
        answers = (("it is", "left"), ("sure", "right"), ("after each glimpse", "left"))
        heads = (("picture", "left"), *(answers if looker.classifies else ()), ("notes", "left"))
        for head, justify in heads:
            table.add_column(head, justify="right" if justify == "right" else "left", overflow="fold")
        shortened = self.count > LONG_TABLE
        for row in self.rows[: SHORT_TABLE if shortened else None]:
            table.add_row(*map(_plain, row))
        console.print(table)
        if shortened:
            print(f"… and {self.count - SHORT_TABLE:,} more: --json prints all")
        if shortened and self.predictions:
            counts = (f"{name}: {self.predictions[name]:,}" for name in looker.classes if self.predictions[name])
            console.print(
                f"{self.count:,} pictures by class: {', '.join(counts)}", markup=False, highlight=False, soft_wrap=True
            )


def _row(seen: "Look") -> tuple[str, ...]:
    notes = "; ".join([*seen.lines(), *seen.notes])
    if seen.prediction is None or seen.confidence is None:
        return seen.name, notes
    return seen.name, seen.prediction, f"{100 * seen.confidence:.0f} %", _path(seen.believed()), notes


def _path(believed: "Iterable[tuple[str, float]]") -> str:
    """What was believed after each glimpse, and how much in per cent: 5 31 → 3 64 88 97."""
    parts: list[str] = []
    before = None
    for name, share in believed:
        change = "" if name == before else f"{'→ ' if parts else ''}{name} "
        parts.append(f"{change}{100 * share:.0f}")
        before = name
    return " ".join(parts)


def _plain(text: str) -> str:
    """The text as rich prints it literally; names of files may hold anything."""
    from rich.markup import escape

    return escape("".join(letter if letter.isprintable() else "?" for letter in text))


def _examples() -> "list[tuple[str, Source]]":
    from stawm.look.examples import example_digits

    return [(example.name, example.png.png()) for example in example_digits()]


def _looker(weights: str | None, device: str) -> "Looker":
    from stawm.look.looker import Looker, preferred
    from stawm.store.device import usable
    from stawm.store.weights import load_trained

    name = weights or preferred()
    looker = Looker(load_trained(name), Path(name).resolve().name or name)
    looker.model.to(usable(device))
    return looker


def _bar() -> "Progress":
    """A bar on stderr that is there only while somebody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
