"""An answer that is no: the status and one sentence."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import JSONResponse, Response

TOLD = 60


@dataclass(frozen=True)
class Problem:
    """Why a request was refused."""

    detail: str
    """One sentence."""


@dataclass
class Refusal(Exception):
    """A request that is not answered, and why, in one sentence."""

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """What is sent: a `Problem`."""
        return JSONResponse({"detail": self.detail}, self.status, dict(self.headers))


def busy(detail: str) -> Refusal:
    """The refusal of a server that has too much to do just now."""
    return Refusal(503, detail, {"retry-after": "1"})


def told(text: str, most: int = TOLD) -> str:
    """What a client wrote, fit to be shown in a sentence: printable, on one line, not long, in quotes."""
    seen = clean(text)
    return f"“{seen[:most]}…”" if len(seen) > most else f"“{seen}”"


def clean(text: str) -> str:
    """A text on one line, without control characters, direction marks, lone surrogates and the like."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(letter for letter in text if letter.isspace() or unicodedata.category(letter)[0] != "C")
    return " ".join(text.split())
