"""What a request for looks asks, or a refusal that says what is wrong with it."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError, create_model, model_validator

from stawm.serve.refusal import Refusal, clean, told

NAME_LENGTH = 100
DATA_URI = re.compile(r"data:[\w.+/-]{0,100}(?:;[\w.+=-]{1,100})*;base64,", re.ASCII | re.IGNORECASE)
SPACE = re.compile(r"[ \t\r\n]+")


class LookRequest(BaseModel):
    """Pictures to look at, what to call them, with which model, and whether memory is wanted."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    images: Annotated[list[str], FailFast()]
    """The pictures: each a data URL (data:image/png;base64,…) or bare base64 of a PNG, JPEG, WebP or BMP file."""
    names: Annotated[list[str] | None, FailFast()] = None
    """What to call each picture."""
    model: str | None = None
    """The name of a model; the default if not given."""
    memory: bool = False
    """Whether to tell what the memory held."""

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, values: Any) -> Any:
        """A request with a million fields would get a million complaints, and only the first is told."""
        if isinstance(values, dict) and len(values) > 2 * len(cls.model_fields):
            raise ValueError(f"there are {len(values):,} fields; the fields are {', '.join(cls.model_fields)}")
        return values

    @model_validator(mode="after")
    def _names_fit(self) -> "LookRequest":
        if self.names is not None and len(self.names) != len(self.images):
            raise ValueError(f"there are {len(self.images)} images and {len(self.names)} names; give as many or none")
        return self

    def pictures(self) -> Iterator[tuple[str, bytes]]:
        """The name and the file of each picture."""
        names = self.names or [""] * len(self.images)
        for number, (image, given) in enumerate(zip(self.images, names, strict=True), 1):
            name = clean(given[: 10 * NAME_LENGTH])[:NAME_LENGTH].strip() or f"picture {number}"
            yield name, _file(image, name)


def request_type(pictures: int, models: list[str]) -> type[LookRequest]:
    """Requests for 1 to `pictures` pictures and one of these models."""
    one: Any = Literal[tuple(models)] | None  # type: ignore[reportOperatorIssue]
    images, model = (LookRequest.model_fields[name].description for name in ("images", "model"))
    return create_model(
        "LookRequest",
        __base__=LookRequest,
        images=(
            Annotated[list[str], FailFast(), Field(min_length=1, max_length=pictures, description=images)],
            ...,
        ),
        model=(one, Field(None, description=model)),
    )


def read_request(kind: type[LookRequest], content_type: str, body: bytes) -> LookRequest:
    """What `body` asks; a `Refusal` says what is wrong with it."""
    given = content_type.partition(";")[0].strip().lower()
    if given != "application/json":
        what = f"not {told(given)}" if given else "and there is no Content-Type"
        raise Refusal(415, f"POST application/json with base64 pictures; {what}")
    try:
        return kind.model_validate_json(body)
    except ValidationError as failure:
        raise _refusal(failure.errors(include_url=False, include_context=False, include_input=False)[0]) from None


def _refusal(error: Any) -> Refusal:
    """The refusal of a request with this error, in a sentence."""
    if error["type"] == "json_invalid":
        return Refusal(400, "the body is not valid JSON")
    where, wrong = ".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")
    about = f"{told(where)}: " if where else ""
    status = 413 if error["type"] == "too_long" else 422
    return Refusal(status, f"{about}{wrong[0].lower()}{wrong[1:]}; /api/docs describes a request")


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
