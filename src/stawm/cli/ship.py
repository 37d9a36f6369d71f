"""`stawm ship`."""

from pathlib import Path

from stawm.cli.parser import Parser

ABOUT = """\
Put the weights of a run where they are found by name: as float16, with a card and their SHA-256 in a manifest.

Before anything is written, the weights are measured on the run's held-out pictures as trained and as float16; if a
score moves by more than rounding does, they are refused. A run that is in the ledger (`stawm record`) has its test
scores on the card too. Without --home they go into the package, so this is for those who make a release; --home weights
is for weights that stay outside the wheel."""

EXAMPLES = """\
  stawm ship runs/mnist-5k-sketchpad-seed0 mnist-5k-sketchpad
  stawm ship runs/mnist-draw-6-seed0 mnist-draw-6 --home weights --replace
  stawm ship --cards --home weights"""


def run(arguments: list[str]) -> int:
    """Ship as `arguments` say and tell where the weights are."""
    parser = Parser("ship", ABOUT, EXAMPLES)
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run folder or a folder of weights")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the name that the weights are to be found by")
    parser.add_argument("--cards", action="store_true", help="only write the cards of all weights anew")
    parser.add_argument("--home", type=Path, metavar="DIR", help="the folder of weights to add them to (the package's)")
    parser.add_argument("--full", action="store_true", help="keep float32")
    parser.add_argument("--replace", action="store_true", help="let them take the place of weights of that name")
    parser.add_argument("--note", default="", help="a sentence or two for the card")
    parser.add_argument("--ledger", type=Path, default=Path("results"), metavar="DIR", help="its folder (results)")
    parser.takes_data_dir()
    given = parser.parse_args(arguments)

    from stawm.ledger.rows import means_of, told_means
    from stawm.ledger.ship import ship, write_card
    from stawm.store.weights import package_home, read_manifest

    home = given.home or package_home()
    if given.cards:
        for name in read_manifest(home):
            print(write_card(home, name, given.ledger))
        return 0
    if given.name is None:
        parser.error("give RUN and NAME")
    options = {"data_dir": given.data_dir, "full": given.full, "replace": given.replace, "note": given.note}
    shipped = ship(given.run, given.name, home, ledger=given.ledger, **options)
    for row in shipped.measured:
        scores = told_means(means_of([row.scores]))
        print(f"{row.what}: {scores} on {row.count:,} {row.split} pictures")
    print(f"{shipped.folder} ({shipped.size / 1e6:.1f} MB)")
    return 0
