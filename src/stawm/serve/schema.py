"""The shapes of requests and answers, for the OpenAPI description."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from stawm.serve.settings import Settings

Outline = list[list[float]]
PNG = "A PNG as a data URL."


class Shape(BaseModel):
    """A value whose fields are these and no others."""

    model_config = ConfigDict(extra="forbid")


class Problem(Shape):
    """Why a request was refused."""

    detail: str = Field(description="One sentence.")


class Image(Shape):
    """What the model was shown, after preparation."""

    width: int
    height: int
    png: str = Field(description=PNG)


class Given(Shape):
    """Where the image lies in the picture that was given: given = (left, top) + scale · image, in pixels."""

    width: int = Field(description="Of the given picture, turned as its EXIF says; so is the height.")
    height: int
    left: float
    top: float
    scale: float


class Glimpse(Shape):
    """One glimpse, and what was believed and drawn after it."""

    number: int
    colour: str
    outline: Outline = Field(description="Its corners in image pixels: top left, top right, bottom right, bottom left.")
    outside: float = Field(description="The share of it that lies outside the image.")
    glimpse: str = Field(description=PNG)
    belief: list[float] | None = Field(description="The probability of each class after this glimpse.")
    sketch: str | None = Field(description=PNG)
    sketch_outline: Outline | None
    canvas: str | None = Field(description=f"All sketches up to this one. {PNG}")


class MemoryStep(Shape):
    """The memory after one glimpse."""

    matrix: str = Field(description=f"The weights: white is zero, red above, blue below. {PNG}")
    scale: float = Field(description="The weight that full colour stands for.")
    norm: float
    singular_values: list[float]


class Recall(Shape):
    """Whether the last memory brings back what one glimpse wrote."""

    cosine: float
    best: int = Field(description="The number of the glimpse whose value is nearest to what came back.")


class Memory(Shape):
    """The memory over one look."""

    size: int
    steps: list[MemoryStep]
    similarity: list[list[float]] = Field(description="The cosine of each two codes.")
    recall: list[Recall]


class Look(Shape):
    """One look at one picture."""

    name: str
    model: str
    inverted: bool
    notes: list[str]
    prediction: str | None
    confidence: float | None
    classes: list[str]
    image: Image
    given: Given | None = Field(description="Null if nothing was found in the picture.")
    glimpses: list[Glimpse]
    memory: Memory | None
    answers: dict[str, Any]


class Looks(Shape):
    """A look at each picture, in the order of the request."""

    looks: list[Look]
    model: str
    milliseconds: float


class ImageShape(Shape):
    """The pictures that a model takes."""

    channels: int
    height: int
    width: int


class Model(Shape):
    """A model that can be asked for."""

    name: str
    classes: list[str]
    draws: bool
    classifies: bool
    image: ImageShape
    glimpses: int
    default: bool
    about: str


class Example(Shape):
    """A digit to try."""

    name: str
    png: str = Field(description=PNG)
    label: str


class Health(Shape):
    """Whether the server answers, and how much waits."""

    status: str
    version: str
    models: list[str]
    queue: int = Field(description="Pictures that wait for a model.")


def look_request(settings: Settings, models: list[str]) -> dict[str, Any]:
    """The description of the body of POST /api/look."""
    count = {"minItems": 1, "maxItems": settings.pictures}
    named = {"type": "string", "enum": models, "description": "The default if not given."}
    memory = {"type": "boolean", "default": False, "description": "Whether to tell what the memory held."}
    picture = "A data URL (data:image/png;base64,…) or bare base64 of a PNG, JPEG, WebP or BMP file."
    names = {"type": "array", "items": {"type": "string"}, "description": "What to call each picture.", **count}
    as_json = {
        "images": {"type": "array", "items": {"type": "string", "minLength": 1, "description": picture}, **count},
        "names": names,
        "model": named,
        "memory": memory,
    }
    files = {"type": "array", "items": {"type": "string", "format": "binary"}, **count}
    as_form = {"images": files, "model": named, "memory": memory}

    def body(properties: dict[str, Any]) -> dict[str, Any]:
        shape = {"type": "object", "required": ["images"], "properties": properties, "additionalProperties": False}
        return {"schema": shape}

    content = {"application/json": body(as_json), "multipart/form-data": body(as_form)}
    return {"requestBody": {"required": True, "content": content}}
