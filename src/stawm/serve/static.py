"""The files of the page, read once: a request names one of a fixed list, and never a path."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from stawm.serve.refusal import Refusal

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class File:
    """A file with its type and a tag that changes when it does."""

    content: bytes
    type: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or 304 to a client that has it already."""
        headers = {"etag": self.tag, "cache-control": "no-cache"}
        known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
        if self.tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.type, headers=headers)


class Files:
    """The files of a folder of the package, by their names."""

    def __init__(self, *place: str) -> None:
        self._files = dict(_read(files("stawm").joinpath(*place), ""))

    def answer(self, name: str, request: Request) -> Response:
        """The file of that name."""
        if name not in self._files:
            raise Refusal(404, "there is no such file")
        return self._files[name].answer(request)

    def __contains__(self, name: str) -> bool:
        return name in self._files


def _read(folder: Traversable, prefix: str) -> Iterator[tuple[str, File]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and not entry.name.startswith(("_", ".")):
            yield from _read(entry, f"{prefix}{entry.name}/")
        suffix = f".{entry.name.rpartition('.')[2]}"
        if entry.is_file() and suffix in TYPES and not entry.name.startswith("."):
            content = entry.read_bytes()
            yield f"{prefix}{entry.name}", File(content, TYPES[suffix], f'"{hashlib.sha256(content).hexdigest()[:20]}"')
