"""Drawing on the page of `stawm serve` in a real browser: it reads digits, and outlines where it looks on them."""

import base64
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from browser_fixture import Visit, visiting
from page_fixture import GLIMPSES, STROKES, draw, says, shown, upload

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.mark.parametrize("digit", STROKES)
def test_a_digit_drawn_with_the_mouse_is_read(visit: Visit, digit: str) -> None:
    page = visit.page
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".player").count() == 0
    draw(page, STROKES[digit])
    says(page, digit)
    # What was drawn so far is looked at too: half a 7 may be a 7 that it does not recognise yet.
    page.wait_for_function(
        "words => document.querySelector('#status').innerText.startsWith(words)", arg=f"It says {digit}, "
    )
    assert page.locator(".stage").first.locator("polygon").count() == GLIMPSES
    assert len(set(page.locator(".frame img").evaluate_all("all => all.map(image => image.src)"))) == GLIMPSES


def test_it_looks_while_the_hand_is_down(visit: Visit) -> None:
    page = visit.page
    page.get_by_role("button", name="Clear").click()
    draw(page, STROKES["7"], lift=False)
    page.wait_for_selector(".player")
    page.mouse.up()
    says(page, "7")


def outlines(page: "Page") -> np.ndarray:
    """The corners [outline corner 2] of what is drawn over the pad, in shares of the pad as it lies on the screen."""
    found = page.evaluate(
        """() => {
            const pad = document.getElementById("pad").getBoundingClientRect();
            return [...document.querySelectorAll("#overlay polygon")].map((polygon) =>
              [...polygon.points].map((point) => {
                const { x, y } = point.matrixTransform(polygon.getScreenCTM());
                return [(x - pad.left) / pad.width, (y - pad.top) / pad.height];
              }));
        }"""
    )
    return np.array(found).reshape(-1, 4, 2)


def settled(page: "Page") -> None:
    """Wait until no look has been answered for a second: the last one is that of the finished drawing."""
    answered = "() => performance.getEntriesByType('resource').filter(one => one.name.includes('/api/look')).length"
    before, now = -1, page.evaluate(answered)
    while now != before:
        page.wait_for_timeout(1000)
        before, now = now, page.evaluate(answered)


def outlined(page: "Page", count: int) -> None:
    page.wait_for_function("count => document.querySelectorAll('#overlay polygon').length === count", arg=count)


@pytest.mark.parametrize("screen", [{}, {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 3}])
def test_where_it_looks_is_outlined_on_the_drawing(browser: "Browser", home: str, screen: dict[str, Any]) -> None:
    with visiting(browser, home, reduced_motion="reduce", **screen) as visit:
        page = visit.page
        page.goto(home)
        outlined(page, GLIMPSES)
        page.get_by_role("button", name="Clear").click()
        outlined(page, 0)
        draw(page, [[(0.15, 0.45), (0.15, 0.65), (0.15, 0.85)]], lift=False)
        outlined(page, GLIMPSES)
        page.mouse.up()
        settled(page)
        says(page, "1")
        assert page.locator("#status").inner_text().startswith("It says 1")
        assert shown(page) == GLIMPSES
        middle = outlines(page).mean((0, 1))
        assert np.abs(middle - (0.15, 0.65)).max() < 0.1, middle
        page.get_by_role("slider", name="Glimpse").fill("2")
        assert len(outlines(page)) == 2
        assert page.locator("#overlay .badge").evaluate_all("all => all.map(one => one.textContent)") == ["1", "2"]
        assert page.locator("#overlay polygon.now").evaluate_all(
            "all => all.map(one => one.getAttribute('stroke'))"
        ) == [page.locator(".stage polygon.now").first.get_attribute("stroke")]


def test_outlines_lie_on_an_uploaded_picture_that_is_not_square(visit: Visit) -> None:
    page = visit.page
    sheet = Image.new("L", (1200, 600), 255)
    sheet.paste(0, (1000, 200, 1040, 400))
    content = BytesIO()
    sheet.save(content, "PNG")
    upload(page, "one.png", content.getvalue())
    says(page, "1")
    outlined(page, GLIMPSES)
    middle = outlines(page).mean((0, 1))
    # 1200 pixels are the pad's width; above and below are 300 of nothing.
    assert np.abs(middle - (1020 / 1200, 600 / 1200)).max() < 0.04, middle


def test_outlines_are_shown_only_where_they_belong_and_are_wanted(visit: Visit) -> None:
    page = visit.page
    wanted = page.get_by_role("checkbox", name="Show where it looks")
    outlined(page, GLIMPSES)
    wanted.uncheck()
    outlined(page, 0)
    wanted.check()
    outlined(page, GLIMPSES)
    page.route("**/api/look", lambda route: route.fulfill(status=422, json={"detail": "no more looks"}))
    draw(page, STROKES["1"], lift=False)
    page.wait_for_function("() => document.querySelector('[role=alert]').textContent")
    page.mouse.up()
    wanted.uncheck()
    wanted.check()
    assert page.locator(".player").count() == 0
    assert len(outlines(page)) == 0, "the last look was at the example that lay there before"
    page.unroute("**/api/look")
    draw(page, [[(0.5, 0.4), (0.5, 0.6)]])
    outlined(page, GLIMPSES)
    visit.forgive("422")


def test_undo_takes_strokes_back_one_at_a_time(visit: Visit) -> None:
    page = visit.page
    page.get_by_role("button", name="Clear").click()
    ink = "() => document.getElementById('pad').toDataURL()"
    empty = page.evaluate(ink)
    draw(page, STROKES["1"])
    says(page, "1")
    once = page.evaluate(ink)
    draw(page, [[(0.2, 0.9), (0.85, 0.9)]])
    assert page.evaluate(ink) != once
    page.get_by_role("button", name="Undo").click()
    assert page.evaluate(ink) == once
    page.keyboard.press("Control+z")
    assert page.evaluate(ink) == empty
    assert page.get_by_role("button", name="Undo").is_disabled()
    assert page.locator(".player").count() == 0


def test_a_stroke_that_is_undone_while_it_is_drawn_is_gone(visit: Visit) -> None:
    page = visit.page
    page.get_by_role("button", name="Clear").click()
    box = page.locator("#pad").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 160, steps=4)
    page.keyboard.press("Control+z")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.mouse.move(box["x"] + 100, box["y"] + 260, steps=4)
    page.mouse.up()
    page.wait_for_timeout(300)  # a look at live ink is asked for after 120 ms
    assert asked == []
    assert page.get_by_role("button", name="Undo").is_disabled()
    assert page.locator(".player").count() == 0


@pytest.mark.parametrize(("ink", "behind"), [(0, 255), (255, 0)])
def test_ink_without_a_ground_is_seen_on_the_pad(visit: Visit, ink: int, behind: int) -> None:
    page = visit.page
    sheet = Image.new("LA", (300, 300), (0, 0))
    sheet.paste((ink, 255), (140, 60, 160, 240))
    content = BytesIO()
    sheet.save(content, "PNG")
    upload(page, "ink.png", content.getvalue())
    says(page, "1")
    url = page.evaluate("document.getElementById('pad').toDataURL()")
    pad = Image.open(BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGBA")
    seen = Image.alpha_composite(Image.new("RGBA", pad.size, (0, 0, 0, 255)), pad).convert("L")
    assert (seen.getpixel((280, 280)), seen.getpixel((60, 280))) == (ink, behind)
