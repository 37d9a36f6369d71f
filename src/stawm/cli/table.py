"""`stawm table`."""

from argparse import Namespace
from pathlib import Path

from stawm.cli.parser import Parser
from stawm.errors import UsageError

ABOUT = """\
Print a table of runs: the paper's number beside ours, as measured after the last epoch on the split that is named.
Runs that differ only in their seed are one row, mean ± standard deviation; a run that is not finished has its own.

Without runs, print the ledger (`stawm record`) in Markdown: its results on the full test sets, or its trials. --docs
writes all pages that are made of presets and ledger: presets, results and trials in DIR, and the README beside it."""

EXAMPLES = """\
  stawm table
  stawm table --kind trial
  stawm table --docs docs
  stawm table runs/*
  stawm table runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --format markdown"""


def run(arguments: list[str]) -> int:
    """Print the table that `arguments` ask for."""
    parser = Parser("table", ABOUT, EXAMPLES)
    parser.add_argument("runs", metavar="RUN", nargs="*", type=Path, help="a run folder (none: the ledger)")
    parser.add_argument("--format", choices=("text", "markdown", "json"), help="how to print runs (text)")
    parser.add_argument("--kind", default="result", choices=("result", "trial"), help="what of the ledger (result)")
    parser.add_argument("--docs", type=Path, metavar="DIR", help="write the pages in this folder of a clone")
    parser.add_argument("--ledger", type=Path, default=Path("results"), metavar="DIR", help="its folder (results)")
    given = parser.parse_args(arguments)
    if given.runs and (given.docs or given.kind != "result"):
        raise UsageError("--docs and --kind are for the ledger, and runs were given; record them, or leave these out")
    if not given.runs and given.format:
        raise UsageError("--format is for a table of runs, and none was given; the ledger is printed in Markdown")
    print(_table_of_runs(given) if given.runs else _table_of_ledger(given))
    return 0


def _table_of_ledger(given: Namespace) -> str:
    from stawm.ledger.entries import read_ledger
    from stawm.ledger.pages import write_pages
    from stawm.ledger.results import results, trials

    if not given.ledger.is_dir():
        raise UsageError(f"there is no ledger in {given.ledger}; `stawm record RUN` begins one, --ledger names another")
    if given.docs:
        return "\n".join(map(str, write_pages(given.docs, given.ledger)))
    entries = read_ledger(given.ledger)
    return trials(entries) if given.kind == "trial" else results(entries, given.ledger)


def _table_of_runs(given: Namespace) -> str:
    from stawm.ledger.table import read_runs, rows_of, table

    return table(rows_of(read_runs(given.runs)), given.format or "text")
