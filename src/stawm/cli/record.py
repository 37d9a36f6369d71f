"""`stawm record`.

The entry, results/NAME.json, holds its settings, seed, code, machine, time, pictures and scores. A result is
measured here, once; what was recorded is never written over. A trial, made to choose a recipe, keeps what its last
epoch found on its validation split (--data.hold-out), and the test set is not touched; it goes into results/trials.
`stawm table` makes tables of the ledger.

Examples:
  stawm record runs/mnist-5k-sketchpad-seed0 --chosen-by "no trials"
  stawm record runs/mnist-classify-8-fast-seed0 --controls --note "two seeds in one night"
  stawm record runs/warmer --kind trial --note "twice the rate: collapsed in its fourth epoch"
"""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from stawm.cli.options import DataDir, Device, Ledger, flag


def record(
    run: Annotated[Path, Positional, arg(metavar="RUN", help="a run folder")],
    *,
    name: Annotated[str, flag("the name of the entry", hint="(that of the run folder)")] = "",
    kind: Annotated[Literal["result", "trial"], arg(help="what it is")] = "result",
    chosen_by: Annotated[str, flag("what chose the recipe", "WHAT", "(the run's validation)")] = "",
    note: Annotated[str, flag("what else is to be known")] = "",
    controls: Annotated[bool, arg(help="also measure with memories and queries exchanged")] = False,
    commit: Annotated[str, flag("the code, for a run that did not write it down")] = "",
    threads: Annotated[int | None, flag("the threads, for a run that did not write them down", "N")] = None,
    source: Annotated[str, flag("the entry it started from, if that run is gone", "NAME")] = "",
    ledger: Ledger = Path("results"),
    data_dir: DataDir = None,
    device: Device = "auto",
) -> None:
    """Enter a run in the ledger of results, measured on the full test set."""
    from stawm.files import real
    from stawm.ledger.entries import check_free, read_ledger, write_entry
    from stawm.ledger.record import Told, entry_of
    from stawm.ledger.table import means_of, told_means
    from stawm.store.device import usable

    name = name or real(run).name
    check_free(ledger, name)
    told = Told(name, kind, chosen_by, note, commit, threads, source)
    options = {"data_dir": data_dir, "device": usable(device), "with_controls": controls}
    entry = entry_of(run, told, read_ledger(ledger), **options)
    path = write_entry(ledger, entry)
    scores = told_means(means_of([entry.measured.scores]))
    print(f"{entry.experiment.name}: {scores} on {entry.measured.count:,} {entry.measured.split} pictures")
    print(path)
