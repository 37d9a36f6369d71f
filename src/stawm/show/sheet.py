"""A sheet to draw on: drawn too large and then reduced, so that slanted lines and letters come out clean."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Point = tuple[float, float]

OVERSIZE = 3

PAPER: Colour = (255, 255, 255)
INK: Colour = (38, 42, 48)
FAINT: Colour = (138, 145, 153)
HAIR: Colour = (226, 229, 233)
RIGHT: Colour = (26, 135, 84)
WRONG: Colour = (203, 52, 52)

# Early to late: blue, violet, magenta, orange, yellow; each is visible on black and on white.
GLIMPSE_COLOURS: tuple[Colour, ...] = ((44, 123, 229), (122, 83, 214), (202, 62, 160), (236, 98, 74), (246, 178, 40))

LINES: tuple[Colour, ...] = (
    (44, 123, 229),
    (222, 90, 52),
    (26, 135, 84),
    (122, 83, 214),
    (190, 140, 20),
    (90, 98, 110),
)


def colour_of(place: int, count: int) -> Colour:
    """The colour of the glimpse at `place` (from 0) of `count`: evenly spaced from early blue to late yellow."""
    where = place / max(count - 1, 1) * (len(GLIMPSE_COLOURS) - 1)
    left = min(int(where), len(GLIMPSE_COLOURS) - 2)
    share = where - left
    red, green, blue = (
        round((1 - share) * a + share * b)
        for a, b in zip(GLIMPSE_COLOURS[left], GLIMPSE_COLOURS[left + 1], strict=True)
    )
    return red, green, blue


class Sheet:
    """A white sheet of `width` × `height` pixels; all places and lengths are in those pixels, fractions allowed."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = round(width), round(height)
        self.image = Image.new("RGB", (self.width * OVERSIZE, self.height * OVERSIZE), PAPER)
        self.draw = ImageDraw.Draw(self.image)

    def finished(self) -> Image.Image:
        """The sheet at its own size."""
        return self.image.resize((self.width, self.height), Image.Resampling.BOX)

    def picture(self, picture: Image.Image, left: float, top: float, width: float, height: float) -> None:
        """Paste `picture`, enlarged without smoothing: each of its pixels stays a sharp block."""
        size = (_big(width), _big(height))
        self.image.paste(picture.resize(size, Image.Resampling.NEAREST), (_big(left), _big(top)))

    def inset(self, sheet: "Sheet", left: float, top: float) -> None:
        """Paste a smaller sheet; what was drawn past its edges is cut off."""
        self.image.paste(sheet.image, (_big(left), _big(top)))

    def line(self, points: list[Point], colour: Colour, width: float = 1.0) -> None:
        """Draw a line through `points`."""
        self.draw.line([_large(point) for point in points], fill=colour, width=max(_big(width), 1), joint="curve")

    def outline(self, corners: list[Point], colour: Colour, width: float = 1.0) -> None:
        """Draw a closed outline, its corners rounded."""
        self.line([*corners, corners[0], corners[1]], colour, width)

    def box(self, left: float, top: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle."""
        if width > 0 and height > 0:
            right, bottom = _big(left + width) - 1, _big(top + height) - 1
            self.draw.rectangle((_big(left), _big(top), max(right, _big(left)), max(bottom, _big(top))), fill=colour)

    def disc(self, centre: Point, radius: float, colour: Colour) -> None:
        """Fill a circle."""
        x, y = centre
        self.draw.ellipse([*_large((x - radius, y - radius)), *_large((x + radius, y + radius))], fill=colour)

    def text(self, at: Point, text: str, size: float, colour: Colour = INK, anchor: str = "la") -> None:
        """Write `text`; `anchor` as Pillow has it: `la` left and top, `mm` middle, `rs` right and base line."""
        self.draw.text(_large(at), text, fill=colour, font=_font(size * OVERSIZE, text.isascii()), anchor=anchor)


def text_width(text: str, size: float) -> float:
    """How wide `text` is in pixels."""
    return _font(size * OVERSIZE, text.isascii()).getlength(text) / OVERSIZE


def shortened(text: str, size: float, width: float) -> str:
    """`text`, or as much of its beginning as fits into `width`, with dots."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}..", size) > width:
        text = text[:-1]
    return f"{text.rstrip()}.."


@cache
def _font(size: float, plain: bool) -> ImageFont.FreeTypeFont:
    # Pillow carries a scalable font, so figures look the same on every machine; for more letters than those of English
    # there is matplotlib's.
    if not plain and (found := find_spec("matplotlib")) and found.origin:
        path = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
        if path.is_file():
            return ImageFont.truetype(path, size)
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return font


def _big(length: float) -> int:
    return round(length * OVERSIZE)


def _large(point: Point) -> Point:
    return point[0] * OVERSIZE, point[1] * OVERSIZE
