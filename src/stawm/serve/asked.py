"""What a request asks: pictures as bytes, their names, a model; from JSON or a form, or a refusal that says why."""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from stawm.serve.multipart import boundary_of, parts_of
from stawm.serve.refusal import Refusal, clean, told

NAME_LENGTH = 100
FIELDS = ("images", "names", "model", "memory")
TRUE, FALSE = ("true", "1", "on", "yes"), ("false", "0", "off", "no", "")
DATA_URI = re.compile(r"data:[\w.+/-]{0,100}(?:;[\w.+=-]{1,100})*;base64,", re.ASCII | re.IGNORECASE)
SPACE = re.compile(r"[ \t\r\n]+")
KINDS = "application/json with base64 pictures, or multipart/form-data with files named images"


@dataclass(frozen=True)
class Asked:
    """The files to look at, what to call them, with which model (none: the default), and whether memory is wanted."""

    files: tuple[bytes, ...]
    names: tuple[str, ...]
    model: str | None = None
    memory: bool = False


def read_asked(content_type: str, body: bytes, most: int) -> Asked:
    """What `body` asks, with 1 to `most` pictures; a `Refusal` says what is wrong with it."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return _from_json(body, most)
    if kind == "multipart/form-data":
        return _from_form(boundary_of(content_type), body, most)
    given = f"not {told(kind)}" if kind else "and there is no Content-Type"
    raise Refusal(415, f"POST {KINDS}; {given}")


def _from_json(body: bytes, most: int) -> Asked:
    values = _json(body)
    if not isinstance(values, dict):
        raise Refusal(422, f"the body must be an object with the field images, not {_kind(values)}")
    unknown = [name for name in values if name not in FIELDS]
    if unknown:
        raise Refusal(422, f"there is no field {told(unknown[0])}; the fields are {', '.join(FIELDS)}")
    images, names = values.get("images"), values.get("names")
    if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
        raise Refusal(422, "images must be a list of strings, each a data URI or base64 of a picture file")
    _check_count(len(images), most)
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise Refusal(422, "names must be a list of strings, one for each picture")
    if names is not None and len(names) != len(images):
        raise Refusal(422, f"there are {len(images)} images and {len(names)} names; give one for each, or none")
    model, memory = values.get("model"), values.get("memory", False)
    if model is not None and not isinstance(model, str):
        raise Refusal(422, f"model must be the name of a model (see /api/models), not {_kind(model)}")
    if not isinstance(memory, bool):
        raise Refusal(422, f"memory must be true or false, not {_kind(memory)}")
    called = tuple(_name(name, number) for number, name in enumerate(names or [""] * len(images), 1))
    files = tuple(_file(image, name) for image, name in zip(images, called, strict=True))
    return Asked(files, called, model, memory)


def _from_form(boundary: bytes, body: bytes, most: int) -> Asked:
    files: list[bytes] = []
    names: list[str] = []
    fields: dict[str, str] = {}
    for part in parts_of(boundary, body, most=most + len(FIELDS)):
        if part.name == "images":
            files.append(part.content)
            names.append(_name(part.filename, len(files)))
        elif part.name in ("model", "memory") and part.name not in fields:
            fields[part.name] = part.content.decode("utf-8", "replace")
        else:
            raise Refusal(
                422, f"the form has no field {told(part.name)}; give files named images, model and memory once"
            )
    _check_count(len(files), most)
    memory = fields.get("memory", "").strip().lower()
    if memory not in TRUE + FALSE:
        raise Refusal(422, f"memory must be true or false, not {told(memory)}")
    return Asked(tuple(files), tuple(names), fields.get("model"), memory in TRUE)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        raise Refusal(400, "the body is nested too deeply for a request") from None
    except ValueError:  # Also what is not Unicode, and integers of thousands of digits.
        raise Refusal(400, "the body is not valid JSON") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _check_count(count: int, most: int) -> None:
    if not count:
        raise Refusal(422, "there is no picture in the request; give at least one in images")
    if count > most:
        raise Refusal(413, f"there are {count} pictures in the request, and at most {most} may be; send them in parts")


def _name(given: str, number: int) -> str:
    return clean(given[: 10 * NAME_LENGTH])[:NAME_LENGTH].strip() or f"picture {number}"


def _file(image: str, name: str) -> bytes:
    start = DATA_URI.match(image)
    if image.startswith("data:") and not start:
        raise Refusal(422, f"{told(name)} is a data URI without base64; begin it with data:image/png;base64,")
    encoded = SPACE.sub("", image[start.end() :] if start else image)
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(422, f"{told(name)} is neither a data URI nor base64 of a picture file") from None
    if not decoded:
        raise Refusal(422, f"{told(name)} is empty; give the base64 of a picture file")
    return decoded


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
