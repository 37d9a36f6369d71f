"""Looks as JSON, made by hand: what a report and the page are given, without a model."""

import base64
from io import BytesIO
from typing import Any

from PIL import Image

HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>\"<!--&amp;.png"
"""A name that must stay a name."""


def picture(width: int, height: int, colour: tuple[int, int, int] = (200, 200, 200)) -> str:
    """A data URL of one colour."""
    content = BytesIO()
    Image.new("RGB", (width, height), colour).save(content, "PNG")
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


def look(
    name: str = "3.png",
    *,
    prediction: str | None = "3",
    classes: int = 10,
    glimpses: int = 4,
    draws: bool = True,
    size: tuple[int, int] = (28, 28),
    memory: bool = False,
    answers: dict[str, Any] | None = None,
    found: int | None = 1,
    familiar: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A look of the contract; its belief in `prediction` grows by equal steps, the rest is shared out."""
    names = [str(place) for place in range(classes)] if prediction is not None else []
    width, height = size
    seen = []
    for number in range(1, glimpses + 1):
        share = round(0.4 + 0.5 * number / glimpses, 4)
        belief = [share if label == prediction else round((1 - share) / (classes - 1), 4) for label in names]
        edge = 2.0 * number
        seen.append(
            {
                "number": number,
                "colour": f"#{40 * number % 256:02x}60c0",
                "outline": [[edge, edge], [edge + 12, edge], [edge + 12, edge + 12], [edge, edge + 12]],
                "outside": 0.0,
                "glimpse": picture(8, 8, (10 * number, 0, 0)),
                "belief": belief or None,
                "sketch": picture(8, 8, (0, 10 * number, 0)) if draws else None,
                "sketch_outline": [[0, 0], [width, 0], [width, height], [0, height]] if draws else None,
                "canvas": picture(width, height, (0, 0, 10 * number)) if draws else None,
            }
        )
    return {
        "name": name,
        "model": "made-by-hand",
        "inverted": False,
        "notes": [],
        "found": found,
        "prediction": prediction,
        "confidence": 0.9 if prediction is not None else None,
        "classes": names,
        "image": {"width": width, "height": height, "png": picture(width, height)},
        "glimpses": seen,
        "familiar": familiar,
        "memory": _memory(glimpses) if memory else None,
        "answers": answers or {},
    }


def _memory(count: int) -> dict[str, Any]:
    steps = [
        {
            "matrix": picture(16, 16, (250, 10 * number, 0)),
            "scale": 0.5,
            "norm": 1.0 * number,
            "singular_values": [2.0, 0.5, 0.1, 0.0][:count],
        }
        for number in range(1, count + 1)
    ]
    similarity = [[1.0 if row == column else 0.25 for column in range(count)] for row in range(count)]
    recall = [{"cosine": 0.9, "best": number} for number in range(1, count + 1)]
    return {"size": 16, "steps": steps, "similarity": similarity, "recall": recall}
