"""`stawm record`."""

from pathlib import Path

from stawm.cli.parser import Parser
from stawm.errors import UsageError

ABOUT = """\
Enter a run in the ledger, as results/NAME.json: its settings, seed, code, machine, time, pictures and scores.

A result is measured here, once, on the full test set; what was recorded is never written over. A trial, made to choose
a recipe, keeps what its last epoch found on its validation split (--data.hold-out), and the test set is not touched; it
goes into results/trials. `stawm table` makes tables of the ledger."""

EXAMPLES = """\
  stawm record runs/mnist-5k-sketchpad-seed0 --chosen-by "no trials"
  stawm record runs/mnist-classify-8-fast-seed0 --controls --note "two seeds in one night"
  stawm record runs/warmer --kind trial --note "twice the rate: collapsed in its fourth epoch\""""


def run(arguments: list[str]) -> int:
    """Record the run in `arguments` and say where its entry is."""
    parser = Parser("record", ABOUT, EXAMPLES)
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("--name", help="the name of the entry (that of the run folder)")
    parser.add_argument("--kind", default="result", choices=("result", "trial"), help="what it is (result)")
    parser.add_argument("--chosen-by", default="", metavar="WHAT", help="what chose the recipe (the run's validation)")
    parser.add_argument("--note", default="", help="what else is to be known")
    parser.add_argument("--controls", action="store_true", help="also measure with memories and queries exchanged")
    parser.add_argument("--commit", default="", help="the code, for a run that did not write it down")
    parser.add_argument("--threads", type=int, help="the threads, for a run that did not write them down")
    parser.add_argument("--source", default="", metavar="NAME", help="the entry it started from, if that run is gone")
    parser.add_argument("--ledger", type=Path, default=Path("results"), metavar="DIR", help="its folder (results)")
    parser.takes_data_dir()
    parser.takes_device()
    given = parser.parse_args(arguments)
    name = given.name or given.run.resolve().name
    if not all(letter.isalnum() or letter in "-_." for letter in name) or name.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of an entry; use letters, digits and dashes")

    from stawm.ledger.entries import check_free, read_ledger, write_entry
    from stawm.ledger.record import Told, entry_of, usable
    from stawm.ledger.rows import means_of, told_means

    check_free(given.ledger, name)
    told = Told(name, given.kind, given.chosen_by, given.note, given.commit, given.threads, given.source)
    options = {"data_dir": given.data_dir, "device": usable(given.device), "with_controls": given.controls}
    entry = entry_of(given.run, told, read_ledger(given.ledger), **options)
    path = write_entry(given.ledger, entry)
    scores = told_means(means_of([entry.measured.scores]))
    print(f"{entry.experiment.name}: {scores} on {entry.measured.count:,} {entry.measured.split} pictures")
    print(path)
    return 0
