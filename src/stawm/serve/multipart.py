"""The parts of a multipart/form-data body (RFC 7578), which is whole and in memory: nothing is spooled to disk."""

import re
from dataclasses import dataclass

from stawm.serve.refusal import Refusal

BROKEN = "the form is not valid multipart/form-data"
MOST_HEADERS = 4096
PARAMETER = re.compile(r';[ \t]*([\w!#$%&\'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))', re.ASCII)
PLAIN = ("binary", "8bit", "7bit")


@dataclass(frozen=True)
class Part:
    """A field of a form: its name, the file's name as the client gave it (else empty), and what it holds."""

    name: str
    filename: str
    content: bytes


def boundary_of(content_type: str) -> bytes:
    """The boundary that a Content-Type names."""
    boundary = _parameters(content_type).get("boundary", "")
    if not (1 <= len(boundary) <= 70 and boundary.isascii()):
        raise Refusal(400, f"{BROKEN}: its Content-Type has no boundary of 1 to 70 characters")
    return boundary.encode()


def parts_of(boundary: bytes, body: bytes, most: int) -> list[Part]:
    """The fields of the form in `body`, at most `most` of them."""
    # The line break before a boundary belongs to it, and the first boundary may stand at the very start.
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, most + 2)[1:]
    parts: list[Part] = []
    for piece in pieces:
        if piece.startswith(b"--"):
            return parts
        if len(parts) == most:
            raise Refusal(413, f"the form has more than {most} fields; send the pictures in parts")
        parts.append(_part(piece))
    raise Refusal(400, f"{BROKEN}: it ends too early")


def _part(piece: bytes) -> Part:
    start = piece.find(b"\r\n\r\n", 0, MOST_HEADERS)
    padding, _, head = piece[: max(start, 0)].partition(b"\r\n")
    if start < 0 or padding.strip(b" \t"):
        raise Refusal(400, f"{BROKEN}: a part has no headers")
    headers: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    disposition = headers.get("content-disposition", "")
    named = _parameters(disposition)
    if disposition.partition(";")[0].strip().lower() != "form-data" or "name" not in named:
        raise Refusal(400, f"{BROKEN}: a part has no name")
    if headers.get("content-transfer-encoding", "binary").lower() not in PLAIN:
        raise Refusal(400, f"{BROKEN}: a part has a transfer encoding")
    return Part(named["name"], named.get("filename", ""), piece[start + 4 :])


def _parameters(header: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, quoted, plain in PARAMETER.findall(header):
        found.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    return found
