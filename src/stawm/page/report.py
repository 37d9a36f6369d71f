"""A report of many looks: one HTML file with a player for each picture that opens from disk, without a network."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, TextIO

from stawm.files import whole_file
from stawm.page.bundle import bundle

_PLACE = re.compile(r"\{(policy|title|model|style|script)\}")


class ReportWriter:
    """A report in the making."""

    def __init__(self, file: TextIO) -> None:
        self._file, self.count = file, 0

    def add(self, payload: Mapping[str, Any]) -> None:
        """Write one look, as `to_json` gives it."""
        text = json.dumps(payload, separators=(",", ":"), allow_nan=False)
        told = {name: payload[name] for name in ("name", "found", "prediction", "confidence")}
        tags = "".join(f' data-{key}="{escape(str(value))}"' for key, value in told.items() if value is not None)
        # No "<" of the payload is left, so nothing in it can end the block or open another.
        text = text.replace("<", "\\u003c")
        self._file.write(f'<script type="application/json" class="look"{tags}>{text}</script>\n')
        self.count += 1


@contextmanager
def open_report(path: Path, *, title: str, model: str) -> Iterator[ReportWriter]:
    """The writer of a report: looks go to disk as they are added, and the file takes its name when all are there.

    Each look is a JSON block of its own, read by the page when its picture comes into sight.
    """
    start, end = _page(title, model)
    # A name that is not Unicode (Linux allows any bytes) must not stop a report.
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(start)
        yield ReportWriter(file)
        file.write(end)


def _page(title: str, model: str) -> tuple[str, str]:
    """A report up to its looks, and what follows them."""
    home = files("stawm.page").joinpath("static")
    made = bundle("report.html", lambda name: home.joinpath(name).read_text(encoding="utf-8"))
    values = {
        "policy": f"default-src 'none'; img-src data:; style-src '{_digest(made.style)}'; "
        f"script-src '{_digest(made.script)}'; base-uri 'none'; form-action 'none'",
        "title": escape(title),
        "model": escape(model),
        "style": made.style,
        "script": made.script,
    }
    start, end = (_PLACE.sub(lambda place: values[place[1]], part) for part in made.page.split("{looks}\n"))
    return start, end


def _digest(text: str) -> str:
    """The name by which a Content-Security-Policy allows exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
