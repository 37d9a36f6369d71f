import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from stawm.data import load_data
from stawm.data.prepare.digit import BOX, NOTHING, SIDE, THICK, THIN, as_digit, stroke_width, thickened
from stawm.data.prepare.ink import ink_of
from stawm.data.prepare.parts import without_specks

INVERTED = "dark on light: inverted"


def seven(
    size: int = 280,
    width: int = 20,
    *,
    edge: int = 160,
    at: tuple[int, int] = (60, 60),
    ground: int = 255,
    ink: int = 0,
) -> Image.Image:
    """A seven of two strokes, `edge` pixels high and three quarters as wide, its top left corner at `at`."""
    sheet = Image.new("L", (size, size), ground)
    left, top = at
    corners = [(left, top), (left + 3 * edge // 4, top), (left + edge // 4, top + edge)]
    ImageDraw.Draw(sheet).line(corners, fill=ink, width=width, joint="curve")
    return sheet


def pixels_of(picture: Image.Image) -> np.ndarray:
    return as_digit(picture).pixels[0].numpy()


def centre(pixels: np.ndarray) -> tuple[float, float]:
    rows, columns = np.mgrid[:SIDE, :SIDE]
    return float((pixels * rows).sum() / pixels.sum()), float((pixels * columns).sum() / pixels.sum())


def edges(pixels: np.ndarray, above: int = 30) -> tuple[int, int]:
    rows, columns = np.nonzero(pixels > above)
    return int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """The mean difference of two digits; a step of one pixel, to which the centre may round, is free."""
    steps = [(down, across) for down in (-1, 0, 1) for across in (-1, 0, 1)]
    return min(float(np.abs(np.roll(one, step, (0, 1)).astype(int) - other).mean()) for step in steps)


def test_digits_of_mnist_come_back_untouched():
    digits = load_data("mnist-5k").test.images[:, 0].numpy()
    for pixels in digits:
        light = as_digit(Image.fromarray(pixels))
        assert (light.pixels[0].numpy() == pixels).all()
        assert (light.inverted, light.notes) == (False, ())
    for pixels in digits[::10]:
        dark = as_digit(Image.fromarray(255 - pixels))
        assert (dark.pixels[0].numpy() == pixels).all()
        assert (dark.inverted, dark.notes) == (True, (INVERTED,))


def test_a_digit_fills_twenty_pixels_with_its_mass_in_the_middle():
    digit = as_digit(seven())
    assert max(edges(digit.pixels[0].numpy())) in (BOX, BOX - 1)
    assert max(abs(place - 14) for place in centre(digit.pixels[0].numpy())) <= 0.51
    assert digit.pixels[0].max() == 255
    assert digit.notes == (INVERTED, "cropped, scaled and centred")


@pytest.mark.parametrize("shape", [(200, 50), (50, 200), (100, 100)])
def test_proportions_are_kept(shape: tuple[int, int]):
    width, height = shape
    sheet = Image.new("L", (300, 300), 0)
    ImageDraw.Draw(sheet).ellipse((40, 40, 40 + width, 40 + height), outline=255, width=24)
    down, across = edges(pixels_of(sheet), above=60)
    assert abs(down - BOX * height / max(shape)) <= 1
    assert abs(across - BOX * width / max(shape)) <= 1


@pytest.mark.parametrize(
    "other",
    [
        seven(at=(5, 100)),
        seven(size=560, width=40, edge=320, at=(200, 30)),
        seven(size=1680, width=120, edge=960, at=(500, 400)),
        seven(size=84, width=6, edge=48, at=(18, 18)),
        seven(ground=0, ink=255),
        seven(ground=230, ink=140),
        seven(ground=20, ink=90),
    ],
    ids=["shifted", "twice", "six times", "a third", "light on dark", "faint", "faint on dark"],
)
def test_place_size_and_contrast_change_next_to_nothing(other: Image.Image):
    usual, seen = as_digit(seven()), as_digit(other)
    assert apart(usual.pixels[0].numpy(), seen.pixels[0].numpy()) < 4


def test_which_way_round_is_told():
    assert as_digit(seven()).inverted
    assert not as_digit(seven(ground=0, ink=255)).inverted
    assert not as_digit(seven(ground=150, ink=255)).inverted, "light ink on a grey ground"
    assert as_digit(seven(ground=100, ink=0)).inverted, "dark ink on a dark ground"


@pytest.mark.parametrize("width", [1, 2, 4])
def test_thin_strokes_do_not_vanish(width: int):
    digit = as_digit(seven(size=400, width=width, edge=360, at=(30, 20)))
    assert digit.pixels[0].max() == 255
    # Of a box of 20: MNIST's strokes, not a trace of grey.
    assert stroke_width(digit.pixels[0].numpy()[4:24, 4:24] / np.float32(255)) > 0.75 * THIN
    assert "thin strokes: thickened" in digit.notes


def test_thick_strokes_are_thinned():
    thick = seven(width=60)
    digit = as_digit(thick)
    assert "thick strokes: thinned" in digit.notes
    before = stroke_width(ink_of(thick, 0.2).shares)
    assert before > THICK + 0.5
    assert stroke_width(digit.pixels[0].numpy()[4:24, 4:24] / np.float32(255)) < before - 0.5


@pytest.mark.parametrize("ground", [0, 128, 255])
def test_a_blank_sheet_is_black_and_said_to_be_blank(ground: int):
    digit = as_digit(Image.new("L", (50, 40), ground))
    assert not digit.pixels[0].any()
    assert digit.notes[-1] == NOTHING
    assert digit.inverted == (ground > 127)


def test_a_blank_sheet_that_was_photographed_is_blank():
    noise = np.random.default_rng(0).normal(0, 3, (200, 300))
    light = 120 + 100 * np.linspace(0, 1, 300)
    digit = as_digit(Image.fromarray((light + noise).clip(0, 255).astype(np.uint8)))
    assert digit.notes[-1] == NOTHING


@pytest.mark.parametrize("noise", [0, 1, 4])
@pytest.mark.parametrize("light", ["even", "slope", "vignette"])
def test_light_and_noise_on_paper_are_nothing_to_see(light: str, noise: float):
    down, across = np.mgrid[:200, :300] / 200 - 0.5
    shade = {"even": 0 * down, "slope": 40 * across + 30 * down, "vignette": -60 * (down**2 + across**2)}[light]
    levels = 190 + shade + np.random.default_rng(0).normal(0, noise, shade.shape)
    assert as_digit(Image.fromarray(levels.clip(0, 255).astype(np.uint8))).found == 0


@pytest.mark.parametrize("margin", [0, 1, 4, 40])
@pytest.mark.parametrize("dark", [False, True])
def test_a_digit_that_fills_its_frame_is_read(margin: int, dark: bool):
    for number, digit in enumerate(load_data("mnist-5k").test.images[:12, 0].numpy()):
        ink = ink_of(Image.fromarray(digit), 0.2)
        if digit[:, 13:16].sum() > 0.8 * digit.sum():
            continue  # an upright line is all of its frame
        large = Image.fromarray((255 * ink.shares).astype(np.uint8)).resize((120, 160), Image.Resampling.BICUBIC)
        frame = np.pad(np.asarray(large), margin)
        seen = as_digit(Image.fromarray(255 - frame if dark else frame))
        assert (seen.inverted, seen.found) == (dark, 1), number


@pytest.mark.parametrize("turn", range(0, 360, 60))
def test_uneven_light_is_evened_out(turn: int):
    down, across = np.mgrid[:280, :280] / 280 - 0.5
    paper = 170 + 90 * (np.cos(np.radians(turn)) * across + np.sin(np.radians(turn)) * down)
    noise = np.random.default_rng(turn).normal(0, 3, paper.shape)
    strokes = np.asarray(seven(width=24), np.float32) / 255
    photograph = (paper * (0.3 + 0.7 * strokes) + noise).clip(0, 255).astype(np.uint8)
    digit, usual = as_digit(Image.fromarray(photograph)), as_digit(seven(width=24))
    assert digit.notes[:2] == (INVERTED, "uneven light: evened out")
    assert apart(digit.pixels[0].numpy(), usual.pixels[0].numpy()) < 6


def test_specks_do_not_move_a_digit():
    sheet = seven()
    ImageDraw.Draw(sheet).rectangle((4, 260, 8, 264), fill=0)
    ImageDraw.Draw(sheet).rectangle((270, 9, 273, 13), fill=0)
    digit = as_digit(sheet)
    assert (digit.pixels[0].numpy() == pixels_of(seven())).all()
    assert "specks: left out" in digit.notes


def test_a_stroke_of_its_own_is_no_speck():
    ink = np.zeros((100, 60), np.float32)
    ink[:, 20:30] = 1
    ink[0:10, 45:50] = 1
    assert (without_specks(ink) == ink).all()
    ink[0:10, 45:50] = 0
    ink[0:3, 55:58] = 1
    assert not without_specks(ink)[:, 40:].any()


def test_the_width_of_a_bar_is_twice_its_area_over_its_outline():
    bar = np.ones((20, 4), np.float32)
    assert stroke_width(bar) == pytest.approx(2 * 80 / 48, rel=0.03)
    assert stroke_width(np.kron(bar, np.ones((5, 5), np.float32))) == pytest.approx(2 * 80 / 48, rel=0.03)


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.5, 6.0])
def test_a_point_grows_into_a_disc(radius: float):
    point = np.zeros((5, 5), np.float32)
    point[2, 2] = 1
    grown = thickened(point, radius)
    assert grown.max() == 1
    # A pixel is a disc of radius 0.56 of its own.
    assert grown.sum() == pytest.approx(np.pi * (radius + 0.56) ** 2, rel=0.2)


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32 - 1), st.integers(1, 255))
def test_any_picture_gives_a_digit(width: int, height: int, seed: int, spread: int):
    chance = np.random.default_rng(seed)
    levels = chance.integers(0, spread + 1, (height, width), dtype=np.uint8)
    levels[chance.random(levels.shape) < chance.random()] = 0
    digit = as_digit(Image.fromarray(levels))
    assert digit.pixels[0].shape == (SIDE, SIDE)
    assert digit.pixels[0].any() or digit.notes[-1] == NOTHING


def test_ink_may_cover_most_of_the_sheet():
    sheet = Image.new("L", (100, 100), 255)
    ImageDraw.Draw(sheet).ellipse((2, 2, 97, 97), outline=0, width=38)
    assert np.asarray(sheet).mean() < 100
    digit = as_digit(sheet)
    assert digit.inverted
    assert digit.pixels[0][14, 14] < 60, "the hole"
    assert digit.pixels[0][14, 6:9].max() > 240
