"""The parser of every verb: mistakes are `UsageError`s, help ends with examples."""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from stawm.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser for `stawm VERB` that describes the verb with `about` and `examples`."""

    def __init__(self, verb: str, about: str, examples: str, **options: Any) -> None:
        super().__init__(
            prog=f"stawm {verb}",
            description=about,
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        """Raise the mistake instead of printing the usage and leaving."""
        raise UsageError(f"{message}; see `{self.prog} --help`")

    def takes_data_dir(self) -> None:
        """Add --data-dir."""
        place = "where your data sets are (else $STAWM_DATA, else they are fetched into a cache folder)"
        self.add_argument("--data-dir", type=Path, metavar="DIR", help=place)

    def takes_json(self, what: str) -> None:
        """Add --json."""
        self.add_argument("--json", action="store_true", help=f"print {what} for scripts")

    def takes_device(self) -> None:
        """Add --device."""
        kinds = ("auto", "cpu", "cuda", "mps")
        self.add_argument(
            "--device", default="auto", choices=kinds, help="what to compute on (auto: a GPU if there is one)"
        )
