"""The tab on which a scene is drawn, looked at, covered and asked about, in a real browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tiny_scene
from browser_fixture import Visit, serving, visiting
from page_fixture import SKETCHPAD, STROKES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the shipped sketchpad, and with a model of scenes that has learnt nothing."""
    folder: Path = tmp_path_factory.mktemp("serve")
    tiny_scene.weights(folder / tiny_scene.NAME)
    with serving(SKETCHPAD, str(folder / tiny_scene.NAME), log=folder / "log") as address:
        yield address


@pytest.fixture
def visit(browser: "Browser", scenes: str) -> Iterator[Visit]:
    with visiting(browser, scenes, reduced_motion="reduce") as visit:
        opened(visit, scenes)
        yield visit


def opened(visit: Visit, home: str) -> "Page":
    visit.page.goto(f"{home}#remember")
    visit.page.wait_for_selector(".cell-pad")
    return visit.page


def places(page: "Page", cell: int, stroke: list[tuple[float, float]]) -> list[tuple[float, float]]:
    pad = page.locator(".cell-pad").nth(cell)
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box is not None
    return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]


def draw(page: "Page", cell: int, digit: str) -> None:
    for stroke in STROKES[digit]:
        first, *rest = places(page, cell, stroke)
        page.mouse.move(*first)
        page.mouse.down()
        for place in rest:
            page.mouse.move(*place, steps=4)
        page.mouse.up()


def touch(page: "Page", cell: int, digit: str) -> None:
    """A finger, by the protocol of the browser's own tools."""
    session: Any = page.context.new_cdp_session(page)
    for stroke in STROKES[digit]:
        points = [{"x": x, "y": y} for x, y in places(page, cell, stroke)]
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points[:1]})
        for point in points[1:]:
            session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    # Seen in headless Chromium: the first tap after touches that were sent this way makes no click, the next one does.
    page.touchscreen.tap(5, 300)


def status(page: "Page", words: str) -> None:
    page.wait_for_function(
        "words => document.querySelector('#scene-desk .status').textContent.startsWith(words)", arg=words
    )


def look(page: "Page") -> dict[str, Any]:
    """Press Look, and cover the scene; what was asked of the server."""
    with page.expect_request("**/api/remember") as asked:
        page.get_by_role("button", name="Look", exact=True).click()
    status(page, "Glimpse 3 of 3")
    page.get_by_role("button", name="Cover it").click()
    status(page, "Covered")
    return json.loads(asked.value.post_data or "")


def test_a_scene_is_drawn_remembered_asked_about_and_uncovered(visit: Visit) -> None:
    page = visit.page
    assert page.get_by_role("button", name="Look", exact=True).is_disabled()
    draw(page, 0, "3")
    draw(page, 3, "7")
    body = look(page)
    assert [cell is not None for cell in body["cells"]] == [True, False, False, True]
    assert not page.locator(".board .scene").is_visible()
    assert not page.locator(".cells").is_visible()
    with page.expect_request("**/api/ask") as asked:
        page.get_by_role("button", name="Cell 1: what was here?").click()
    question = json.loads(asked.value.post_data or "")
    assert set(question) == {"at", "memory", "model"}, "no picture goes with a question"
    assert (question["at"], question["model"]) == (1, tiny_scene.NAME)
    page.wait_for_selector(".cover.told img")
    assert page.locator(".asked").inner_text() == "What was in cell 1?"
    page.get_by_role("button", name="Where was the 7?").click()
    page.wait_for_function("() => document.querySelector('.asked').textContent === 'Where was the 7?'")
    page.get_by_role("button", name="Cell 2: what was here?").click()
    page.wait_for_function("() => document.querySelectorAll('.cover.told').length === 2")
    page.get_by_role("button", name="Uncover").click()
    assert page.locator(".board .scene").is_visible()
    assert page.locator(".verdicts li").count() == 3
    while page.get_by_role("button", name="Right").count():
        page.get_by_role("button", name="Right").first.click()
    assert re.fullmatch(r"\d of 3 right", page.locator("#scene-desk .status").inner_text())
    page.get_by_role("button", name="New scene").click()
    assert page.get_by_role("button", name="Look", exact=True).is_disabled()


def test_known_cells_are_marked_by_the_page(visit: Visit) -> None:
    """An example's label and an empty cell are known: marked right exactly where the answer says the same."""
    page = visit.page
    page.locator(".cell-pad").nth(1).focus()
    page.keyboard.press("5")
    page.wait_for_selector(".cell-clear:not([hidden])")
    body = look(page)
    assert [cell is not None for cell in body["cells"]] == [False, True, False, False]
    said: dict[int, str] = {}
    for number in range(1, 5):
        page.get_by_role("button", name=f"Cell {number}: what was here?").click()
        page.wait_for_function("count => document.querySelectorAll('.cover.told').length === count", arg=number)
        said[number] = page.locator(".cover").nth(number - 1).locator(".chip").inner_text().split(" ")[0]
    page.get_by_role("button", name="Uncover").click()
    for number, word in said.items():
        right = word == ("5" if number == 2 else "nothing")
        kind = "right" if right else "wrong"
        assert kind in (page.locator(".cover").nth(number - 1).get_attribute("class") or "").split()
    assert page.get_by_role("button", name="Right").count() == 0


def test_cells_are_filled_by_chance_and_cleared(visit: Visit) -> None:
    page = visit.page
    page.get_by_role("button", name="Examples").click()
    page.wait_for_function("() => document.querySelectorAll('.cell-clear:not([hidden])').length >= 2")
    filled = page.locator(".cell-clear:visible").count()
    page.locator(".cell-clear:visible").first.click()
    assert page.locator(".cell-clear:visible").count() == filled - 1
    page.get_by_role("button", name="Clear all").click()
    assert page.locator(".cell-clear:visible").count() == 0
    page.locator(".cell-pad").first.focus()
    page.keyboard.press("3")
    page.wait_for_selector(".cell-clear:not([hidden])")
    page.keyboard.press("Delete")
    assert page.get_by_role("button", name="Look", exact=True).is_disabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_finger_on_a_phone(browser: "Browser", scenes: str, scheme: str) -> None:
    with visiting(
        browser, scenes, viewport=PHONE, color_scheme=scheme, has_touch=True, reduced_motion="reduce"
    ) as visit:
        page = opened(visit, scenes)
        touch(page, 2, "3")
        page.wait_for_selector(".cell-clear:not([hidden])")
        assert [cell is not None for cell in look(page)["cells"]] == [False, False, True, False]
        page.get_by_role("button", name="Cell 3: what was here?").tap()
        page.wait_for_selector(".cover.told")
        page.get_by_role("button", name="Where was the 3?").tap()
        page.wait_for_function("() => document.querySelector('.asked').textContent === 'Where was the 3?'")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        page.get_by_role("button", name="Uncover").tap()
        page.wait_for_selector(".verdicts")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_it_is_watched_glimpse_by_glimpse_where_motion_is_wanted(browser: "Browser", scenes: str) -> None:
    with visiting(browser, scenes) as visit:
        page = opened(visit, scenes)
        draw(page, 0, "1")
        page.get_by_role("button", name="Look", exact=True).click()
        status(page, "Glimpse 1 of 3")
        status(page, "Glimpse 3 of 3")
        status(page, "Covered")


def test_tabs_are_links_and_every_control_has_a_name(visit: Visit) -> None:
    page = visit.page
    names = page.locator("#scene-desk").aria_snapshot()
    assert not re.search(r"^\s*- (button|combobox|slider|textbox)(:| \[|$)", names, re.MULTILINE), names
    page.get_by_role("link", name="Look").click()
    page.wait_for_selector(".player")
    assert not page.locator("#scene-desk").is_visible()
    options = page.locator("#model option").evaluate_all("all => all.map(one => one.value)")
    assert options == [SKETCHPAD], "a model of scenes is not offered for single digits"
    page.go_back()
    page.wait_for_selector(".cell-pad")


def test_a_server_that_is_gone_is_told(visit: Visit) -> None:
    page = visit.page
    draw(page, 0, "1")
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("button", name="Look", exact=True).click()
    page.wait_for_function("() => document.querySelector('[role=alert]').textContent.includes('does not answer')")
    page.unroute("**/api/**")
    visit.forgive("ERR_FAILED")
    look(page)


def test_a_look_that_comes_after_the_scene_was_cleared_is_not_shown(visit: Visit) -> None:
    page = visit.page
    draw(page, 0, "3")
    held: list[Any] = []
    page.route("**/api/remember", lambda route: held.append(route))
    with page.expect_request("**/api/remember"):
        page.get_by_role("button", name="Look", exact=True).click()
    page.get_by_role("button", name="Clear all").click()
    with page.expect_response("**/api/remember") as answered:
        held.pop().continue_()
    answered.value.finished()
    draw(page, 1, "7")  # Look can be pressed again once the answer was dropped
    page.wait_for_function("() => !document.querySelector('.tools .strong').disabled")
    assert page.locator("#recall-title").inner_text() == "What happens"
    page.unroute("**/api/remember")
    assert [cell is not None for cell in look(page)["cells"]] == [False, True, False, False]


def test_without_such_a_model_the_tab_says_so(browser: "Browser", home: str) -> None:
    with visiting(browser, home, reduced_motion="reduce") as visit:
        visit.page.goto(f"{home}#remember")
        visit.page.wait_for_selector(".nobody")
        assert "stawm serve --weights scenes-4-ask" in visit.page.locator(".nobody").inner_text()
        visit.page.get_by_role("link", name="Look").click()
        visit.page.wait_for_selector(".player")


def test_cells_stay_equal_when_some_were_asked_about(visit: Visit) -> None:
    page = visit.page
    draw(page, 0, "3")
    look(page)
    page.get_by_role("button", name="Cell 1: what was here?").click()
    page.wait_for_selector(".cover.told img")
    boxes = [page.locator(".cover").nth(place).bounding_box() for place in range(4)]
    heights = [box["height"] for box in boxes if box is not None]
    assert max(heights) - min(heights) < 1.5
    assert len(heights) == 4
