"""`stawm table`.

The numbers of runs are those measured after the last epoch on the split that is named. Runs that differ only in
their seed are one row, mean ± standard deviation; a run that is not finished has its own.

Without runs, print the ledger (`stawm record`) in Markdown: its results on the full test sets, with how far the
epochs were cut, or its trials. --into puts the tables between the marks <!-- results --> and <!-- /results --> (or
trials) of a file, such as the README.

Examples:
  stawm table
  stawm table --into README.md
  stawm table --kind trial --into docs/results.md
  stawm table runs/*
  stawm table runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --format markdown
"""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from stawm.cli.options import Ledger
from stawm.errors import CheckpointError, UsageError


def table(
    runs: Annotated[tuple[Path, ...], Positional, arg(metavar="RUN", help_behavior_hint="(none: the ledger)")] = (),
    *,
    format: Annotated[Literal["text", "markdown", "json"] | None, arg(help_behavior_hint="(text)")] = None,
    kind: Literal["result", "trial"] = "result",
    into: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None,
    ledger: Ledger = Path("results"),
) -> None:
    """Make a table of runs or of the ledger, the paper's numbers beside ours.

    Args:
        runs: run folders
        format: how to print runs
        kind: what of the ledger
        into: put the ledger's table into this file
    """
    if runs and (into or kind != "result"):
        raise UsageError("--into and --kind are for the ledger, and runs were given; record them, or leave these out")
    if not runs and format:
        raise UsageError("--format is for a table of runs, and none was given; the ledger is printed in Markdown")
    _table_of_runs(runs, format or "text") if runs else _table_of_ledger(ledger, kind, into)


def _table_of_ledger(ledger: Path, kind: Literal["result", "trial"], into: Path | None) -> None:
    from stawm.ledger.entries import read_ledger
    from stawm.ledger.results import block, put_into

    if not ledger.is_dir():
        raise UsageError(f"there is no ledger in {ledger}; `stawm record RUN` begins one, --ledger names another")
    entries = read_ledger(ledger)
    if into:
        put_into(into, kind, entries, ledger)
        print(into)
    else:
        print(block(kind, entries, ledger, Path()).strip())


def _table_of_runs(given: tuple[Path, ...], format: Literal["text", "markdown", "json"]) -> None:
    from stawm.experiments.presets import PRESETS
    from stawm.ledger.table import Run, rows_of, table
    from stawm.store.checkpoint import EXPERIMENT, experiment_of
    from stawm.training.journal import read_metrics

    folders = {folder.resolve(): folder for folder in given}.values()
    for folder in folders:
        if not (folder / EXPERIMENT).exists():
            raise CheckpointError(f"there is no run in {folder} (no {EXPERIMENT}); give the folders of runs")
    runs = [Run(str(folder), experiment_of(folder), read_metrics(folder)) for folder in folders]
    print(table(rows_of(runs, list(PRESETS)), format))
