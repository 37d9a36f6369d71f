"""`stawm table`."""

from pathlib import Path

from stawm.cli.parser import Parser
from stawm.errors import CheckpointError

ABOUT = """\
Print a table of runs: the paper's number beside ours, as measured after the last epoch on the split that is named.
Runs that differ only in their seed are one row, mean ± standard deviation; a run that is not finished has its own."""

EXAMPLES = """\
  stawm table runs/*
  stawm table runs/mnist-5k-classify-seed0 runs/mnist-5k-classify-seed1 --format markdown"""


def run(arguments: list[str]) -> int:
    """Print the table of the runs in `arguments`."""
    parser = Parser("table", ABOUT, EXAMPLES)
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="a run folder")
    parser.add_argument("--format", default="text", choices=("text", "markdown", "json"), help="how to print it (text)")
    given = parser.parse_args(arguments)

    from stawm.experiments.presets import PRESETS
    from stawm.show.table import Run, rows_of, table
    from stawm.training.checkpoint import EXPERIMENT, experiment_of
    from stawm.training.records import read_metrics

    folders = {folder.resolve(): folder for folder in given.runs}.values()
    for folder in folders:
        if not (folder / EXPERIMENT).exists():
            raise CheckpointError(f"there is no run in {folder} (no {EXPERIMENT}); give the folders of runs")
    runs = [Run(str(folder), experiment_of(folder), read_metrics(folder)) for folder in folders]
    print(table(rows_of(runs, list(PRESETS)), given.format))
    return 0
