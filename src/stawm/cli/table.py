"""`stawm table`.

The numbers of runs are those measured after the last epoch on the split that is named. Runs that differ only in
their seed are one row, mean ± standard deviation; a run that is not finished has its own.

Without runs, print the ledger (`stawm record`) in Markdown: its results on the full test sets, or its trials. --docs
writes all pages that are made of presets and ledger: presets, results and trials in DIR, and the README beside it.

Examples:
  stawm table
  stawm table --kind trial
  stawm table --docs docs
  stawm table runs/*
  stawm table runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --format markdown
"""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from stawm.cli.options import Ledger, flag
from stawm.errors import UsageError


def table(
    runs: Annotated[tuple[Path, ...], Positional, flag("run folders", "RUN", "(none: the ledger)")] = (),
    *,
    format: Annotated[Literal["text", "markdown", "json"] | None, flag("how to print runs", hint="(text)")] = None,
    kind: Annotated[Literal["result", "trial"], arg(help="what of the ledger")] = "result",
    docs: Annotated[Path | None, flag("write the pages in this folder of a clone", "DIR")] = None,
    ledger: Ledger = Path("results"),
) -> None:
    """Make a table of runs or of the ledger, the paper's numbers beside ours."""
    if runs and (docs or kind != "result"):
        raise UsageError("--docs and --kind are for the ledger, and runs were given; record them, or leave these out")
    if not runs and format:
        raise UsageError("--format is for a table of runs, and none was given; the ledger is printed in Markdown")
    if runs:
        from stawm.ledger import table as tables

        print(tables.table(tables.rows_of(tables.read_runs(runs)), format or "text"))
    else:
        print(_of_ledger(ledger, kind, docs))


def _of_ledger(ledger: Path, kind: Literal["result", "trial"], docs: Path | None) -> str:
    from stawm.ledger.entries import read_ledger
    from stawm.ledger.results import results, trials, write_pages

    if not ledger.is_dir():
        raise UsageError(f"there is no ledger in {ledger}; `stawm record RUN` begins one, --ledger names another")
    if docs:
        return "\n".join(map(str, write_pages(docs, ledger)))
    entries = read_ledger(ledger)
    return trials(entries) if kind == "trial" else results(entries, ledger)
