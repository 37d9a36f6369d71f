"""`stawm ship`.

They are kept as float16, with a card, and their SHA-256 in a manifest. Before anything is written, the weights are
measured on the run's held-out pictures as trained and as float16; if a score moves by more than rounding does, they
are refused. A run that is in the ledger (`stawm record`) has its test scores on the card too.

Without --home they go into the package, so this is for those who make a release; --home weights is for weights that
stay outside the wheel.

Examples:
  stawm ship runs/mnist-5k-sketchpad-seed0 mnist-5k-sketchpad
  stawm ship runs/mnist-draw-6-seed0 mnist-draw-6 --home weights --replace
  stawm ship --cards --home weights
"""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from stawm.cli.options import DataDir, Ledger, flag
from stawm.errors import UsageError


def ship(
    run: Annotated[str | None, Positional, flag("a run folder or a folder of weights", "RUN")] = None,
    name: Annotated[str | None, Positional, flag("the name that the weights are to be found by", "NAME")] = None,
    *,
    cards: Annotated[bool, arg(help="only write the cards of all weights anew")] = False,
    home: Annotated[Path | None, flag("the folder of weights to add them to", "DIR", "(the package's)")] = None,
    full: Annotated[bool, arg(help="keep float32")] = False,
    replace: Annotated[bool, arg(help="let them take the place of weights of that name")] = False,
    note: Annotated[str, flag("a sentence or two for the card")] = "",
    ledger: Ledger = Path("results"),
    data_dir: DataDir = None,
) -> None:
    """Put the weights of a run where they are found by name."""
    from stawm.ledger.ship import ship as ship_weights
    from stawm.ledger.ship import write_card
    from stawm.ledger.table import means_of, told_means
    from stawm.store.weights import package_home, read_manifest

    place = home or package_home()
    if cards:
        if not (known := read_manifest(place)):
            raise UsageError(
                f"there are no weights in {place} (no manifest.json); give --home with a folder of weights"
            )
        for one in known:
            print(write_card(place, one, ledger))
        return
    if run is None or name is None:
        raise UsageError("ship needs RUN and NAME: what to ship, and the name it is to be found by")
    options = {"data_dir": data_dir, "full": full, "replace": replace, "note": note}
    shipped = ship_weights(run, name, place, ledger=ledger, **options)
    for what, found in shipped.measured:
        print(f"{what}: {told_means(means_of([found.scores]))} on {found.count:,} {found.split} pictures")
    print(f"{shipped.folder} ({shipped.size / 1e6:.1f} MB)")
