"""Requests that nobody should send, from a seed: pictures, JSON, heads and paths, broken in many ways."""

import io
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from tiny_server import look_body, url

NAMES = (
    "three.png",
    "",
    "../../../../etc/passwd",
    "C:\\Windows\\win.ini",
    "a\0b\r\nX: y",
    "\u202e\u2066gnp",
    "\ud83d\ude00",
    "\ud800",
    "x" * 5000,
    "%s%n{0}{{}}",
    "'; drop table pictures; --",
    "<img src=x onerror=alert(1)>",
    "${jndi:ldap://example.invalid/a}",
    "🖼️" * 60,
)
FORMATS = (("L", "PNG"), ("RGB", "JPEG"), ("RGBA", "WEBP"), ("RGB", "BMP"), ("RGBA", "PNG"), ("P", "PNG"), ("1", "PNG"))
ODD_FORMATS = (
    ("I;16", "PNG"),
    ("LA", "PNG"),
    ("CMYK", "JPEG"),
    ("L", "GIF"),
    ("RGB", "TIFF"),
    ("RGB", "PCX"),
    ("RGB", "PPM"),
)
PATHS = (
    "/", "/static/page.js", "/static/../../app.py", "/static/%2e%2e/%2e%2e/etc/passwd", "/api/look/", "/api/models",
    "/api/health", "/api/metrics?name[]=1", "/api/docs", "/static/docs.js", "/static/docs/../x",
    "/api/openapi.json?x=%00", "//etc/passwd", "/\ud800", "/ü", "/" + "a" * 9000, "/api/examples;x=1", "*", "", "http://evil.example/",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", "")
TYPES = (
    "application/json", "application/json; charset=utf-16", "APPLICATION/JSON;;;", "multipart/form-data", "text/plain",
    "multipart/form-data; boundary=", 'multipart/form-data; boundary="', "multipart/form-data; boundary=xyz",
    "multipart/mixed; boundary=xyz", "application/x-www-form-urlencoded", "image/png", "", ";", "\xff\xfe", "a" * 9000,
)  # fmt: skip
HEADERS = (
    ("content-length", ("-1", "99999999999999999999", "0", "1e9", "ten", "5, 5", "\xb2", "")),
    ("content-encoding", ("gzip", "identity", "br, gzip", "\xff")),
    ("transfer-encoding", ("chunked", "gzip", "x")),
    ("host", ("evil.example", "localhost:99999999", "[::1", "localhost, evil", "\xff", "a@localhost", "127.0.0.1:80")),
    ("origin", ("null", "http://evil.example", "http://localhost", "\xff", "http://[")),
    ("if-none-match", ("*", '"', "W/", ",,,", "x" * 9000)),
    ("accept", ("image/png", "\xff", "*/*;q=NaN")),
    ("accept-encoding", ("gzip", "*;q=0")),
    ("range", ("bytes=0-1", "bytes=-", "x")),
    ("expect", ("100-continue", "nothing")),
    ("x-forwarded-for", ("1.2.3.4, \xff", "')--")),
    ("cookie", ("a=" + "b" * 9000, "=;=", "\x00")),
)


@dataclass(frozen=True)
class Fuzzed:
    """A request, its body in the parts in which it comes."""

    family: str
    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    parts: tuple[bytes, ...]


def fuzzed(seed: int, count: int) -> Iterator[Fuzzed]:
    """So many requests, the same for the same seed."""
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        family = chance.choice(list(FAMILIES))
        method, path, headers, body = FAMILIES[family](chance)
        raw = {"host": "localhost", **headers}
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in raw.items()]
        yield Fuzzed(family, method, path, pairs, tuple(_in_parts(body, chance)))


Request = tuple[str, str, dict[str, str], bytes]


def _post(body: bytes, kind: str = "application/json", **headers: str) -> Request:
    return "POST", "/api/look", {"content-type": kind, **headers}, body


def picture(chance: random.Random, formats: Any = FORMATS) -> bytes:
    """A whole picture of some format and size, with something on it."""
    mode, kind = chance.choice(formats)
    width, height = chance.choice([(1, 1), (28, 28), (5, 64), (200, 3), (64, 64), (1, 700)])
    levels = np.frombuffer(chance.randbytes(width * height), np.uint8).reshape(height, width)
    if chance.random() < 0.5:
        levels = np.full((height, width), chance.choice([0, 127, 255]), np.uint8)
    drawn = Image.fromarray(levels).convert("L")
    drawn = drawn.convert("I").convert("I;16") if mode == "I;16" else drawn.convert("RGB").convert(mode)
    written = io.BytesIO()
    drawn.save(written, kind)
    return written.getvalue()


def _broken(content: bytes, chance: random.Random) -> bytes:
    """Bytes that were cut, changed, doubled or mixed."""
    how, changed = chance.randrange(5), bytearray(content)
    if how == 0:
        return content[: chance.randrange(len(content) + 1)]
    if how == 1:
        for _ in range(chance.choice([1, 3, 30])):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    at = chance.randrange(len(content))
    if how == 2:
        return content[:at] + chance.randbytes(chance.choice([1, 100, 5000])) + content[at:]
    if how == 3:
        return content[:at] + content[chance.randrange(len(content)) :]
    return content * chance.choice([2, 10])


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def bomb(chance: random.Random) -> bytes:
    """A PNG whose head claims a size that its data, or this machine, does not have."""
    sizes = [0, 1, 60_000, 200_000, 2**31 - 1, 2**32 - 1]
    depth, colour = chance.choice([(8, 0), (8, 2), (16, 6), (1, 3), (7, 9)])
    head = struct.pack(">IIBBBBB", chance.choice(sizes), chance.choice(sizes), depth, colour, 0, 0, chance.randrange(3))
    data = zlib.compress(b"\0" * chance.choice([0, 10, 1_000_000]))
    extra = _chunk(b"zTXt", b"a\0\0" + zlib.compress(b"x" * 5_000_000)) if chance.random() < 0.3 else b""
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + extra + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    plain: list[Any] = [
        None, True, False, 0, -1, 1e308, float("nan"), float("inf"), 10**400, "", "x", "\ud800", "\0", url(b"x"),
        chance.choice(NAMES), "data:image/png;base64,", "data:,", "A" * 4000, "=" * 7,
    ]  # fmt: skip
    if depth < 4 and chance.random() < 0.4:
        if chance.random() < 0.5:
            return [value(chance, depth + 1) for _ in range(chance.randrange(6))]
        names = ("images", "names", "model", "memory", "__proto__", "\ud800", "")
        return {chance.choice(names): value(chance, depth + 1) for _ in range(chance.randrange(5))}
    return chance.choice(plain)


def _random_bytes(chance: random.Random) -> Request:
    return _post(chance.randbytes(chance.choice([0, 1, 50, 5000])), chance.choice(TYPES))


def _whole(chance: random.Random) -> Request:
    pictures = [
        picture(chance, FORMATS if chance.random() < 0.7 else ODD_FORMATS) for _ in range(chance.choice([1, 1, 3]))
    ]
    more: dict[str, Any] = {"names": [chance.choice(NAMES) for _ in pictures]} if chance.random() < 0.5 else {}
    if chance.random() < 0.3:
        more["model"] = chance.choice(["digits", "sketchpad", "sketchpad\0", "../digits", ""])
    return _post(look_body(*pictures, **more, memory=chance.random() < 0.2))


def _broken_picture(chance: random.Random) -> Request:
    content = picture(chance, (*FORMATS, *ODD_FORMATS))
    return _post(look_body(_broken(content, chance), names=[chance.choice(NAMES)]))


def _bomb(chance: random.Random) -> Request:
    return _post(look_body(bomb(chance)))


def _broken_json(chance: random.Random) -> Request:
    return _post(_broken(look_body(picture(chance), names=["a"], memory=True), chance))


def _wrong_json(chance: random.Random) -> Request:
    body = {"images": [url(picture(chance))], chance.choice(["images", "names", "model", "memory", "x"]): value(chance)}
    return _post(json.dumps(body if chance.random() < 0.8 else value(chance)).encode())


def _deep_json(chance: random.Random) -> Request:
    depth = chance.choice([10, 500, 3000, 100_000])
    opening, closing = chance.choice([("[", "]"), ('{"images":', "}"), ('{"images":[', "]}")])
    return _post((opening * depth + "1" + (closing * depth if chance.random() < 0.5 else "")).encode())


def _odd_heads(chance: random.Random) -> Request:
    headers = {name: chance.choice(values) for name, values in chance.sample(HEADERS, chance.randrange(1, 4))}
    if chance.random() < 0.5:
        method, path, given, body = _post(look_body(picture(chance)))
        return method, path, given | headers, body
    return "GET", chance.choice(PATHS), headers, b""


def _odd_paths(chance: random.Random) -> Request:
    body = chance.choice([b"", b"{}", look_body(picture(chance))])
    path = (
        chance.choice(PATHS)
        if chance.random() < 0.7
        else "/" + "".join(map(chr, chance.choices(range(1, 0x2FFF), k=9)))
    )
    return chance.choice(METHODS), path, {"content-type": chance.choice(TYPES)}, body


def _too_long(chance: random.Random) -> Request:
    padding = chance.choice([b" ", b"[", b"A", b"\0"]) * chance.choice([300_000, 600_000])
    return _post(chance.choice([padding, look_body(picture(chance)) + padding]))


FAMILIES: dict[str, Callable[[random.Random], Request]] = {
    "random bytes": _random_bytes,
    "whole pictures": _whole,
    "broken pictures": _broken_picture,
    "bombs": _bomb,
    "broken JSON": _broken_json,
    "wrong JSON": _wrong_json,
    "deep JSON": _deep_json,
    "odd heads": _odd_heads,
    "odd paths": _odd_paths,
    "too long": _too_long,
}


def _in_parts(body: bytes, chance: random.Random) -> Iterator[bytes]:
    """A body as one part, or in several, empty ones too."""
    if chance.random() < 0.6 or not body:
        yield body
        return
    cuts = sorted(chance.randrange(len(body) + 1) for _ in range(chance.randrange(1, 6)))
    for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
        yield body[start:end]
