"""`stawm look`.

Pictures are PNG, JPEG, WebP or BMP, of any size, in colour or grey; a model of digits gets each cropped, scaled and
centred as MNIST's are, light on dark. The report is one HTML file that needs no network: where the model looked,
what it saw and drew, what it believed after each glimpse. Without IMAGES it looks at twelve of the digits that come
with the package.

--until ends a look early. "I don't recognise this" is said of whole looks only.

Examples:
  stawm look
  stawm look my-digits photo.jpg --out report.html
  stawm look photo.jpg --weights runs/mnist-sketchpad-seed0 --memory
  stawm look my-digits --until 0.99
  stawm look my-digits --json | jq -r '[.name, .prediction] | @tsv'
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from stawm.cli.options import Device, Engine, Images, Json, flag
from stawm.errors import DataError, UsageError
from stawm.files import check_apart

if TYPE_CHECKING:
    from rich.progress import Progress

    from stawm.look.answer import Look
    from stawm.look.engine import Kind
    from stawm.look.looker import Looker
    from stawm.look.stream import Source

REPORT = Path("look.html")
TITLE = "What the model saw"
NOTHING = "nothing to see"
MODEL = flag("the model: weights by name, a folder or a run", "NAME_OR_PATH", aliases=["--model"])
Weights = Annotated[str | None, MODEL]
LONG_TABLE, SHORT_TABLE = 40, 20
"""A table of more rows than the first is shortened to the second."""


def look(
    images: Images = (),
    *,
    weights: Weights = None,
    out: Annotated[Path | None, flag("the report", "FILE", f"({REPORT}; with --json none)")] = None,
    memory: Annotated[bool, arg(help="show also what the memory held after each glimpse")] = False,
    until: Annotated[float | None, flag("look no further once a class is believed so much", "BELIEF")] = None,
    most: Annotated[int, arg(metavar="N", help="pictures in the report, the first N")] = 200,
    batch_size: Annotated[int, arg(metavar="N", help="pictures looked at together")] = 64,
    device: Device = "auto",
    engine: Engine = "torch",
    json: Json = False,
) -> int:
    """Show pictures to a trained model: what it saw, believed and drew, as a table and a report."""
    for option, number in (("--most", most), ("--batch-size", batch_size)):
        if number < 1:
            raise UsageError(f"{option} takes at least 1, not {number}")

    from stawm.look.answer import to_json
    from stawm.look.stream import pictures_in
    from stawm.page.report import open_report

    pictures = pictures_in(list(images)) if images else _examples()
    file = out or (None if json else REPORT)
    if file is not None:
        check_apart(file, (source for _, source in pictures if isinstance(source, Path)))
    looker = _looker(weights, device, engine)
    told = _Told()
    with _bar() as bar, ExitStack() as stack:
        report = None
        for seen in _looks(looker, pictures, bar, told, batch_size=batch_size, memory=memory, until=until):
            payload = to_json(seen) if json or told.count <= most else {}
            if file is not None and told.count <= most:
                report = report or stack.enter_context(open_report(file, title=TITLE, model=looker.name))
                report.add(payload)
            if json:
                print(dumps(payload, allow_nan=False))
    if not json:
        _print_table(told, looker)
        some = f" (the first {most:,} of {told.count:,} pictures; --most changes that)"
        print(f"the report is {file}{some if told.count > most else ''}")
    return DataError.exit_code if told.broken else 0


@dataclass
class _Told:
    """What is told of the looks so far: rows of the table, how often each class was seen, what could not be read."""

    count: int = 0
    rows: list[tuple[str, ...]] = field(default_factory=list)
    predictions: Counter[str | None] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def _looks(
    looker: "Looker", pictures: "Sequence[tuple[str, Source]]", bar: "Progress", told: _Told, **options: Any
) -> "Iterator[Look]":
    """A look at each picture, entered in `told`.

    What cannot be read is told, a line each, as soon as something could; if nothing can, one line says it all.
    """
    from stawm.look.stream import look_at

    lines: list[str] = []

    def hear(failure: DataError) -> None:
        lines.append(f"stawm: {failure}")
        told.broken.append(str(failure))

    def tell() -> None:
        while lines:
            bar.console.print(lines.pop(0), markup=False, highlight=False, soft_wrap=True)

    counted = bar.track(pictures, total=len(pictures), description="looking")
    for seen in look_at(looker, counted, broken=hear, **options):
        tell()
        told.count += 1
        told.predictions[seen.prediction] += 1
        if told.count <= LONG_TABLE:
            told.rows.append(_row(seen, looker.classifies))
        yield seen
    if not told.count:
        count, first = len(told.broken), told.broken[0]
        raise DataError(first if count == 1 else f"none of the {count:,} pictures can be read; the first: {first}")
    tell()


def _print_table(told: _Told, looker: "Looker") -> None:
    from rich.console import Console
    from rich.table import Column, Table

    console, shortened = Console(), told.count > LONG_TABLE
    heads = ("picture", *(("it is", "sure", "after each glimpse") if looker.classifies else ()), "notes")
    columns = (Column(head, justify="right" if head == "sure" else "left", overflow="fold") for head in heads)
    table = Table(*columns, box=None, pad_edge=False, header_style="dim")
    for row in told.rows[: SHORT_TABLE if shortened else None]:
        table.add_row(*map(_plain, row))
    console.print(table)
    if shortened:
        print(f"… and {told.count - SHORT_TABLE:,} more: --json prints all")
        named = {name: name for name in looker.classes} | ({None: NOTHING} if looker.classifies else {})
        counts = [f"{words}: {told.predictions[name]:,}" for name, words in named.items() if told.predictions[name]]
        if counts:
            line = f"{told.count:,} pictures by class: {', '.join(counts)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _row(seen: "Look", classifies: bool) -> tuple[str, ...]:
    notes = "; ".join([*seen.lines(), *seen.notes])
    if not classifies:
        return seen.name, notes
    sure = "" if seen.confidence is None else f"{100 * seen.confidence:.0f} %"
    return seen.name, seen.prediction or "–", sure, _path(seen.believed()), notes


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


def _looker(weights: str | None, device: str, engine: "Kind") -> "Looker":
    from stawm.look.engine import open_engine
    from stawm.look.looker import Looker, preferred
    from stawm.store.device import usable
    from stawm.store.weights import load_trained

    if engine != "torch" and device not in ("auto", "cpu"):
        raise UsageError(f"--engine {engine} computes on the CPU, not on {device}; leave one of them out")
    name = weights or preferred()
    trained = load_trained(name)
    trained.model.to(usable(device if engine == "torch" else "cpu"))
    runs = open_engine(trained, engine, lambda line: print(line, file=sys.stderr))
    return Looker(trained, Path(name).resolve().name or name, runs)


def _bar() -> "Progress":
    """A bar on stderr that is there only while somebody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
