"""The page of `stawm serve` in a real browser, with the weights that come with the package."""

import base64
import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from browser_fixture import Visit, serving, visiting
from stawm.data.load import load_data
from stawm.experiments.build import build
from stawm.experiments.presets import preset
from stawm.training.weights import export

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SKETCHPAD = "mnist-5k-sketchpad"
GLIMPSES = 6
STROKES = {
    "1": [[(0.52, 0.15), (0.5, 0.5), (0.48, 0.85)]],
    "3": [
        [(0.3, 0.2), (0.5, 0.13), (0.66, 0.2), (0.68, 0.33), (0.55, 0.45), (0.44, 0.48)],
        [(0.44, 0.48), (0.6, 0.52), (0.7, 0.64), (0.66, 0.8), (0.5, 0.88), (0.3, 0.8)],
    ],
    "7": [[(0.27, 0.18), (0.5, 0.19), (0.73, 0.18), (0.6, 0.45), (0.48, 0.85)]],
}
"""Digits as a hand draws them, in shares of the pad."""


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the shipped sketchpad, and with a classifier that has learnt nothing."""
    folder = tmp_path_factory.mktemp("serve")
    experiment = preset("mnist-5k-classify")
    export(build(experiment.model), experiment, folder / "untrained")
    with serving(SKETCHPAD, str(folder / "untrained"), log=folder / "log") as address:
        yield address


@pytest.fixture
def visit(browser: "Browser", home: str) -> Iterator[Visit]:
    """The page, when it has looked at its first example; nothing moves unless it is told to."""
    with visiting(browser, home, reduced_motion="reduce") as visit:
        visit.page.goto(home)
        visit.page.wait_for_selector(".player")
        yield visit


def says(page: "Page", answer: str) -> None:
    page.wait_for_function("answer => document.querySelector('.prediction')?.textContent === answer", arg=answer)


def draw(page: "Page", strokes: list[list[tuple[float, float]]], *, lift: bool = True) -> None:
    box = page.locator("#pad").bounding_box()
    assert box is not None
    for stroke in strokes:
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=6)
        if lift:
            page.mouse.up()


def upload(page: "Page", name: str, content: bytes) -> None:
    page.set_input_files("#file", files=[{"name": name, "mimeType": "image/png", "buffer": content}])


def shown(page: "Page") -> int:
    """The number of the glimpse that is shown."""
    return int(page.locator(".where").inner_text().split("/")[0])


def a_digit(label: int, *, dark: bool = False) -> bytes:
    """A held-out digit as a PNG file of another size, dark on light if asked."""
    test = load_data("mnist-5k").test
    place = int((test.labels == label).nonzero()[3])
    image = Image.fromarray(test.images[place, 0].numpy()).resize((120, 120), Image.Resampling.BICUBIC)
    content = BytesIO()
    (ImageOps.invert(image) if dark else image).save(content, "PNG")
    return content.getvalue()


@pytest.mark.parametrize("digit", STROKES)
def test_a_digit_drawn_with_the_mouse_is_read(visit: Visit, digit: str) -> None:
    page = visit.page
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".player").count() == 0
    draw(page, STROKES[digit])
    says(page, digit)
    assert page.locator("#status").inner_text().startswith(f"It says {digit}, ")
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
    page.locator(".player").focus()
    page.keyboard.press("Home")
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


def test_a_broken_upload_is_told_on_the_page(visit: Visit) -> None:
    page = visit.page
    upload(page, "torn.png", b"\x89PNG torn")
    alert = page.get_by_role("alert")
    page.wait_for_function("() => document.querySelector('[role=alert]').textContent")
    assert "torn.png" in alert.inner_text()
    assert "PNG" in alert.inner_text()
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
    assert "redraws" not in page.locator(".intro p").inner_text()


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
        wide = "all => all.filter(one => one.getBoundingClientRect().right > 360.5).map(one => one.outerHTML)"
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
