"""A report of many looks: one HTML file with a player for each picture that opens from disk, without a network."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from html import escape
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from stawm.files import whole_file
from stawm.page.bundle import bundle

_PLACE = re.compile(r"\{(policy|title|model|style|script)\}")


class ReportWriter:
    """A report in the making: looks go to disk as they are added, and the file takes its name when all are there.

    Each look is a JSON block of its own, read by the page when its picture comes into sight.
    """

    def __init__(self, path: Path, *, title: str, model: str) -> None:
        self.path, self.title, self.model = path, title, model
        self.count = 0
        self._closing = ExitStack()
        self._file: TextIO | None = None

    def __enter__(self) -> "ReportWriter":
        start, self._end = _page(self.title, self.model)
        with ExitStack() as opening:
            partial = opening.enter_context(whole_file(self.path))
            # A name that is not Unicode (Linux allows any bytes) must not stop a report.
            self._file = opening.enter_context(partial.open("w", encoding="utf-8", errors="replace", newline="\n"))
            self._file.write(start)
            self._closing = opening.pop_all()
        return self

    def add(self, payload: Mapping[str, Any]) -> None:
        """Write one look, as `to_json` gives it."""
        if self._file is None:
            raise RuntimeError("this report is not open; add looks inside its `with` block")
        text = json.dumps(payload, separators=(",", ":"), allow_nan=False)
        told = {"name": payload["name"], "prediction": payload["prediction"], "confidence": payload["confidence"]}
        tags = "".join(f' data-{key}="{escape(str(value))}"' for key, value in told.items() if value is not None)
        # No "<" of the payload is left, so nothing in it can end the block or open another.
        text = text.replace("<", "\\u003c")
        self._file.write(f'<script type="application/json" class="look"{tags}>{text}</script>\n')
        self.count += 1

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None or failure is not None:
            self._closing.__exit__(kind, failure, trace)
            return
        with self._closing:
            self._file.write(self._end)


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
