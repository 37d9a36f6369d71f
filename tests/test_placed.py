import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from stawm.data import load_data
from stawm.data.pictures import framed, whole
from stawm.data.prepare.digit import BOX, SIDE, as_digit
from stawm.data.prepare.given import Given, open_given
from stawm.data.prepare.ink import box_of
from stawm.data.prepare.prepared import Placed, placed_by
from stawm.data.sets.celeba import face_or_whole
from stawm.experiments.experiment import ImageConfig
from stawm.look.looker import Looker
from stawm.store.weights import load_trained

Box = tuple[float, float, float, float]
SHIPPED = "mnist-5k-sketchpad"


def bar(box: tuple[int, int, int, int], size: tuple[int, int] = (280, 280), *, dark: bool = False) -> Image.Image:
    """A sheet with ink on all pixels from the box's left and top edges to its right and bottom ones."""
    sheet = Image.new("L", size, 255 if dark else 0)
    sheet.paste(0 if dark else 255, box)
    return sheet


def ring(box: tuple[int, int, int, int], width: int, size: tuple[int, int] = (280, 280)) -> Image.Image:
    """A nought whose outer edges are the box."""
    left, top, right, bottom = box
    sheet = Image.new("L", size, 0)
    ImageDraw.Draw(sheet).ellipse((left, top, right - 1, bottom - 1), outline=255, width=width)
    return sheet


def inked(pixels: np.ndarray) -> Box:
    """The edges of what is plainly drawn."""
    rows, columns = box_of(pixels > 60)
    return columns.start, rows.start, columns.stop, rows.stop


def mapped(placed: Placed, box: Box) -> Box:
    left, top, right, bottom = box
    x, y = (lambda value: placed.left + placed.scale * value), (lambda value: placed.top + placed.scale * value)
    return x(left), y(top), x(right), y(bottom)


def off(one: Box, other: Box) -> float:
    return max(abs(here - there) for here, there in zip(one, other, strict=True))


def found(picture: Image.Image) -> tuple[Box, Placed, tuple[str, ...]]:
    """The edges of the digit, back on the picture it was found in."""
    digit = as_digit(picture)
    assert digit.placed is not None
    assert (digit.placed.width, digit.placed.height) == picture.size
    return mapped(digit.placed, inked(digit.pixels[0].numpy())), digit.placed, digit.notes


def test_a_digit_that_is_left_alone_lies_where_it_was():
    untouched = load_data("mnist-5k").test.images[0, 0].numpy()
    assert as_digit(Image.fromarray(untouched)).placed == Placed(28, 28, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("box", [(10, 20, 90, 180), (200, 100, 270, 240), (3, 200, 83, 277), (60, 50, 220, 230)])
def test_a_digit_lies_where_it_was_drawn(box: tuple[int, int, int, int]):
    edge = max(box[2] - box[0], box[3] - box[1])
    back, placed, notes = found(ring(box, width=round(0.13 * edge)))
    assert notes == ("cropped, scaled and centred",)
    assert placed.scale == pytest.approx(edge / BOX)
    # A pixel of the digit is `scale` pixels wide, and its edges are blurred.
    assert off(back, box) <= placed.scale


def test_a_bar_lies_exactly_where_it_was_drawn():
    digit = as_digit(bar((40, 60, 60, 160)))
    assert digit.placed is not None
    assert mapped(digit.placed, inked(digit.pixels[0].numpy())) == pytest.approx((40, 60, 60, 160))
    assert digit.placed.scale == pytest.approx(5)


@pytest.mark.parametrize("wide", [11, 12, 13, 14])
def test_rounding_the_shorter_edge_moves_nothing_by_a_quarter_of_a_pixel(wide: int):
    box = (33, 60, 33 + wide, 160)
    back, placed, _ = found(bar(box))
    assert (back[0] + back[2]) / 2 == pytest.approx(33 + wide / 2)
    assert off(back, box) <= placed.scale / 4 + 1e-6


@pytest.mark.parametrize(("width", "note"), [(2, "thin strokes: thickened"), (34, "thick strokes: thinned")])
def test_strokes_that_were_changed_keep_their_middle(width: int, note: str):
    box = (30, 90, 130, 230)
    back, placed, notes = found(ring(box, width))
    assert note in notes
    middle = [(back[0] + back[2]) / 2, (back[1] + back[3]) / 2]
    assert np.abs(np.array(middle) - (80, 160)).max() <= 0.5 * placed.scale
    grown = back[3] - back[1] - (box[3] - box[1])
    assert (grown > 0) == (width == 2), "the strokes reach further than they were drawn where they were thickened"


@pytest.mark.parametrize("size", [(2000, 2000), (2400, 1700), (1601, 1001)])
@pytest.mark.parametrize("dark", [False, True])
def test_large_pictures_that_are_reduced_first(size: tuple[int, int], dark: bool):
    box = (size[0] - 500, 200, size[0] - 440, 600)
    back, placed, _ = found(bar(box, size, dark=dark))
    assert placed.scale == pytest.approx(20, rel=0.02)
    assert off(back, box) <= 0.5 * placed.scale


def test_thin_lines_on_a_large_picture():
    box = (300, 1100, 1100, 1900)
    back, placed, notes = found(ring(box, 5, (2000, 2000)))
    assert "thin strokes: thickened" in notes
    assert off(back, box) <= 1.5 * placed.scale


def test_specks_do_not_count():
    sheet = ring((120, 40, 200, 200), 20)
    ImageDraw.Draw(sheet).rectangle((8, 250, 11, 253), fill=255)
    back, placed, notes = found(sheet)
    assert "specks: left out" in notes
    assert off(back, (120, 40, 200, 200)) <= placed.scale


def test_nothing_drawn_lies_nowhere():
    assert as_digit(Image.new("L", (60, 50), 255)).placed is None


def test_a_turned_photograph_is_meant_upright():
    lying = bar((20, 30, 40, 130), (300, 200), dark=True)
    turned = lying.getexif()
    turned[0x0112] = 6  # shown a quarter turn clockwise
    content = io.BytesIO()
    lying.save(content, "PNG", exif=turned)
    looker = Looker(load_trained(SHIPPED), SHIPPED)
    prepared = looker.prepare(open_given(content.getvalue(), "turned"))
    assert prepared.placed is not None
    assert (prepared.placed.width, prepared.placed.height) == (200, 300)
    # A point (x, y) of a picture 200 high comes to (200 - y, x).
    assert mapped(prepared.placed, inked(prepared.pixels[0].numpy())) == pytest.approx((70, 20, 170, 40))
    [seen] = looker.look([prepared], ["turned"])
    assert seen.given == prepared.placed


def test_a_blank_sheet_is_looked_at_all_the_same():
    looker = Looker(load_trained(SHIPPED), SHIPPED)
    [seen] = looker.look([looker.prepare(Given("blank", Image.new("L", (50, 50), 255)))], ["blank"])
    assert seen.given is None
    assert len(seen.glimpses) == looker.glimpses


@pytest.mark.parametrize("size", [(64, 40), (40, 64), (178, 218), (500, 333), (7, 5)])
@pytest.mark.parametrize("frame", [whole, face_or_whole])
def test_other_pictures_lie_in_the_middle_of_what_was_given(size: tuple[int, int], frame):
    image = ImageConfig(1, 10, 16)
    placed = placed_by(frame, size, image.width, image.height)
    # Each pixel of a ramp says where it is, so the prepared picture says where it came from.
    for axis, (first, length) in enumerate(zip((placed.left, placed.top), size, strict=True)):
        ramp = np.arange(length, dtype=np.float32) / length * 255
        levels = np.tile(ramp, (size[1], 1)) if axis == 0 else np.tile(ramp[:, None], (1, size[0]))
        told = framed(Image.fromarray(levels), (1, image.height, image.width), frame)[0].mean(axis)
        places = told / 255 * length + 0.5
        expected = first + placed.scale * (np.arange(len(told)) + 0.5)
        inner = slice(2, -2)
        assert np.abs(places - expected)[inner].max() < 0.01 * length
        assert expected[0] > 0
        assert expected[-1] < length


def test_digits_have_the_same_size_whatever_surrounds_them():
    small, large = (found(ring((10, 10, 90, 90), 10, size))[1] for size in ((100, 100), (280, 100)))
    assert (small.left, small.top, small.scale) == (large.left, large.top, large.scale)
    assert small.scale * SIDE == pytest.approx(28 * 4)
