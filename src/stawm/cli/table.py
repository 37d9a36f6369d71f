"""`stawm table`."""

from argparse import Namespace
from pathlib import Path

from stawm.cli.parser import Parser
from stawm.errors import CheckpointError, UsageError

ABOUT = """\
Print a table of runs: the paper's number beside ours, as measured after the last epoch on the split that is named.
Runs that differ only in their seed are one row, mean ± standard deviation; a run that is not finished has its own.

Without runs, print the ledger (`stawm record`) in Markdown: its results on the full test sets, with how far the epochs
were cut, or its trials. --into puts the tables between the marks <!-- results --> and <!-- /results --> (or trials) of
a file, such as the README."""

EXAMPLES = """\
  stawm table
  stawm table --into README.md
  stawm table --kind trial --into docs/results.md
  stawm table runs/*
  stawm table runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --format markdown"""


def run(arguments: list[str]) -> int:
    """Print the table that `arguments` ask for."""
    parser = Parser("table", ABOUT, EXAMPLES)
    parser.add_argument("runs", metavar="RUN", nargs="*", type=Path, help="a run folder (none: the ledger)")
    parser.add_argument("--format", choices=("text", "markdown", "json"), help="how to print runs (text)")
    parser.add_argument("--kind", default="result", choices=("result", "trial"), help="what of the ledger (result)")
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the ledger's table into this file")
    parser.add_argument("--ledger", type=Path, default=Path("results"), metavar="DIR", help="its folder (results)")
    given = parser.parse_args(arguments)
    if given.runs and (given.into or given.kind != "result"):
        raise UsageError("--into and --kind are for the ledger, and runs were given; record them, or leave these out")
    if not given.runs and given.format:
        raise UsageError("--format is for a table of runs, and none was given; the ledger is printed in Markdown")
    _table_of_runs(given) if given.runs else _table_of_ledger(given)
    return 0


def _table_of_ledger(given: Namespace) -> None:
    from stawm.ledger.entries import read_ledger
    from stawm.ledger.results import block, put_into

    if not given.ledger.is_dir():
        raise UsageError(f"there is no ledger in {given.ledger}; `stawm record RUN` begins one, --ledger names another")
    entries = read_ledger(given.ledger)
    if given.into:
        put_into(given.into, given.kind, entries, given.ledger)
        print(given.into)
    else:
        print(block(given.kind, entries, given.ledger, Path()).strip())


def _table_of_runs(given: Namespace) -> None:
    from stawm.experiments.presets import PRESETS
    from stawm.ledger.table import Run, rows_of, table
    from stawm.store.checkpoint import EXPERIMENT, experiment_of
    from stawm.training.journal import read_metrics

    folders = {folder.resolve(): folder for folder in given.runs}.values()
    for folder in folders:
        if not (folder / EXPERIMENT).exists():
            raise CheckpointError(f"there is no run in {folder} (no {EXPERIMENT}); give the folders of runs")
    runs = [Run(str(folder), experiment_of(folder), read_metrics(folder)) for folder in folders]
    print(table(rows_of(runs, list(PRESETS)), given.format or "text"))
