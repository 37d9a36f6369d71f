import numpy as np
import pytest

from stawm.show.sheet import Sheet, shortened, text_width


def written(text: str) -> np.ndarray:
    sheet = Sheet(60, 30)
    sheet.text((5, 5), text, 14)
    return np.asarray(sheet.finished())


@pytest.mark.parametrize("letter", ["é", "ü", "α", "×", "→", "–"])
def test_letters_beyond_ascii_are_no_empty_boxes(letter: str):
    """Letters that no font has are all the same box."""
    box = written("\U000f0000")
    assert (box < 255).any()
    assert not np.array_equal(written(letter), box)
    assert text_width(letter, 14) > 0


def test_a_text_is_shortened_to_its_width():
    assert shortened("short", 12, 100) == "short"
    cut = shortened("a rather long name", 12, 50)
    assert cut.endswith("..") and text_width(cut, 12) <= 50
