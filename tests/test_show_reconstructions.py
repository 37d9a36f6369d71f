import numpy as np

from stawm.show.figures.reconstructions import reconstructions
from stawm.show.grid import ACROSS, EDGE
from tiny_drawing import LIME, PINK, TEAL, box_of, flat, where


def test_reconstructions_have_the_baseline_above_and_the_target_below():
    sheet = reconstructions({"baseline": flat(TEAL)[None], "ours": flat(PINK)[None]}, flat(LIME)[None])
    baseline, ours, target = (box_of(sheet, colour) for colour in (TEAL, PINK, LIME))
    assert baseline.bottom < ours.top < ours.bottom < target.top
    assert baseline.left == ours.left == target.left


def test_many_pictures_go_on_below():
    many = flat(LIME)[None].expand(ACROSS + 1, 3, 12, 12)
    few = flat(LIME)[None].expand(ACROSS, 3, 12, 12)
    narrow, broken = reconstructions({"a": few * 0}, few), reconstructions({"a": many * 0}, many)
    assert narrow.width == broken.width
    rows, columns = where(broken, LIME)
    below = rows > broken.height / 2
    assert np.ptp(columns[below]) + 1 == EDGE, "the eleventh stands alone"
    assert np.ptp(columns[~below]) + 1 > 9 * EDGE
