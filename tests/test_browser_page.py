"""The page of `stawm serve` in a real browser, with the weights that come with the package."""

import base64
import json
import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from browser_fixture import Visit, visiting
from page_fixture import GLIMPSES, a_digit, draw, says, shown, upload

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_every_glimpse_can_be_stepped_to(visit: Visit) -> None:
    page = visit.page
    assert shown(page) == GLIMPSES
    page.get_by_role("button", name="Previous glimpse").click()
    assert shown(page) == GLIMPSES - 1
    canvas = page.locator(".stage img").nth(1)
    before = canvas.get_attribute("src")
    slider = page.get_by_role("slider", name="Glimpse")
    slider.fill("2")
    assert shown(page) == 2
    assert canvas.get_attribute("src") != before
    assert page.locator(".stage").first.locator("polygon").count() == 2
    assert re.fullmatch(r"after glimpse 2: \d, \d+ %", slider.get_attribute("aria-valuetext") or "")
    slider.press("ArrowRight")
    assert shown(page) == 3
    page.locator(".player").focus()
    for key, there in {"ArrowRight": 4, "ArrowLeft": 3, "Home": 1, "End": GLIMPSES}.items():
        page.keyboard.press(key)
        assert shown(page) == there
    page.get_by_role("button", name=re.compile("^Glimpse 5")).click()
    assert shown(page) == 5
    assert page.locator(".player [role=status]").inner_text().startswith("after glimpse 5: ")


def test_space_plays_to_the_end_and_pauses(visit: Visit) -> None:
    page = visit.page
    page.locator(".player").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Pause").is_visible()
    page.wait_for_function("() => document.querySelector('.where').textContent.startsWith('3')")
    page.keyboard.press("Space")
    stopped = shown(page)
    assert page.get_by_role("button", name="Play").is_visible()
    page.wait_for_timeout(1000)
    assert shown(page) == stopped


def test_a_look_plays_by_itself_unless_motion_is_unwanted(browser: "Browser", home: str, visit: Visit) -> None:
    assert shown(visit.page) == GLIMPSES
    with visiting(browser, home) as moving:
        moving.page.goto(home)
        moving.page.wait_for_selector(".player")
        assert moving.page.get_by_role("button", name="Pause").is_visible()
        assert shown(moving.page) < GLIMPSES
        moving.page.wait_for_selector("button[aria-label=Play]")
        assert shown(moving.page) == GLIMPSES


def test_a_picture_is_uploaded_and_its_preparation_told(visit: Visit) -> None:
    page = visit.page
    hurting = "<img src=x onerror=document.title='hurt'>.png"
    upload(page, hurting, a_digit(4, dark=True))
    says(page, "4")
    assert "dark on light" in page.locator("#notes").inner_text()
    assert page.locator("#hint").inner_text() == hurting
    assert "hurt" not in page.title()


def test_nothing_and_too_much_on_a_sheet_are_said(visit: Visit) -> None:
    page = visit.page
    sheet, content = Image.new("L", (300, 200), 230), BytesIO()
    sheet.save(content, "PNG")
    upload(page, "blank.png", content.getvalue())
    says(page, "Nothing to see")
    assert page.locator("#status").inner_text() == "Nothing to see"
    assert (page.locator(".bar").count(), page.locator("#overlay polygon").count()) == (0, 0)
    page.get_by_role("button", name="Clear").click()
    draw(page, [[(0.25, 0.2), (0.25, 0.8)], [(0.7, 0.2), (0.7, 0.8)]])
    page.wait_for_function("() => document.querySelector('#notes').textContent.includes('2 separate things')")
    assert page.locator("#status").inner_text().endswith("(of 2 things)")


def test_a_broken_upload_is_told_on_the_page(visit: Visit) -> None:
    page = visit.page
    upload(page, "torn.png", b"\x89PNG torn")
    alert = page.get_by_role("alert")
    page.wait_for_function("() => document.querySelector('[role=alert]').textContent")
    assert "torn.png" in alert.inner_text()
    assert "PNG" in alert.inner_text()
    assert page.locator("#player").inner_text() == "Nothing to look at yet.", "the look at what was there before"
    assert page.locator("#status").inner_text() == ""
    visit.forgive("422")
    page.get_by_role("button", name="Example: a 0").first.click()
    says(page, "0")
    assert alert.inner_text() == ""


@pytest.mark.parametrize("way", ["drop", "paste"])
def test_a_picture_is_dropped_or_pasted(visit: Visit, way: str) -> None:
    visit.page.evaluate(
        """([way, content]) => {
            const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
            const carried = new DataTransfer();
            carried.items.add(new File([bytes], "carried.png", { type: "image/png" }));
            const event = way === "drop"
              ? new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true })
              : new ClipboardEvent("paste", { clipboardData: carried, bubbles: true });
            document.body.dispatchEvent(event);
        }""",
        [way, base64.b64encode(a_digit(6)).decode()],
    )
    says(visit.page, "6")
    assert visit.page.locator("#hint").inner_text() == "carried.png"


def test_examples_are_picked_with_the_keyboard(visit: Visit) -> None:
    page = visit.page
    chosen = page.get_by_role("button", name="Example: a 8").first
    chosen.focus()
    page.keyboard.press("Enter")
    says(page, "8")
    assert chosen.evaluate("button => document.activeElement === button")


def test_the_memory_grows_with_the_glimpses(visit: Visit) -> None:
    page = visit.page
    assert page.locator(".memory").count() == 0
    page.get_by_role("button", name="Show the memory").click()
    page.wait_for_selector(".memory")
    page.locator(".player").focus()
    states = []
    for key in ("Home", *["ArrowRight"] * (GLIMPSES - 1)):
        page.keyboard.press(key)
        norm = re.search(r"norm ([\d.]+)", page.locator(".memory").inner_text())
        assert norm is not None
        states.append((page.locator(".matrix").get_attribute("src"), float(norm[1])))
    assert len({matrix for matrix, _ in states}) == GLIMPSES
    assert states[0][1] < states[-1][1]
    assert page.locator(".values rect").count() >= 1
    assert page.locator(".heat tbody td").count() == GLIMPSES**2
    diagonal = [page.locator(".heat tbody tr").nth(place).locator("td").nth(place) for place in range(GLIMPSES)]
    assert [cell.inner_text() for cell in diagonal] == ["1.00"] * GLIMPSES
    assert page.locator(".recalls li").count() == GLIMPSES
    page.get_by_role("button", name="Hide the memory").click()
    assert not page.locator("#memory").is_visible()


def test_the_other_model_answers_when_it_is_chosen(visit: Visit) -> None:
    page = visit.page
    assert page.locator(".stage").count() == 2
    other = page.locator("#model option").nth(1).get_attribute("value")
    with page.expect_request("**/api/look") as asked:
        page.get_by_role("combobox", name="Model").select_option(other)
    assert json.loads(asked.value.post_data or "")["model"] == other
    page.wait_for_function("() => document.querySelectorAll('.stage').length === 1")
    assert "redraws" not in page.locator(".intro p:visible").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(browser: "Browser", home: str, scheme: str) -> None:
    size = {"width": 360, "height": 740}
    with visiting(browser, home, viewport=size, color_scheme=scheme, has_touch=True, reduced_motion="reduce") as visit:
        page = visit.page
        page.goto(home)
        page.wait_for_selector(".player")
        page.get_by_role("button", name="Show the memory").click()
        page.wait_for_selector(".memory")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        # An outline may leave the picture, which cuts it off: shapes within a picture are as wide as that.
        wide = "one => !one.ownerSVGElement && one.getBoundingClientRect().right > 360.5"
        wide = f"all => all.filter({wide}).map(one => one.outerHTML)"
        assert page.locator("main *, .memory *").evaluate_all(wide) == []
        paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 384) == (scheme == "light")


def test_the_chosen_colours_are_kept(visit: Visit) -> None:
    page = visit.page
    page.get_by_role("button", name="Use dark colours").click()
    page.reload()
    assert page.get_by_role("button", name="Use light colours").is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_a_server_that_is_gone_is_told_and_waited_for(visit: Visit) -> None:
    page = visit.page
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("button", name="Example: a 1").first.click()
    page.wait_for_function("() => document.querySelector('[role=alert]').textContent.includes('does not answer')")
    page.unroute("**/api/**")
    says(page, "1")
    assert page.get_by_role("alert").inner_text() == ""
    visit.forgive("ERR_FAILED")


def test_a_full_queue_is_told_and_asked_again(visit: Visit) -> None:
    page = visit.page
    refusals: list[str] = []

    def refuse_once(route) -> None:
        if refusals:
            return route.fallback()
        refusals.append(route.request.url)
        return route.fulfill(status=503, headers={"Retry-After": "1"}, json={"detail": "the queue is full"})

    page.route("**/api/look", refuse_once)
    page.get_by_role("button", name="Example: a 0").first.click()
    page.wait_for_function("() => document.querySelector('[role=alert]').textContent === 'The queue is full'")
    says(page, "0")
    assert page.get_by_role("alert").inner_text() == ""
    visit.forgive("503")


def test_every_control_has_a_name_and_can_be_reached(visit: Visit) -> None:
    page = visit.page
    controls = page.locator("button:visible, select:visible, input:visible:not([tabindex='-1']), a:visible")
    assert controls.evaluate_all("all => all.filter(one => one.tabIndex < 0).map(one => one.outerHTML)") == []
    names = page.locator("main").aria_snapshot()
    assert not re.search(r"^\s*- (button|combobox|slider|textbox)(:| \[|$)", names, re.MULTILINE), names


def test_only_files_of_the_page_are_asked_for(browser: "Browser", home: str) -> None:
    with visiting(browser, home, reduced_motion="reduce") as visit:
        asked: list[str] = []
        visit.page.on("request", lambda request: asked.append(request.url))
        visit.page.goto(home)
        visit.page.wait_for_selector(".player")
        assert {address for address in asked if not address.startswith((home, "data:"))} == set()
        files = {Path(address).name for address in asked if "/static/" in address}
        assert {"page.js", "player.js", "style.css"} <= files
