"""The pages that are made of presets and ledger: docs/presets.md, and tables between the marks of other texts."""

import os
import re
from pathlib import Path

from stawm.errors import UsageError
from stawm.experiments.describe import describe
from stawm.files import write_text
from stawm.ledger.entries import read_ledger
from stawm.ledger.results import controls, results, summary, trials

README = "README.md"


def pages(docs: Path, ledger: Path) -> dict[Path, str]:
    """What each page shall hold: those in `docs`, and the README beside that folder."""
    entries, seen = read_ledger(ledger), Path(os.path.relpath(ledger, docs))
    tables = {
        docs.parent / README: {"results": summary(entries)},
        docs / "results.md": {"results": results(entries, seen), "controls": controls(entries)},
        docs / "trials.md": {"trials": trials(entries)},
    }
    filled = {path: _filled(path, found) for path, found in tables.items()}
    return {docs / "presets.md": describe(), **filled}


def write_pages(docs: Path, ledger: Path) -> list[Path]:
    """Write all pages anew, and return where they are."""
    made = pages(docs, ledger)
    for path, text in made.items():
        write_text(path, text)
    return list(made)


def _filled(path: Path, tables: dict[str, str]) -> str:
    """The text of a file with each table between its marks, `<!-- NAME -->` and `<!-- /NAME -->`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as failure:
        raise UsageError(f"{path} cannot be read ({failure}); name the docs folder of a clone") from failure
    for name, table in tables.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        found = re.fullmatch(rf"(.*{start})(.*)({end}.*)", text, re.DOTALL)
        if found is None or text.count(start) != 1 or text.count(end) != 1:
            raise UsageError(f"{path} must have one {start} and, after it, one {end}; the table goes between them")
        text = f"{found[1]}\n\n{table}\n\n{found[3]}"
    return text
