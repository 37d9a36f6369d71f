"""A report opened from disk in a real browser, with networking off."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from browser_fixture import Visit, anew, visiting
from sample_looks import HOSTILE, look, picture
from stawm.page.report import open_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where a report of models of every kind is."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    with open_report(path, title=HOSTILE, model="mnist-5k-sketchpad") as writer:
        writer.add(look("three.png", memory=True))
        writer.add(look(HOSTILE, prediction="7", draws=False))
        other = {"count": {"value": 3, "shares": [0.5, 0.25]}, "edges": {"map": picture(4, 4)}}
        writer.add(look("face.png", prediction=None, size=(60, 24), answers=other))
        unsure = {"score": 0.21, "recognised": False}
        writer.add(look("one of many.png", prediction="41", classes=100, glimpses=12, familiar=unsure))
        writer.add(look("blank.png", prediction=None, found=0, draws=False))
        for place in range(60):
            writer.add(look(f"more {place}.png", prediction=str(place % 3), glimpses=2))
    return path.as_uri()


@pytest.fixture(scope="module")
def reader(browser: "Browser", address: str) -> Iterator[Visit]:
    with visiting(browser, address, offline=True, reduced_motion="reduce") as visit:
        yield visit


@pytest.fixture
def report(reader: Visit, address: str) -> Iterator[Visit]:
    """The report, opened without a network."""
    with anew(reader, address) as visit:
        yield visit


def card(visit: Visit, place: int) -> "Locator":
    found = visit.page.locator("article").nth(place)
    found.scroll_into_view_if_needed()
    found.locator(".player").wait_for()
    return found


def names(visit: Visit) -> list[str]:
    """The names on the cards, in their order; those out of sight are not laid out and have no inner text."""
    return visit.page.locator("article h2").all_text_contents()


def test_its_player_steps_without_a_network(report: Visit) -> None:
    three = card(report, 0)
    assert three.locator(".prediction").inner_text() == "3"
    assert three.locator(".stage").count() == 2
    three.get_by_role("slider", name="Glimpse").fill("2")
    assert three.locator(".after").inner_text() == "After glimpse 2: 3, 65 %"
    assert three.locator(".stage").first.locator("polygon").count() == 2
    three.locator(".player").focus()
    report.page.keyboard.press("ArrowRight")
    assert three.locator(".after").inner_text() == "After glimpse 3: 3, 78 %"
    bar = three.locator(".bar.best")
    assert (bar.locator(".label").inner_text(), bar.locator(".value").inner_text()) == ("3", "78 %")
    report.page.keyboard.press("Home")
    report.page.keyboard.press("Space")
    report.page.wait_for_function("() => document.querySelector('.where').textContent.startsWith('4')")


def test_a_hostile_name_is_only_shown(report: Visit) -> None:
    assert report.page.evaluate("window.hurt") is None
    assert report.page.locator("h1").inner_text() == HOSTILE
    assert report.page.title() == HOSTILE
    assert card(report, 1).locator("h2").inner_text() == HOSTILE
    assert report.page.locator("img[src=x]").count() == 0


def test_models_that_only_classify_or_only_draw_are_shown(report: Visit) -> None:
    classifier = card(report, 1)
    assert (classifier.locator(".stage").count(), classifier.locator(".bar").count()) == (1, 10)
    painter = card(report, 2)
    assert (painter.locator(".stage").count(), painter.locator(".bar").count()) == (2, 0)
    assert painter.locator(".after").inner_text() == "Glimpse 4 of 4"
    box = painter.locator(".stage img").first.bounding_box()
    assert box is not None
    assert box["width"] / box["height"] == pytest.approx(60 / 24, rel=0.02)


def test_nothing_to_see_is_said_in_place_of_an_answer(report: Visit) -> None:
    blank = card(report, 4)
    told = [blank.locator(place).text_content() for place in (".prediction", "header p")]
    assert told == ["Nothing to see"] * 2
    assert (blank.locator(".bar").count(), blank.locator(".small").count()) == (0, 0)


def test_what_other_heads_answer_is_told_in_lines(report: Visit) -> None:
    lines = card(report, 2).locator(".answers p")
    assert lines.all_inner_texts()[0] == "count: value 3, shares 0.5 0.25"
    assert lines.nth(1).locator("img").count() == 1
    assert card(report, 0).locator(".answers").count() == 0


def test_of_many_classes_the_likeliest_have_bars(report: Visit) -> None:
    many = card(report, 3)
    assert many.locator(".bar").count() == 8
    assert many.locator(".bar.best .label").inner_text() == "41"
    assert many.locator(".frame").count() == 12


def test_the_memory_is_in_it_when_it_was_asked_for(report: Visit) -> None:
    three = card(report, 0)
    three.get_by_text("Inside the memory").click()
    three.locator(".memory").wait_for()
    assert three.locator(".heat tbody td").count() == 16
    three.get_by_role("slider", name="Glimpse").fill("1")
    assert "after glimpse 1; norm 1.00" in three.locator(".memory").inner_text()
    assert three.locator(".heat td.later").count() == 15


def test_pictures_are_counted_filtered_found_and_ordered(report: Visit) -> None:
    page = report.page
    assert page.locator("#total").inner_text() == "65"
    chips = page.locator(".classes button")
    assert chips.all_inner_texts() == ["all65", "020", "120", "220", "31", "71", "411"]
    chips.nth(3).click()
    assert page.locator("article").count() == 20
    assert page.locator("#found").inner_text() == "20 of 65 shown"
    page.get_by_role("searchbox", name="Name").fill("MORE 5")
    found = [f"more {place}.png" for place in (5, 50, 53, 56, 59)]
    assert names(report) == found
    page.get_by_role("searchbox", name="Name").fill("")
    chips.first.click()
    page.get_by_role("combobox", name="Order").select_option("by name")
    assert names(report)[1:4] == ["blank.png", "face.png", "more 0.png"]


def test_players_are_made_when_they_come_into_sight(report: Visit) -> None:
    page = report.page
    assert page.locator("article").count() == 65
    assert page.locator(".player").count() < 20
    last = card(report, 64)
    assert last.locator("h2").inner_text() == "more 59.png"
    assert last.locator(".prediction").inner_text() == "2"


def test_a_report_fits_a_phone(report: Visit) -> None:
    page = report.page
    page.set_viewport_size({"width": 360, "height": 740})
    page.evaluate("scrollTo(0, 0)")
    for place in range(4):
        card(report, place)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_picture_that_is_not_recognised_is_said_to_be_so(report: Visit) -> None:
    strange = card(report, 3)
    assert strange.locator("header p").inner_text() == "I don't recognise this"
    assert strange.locator(".unsure").inner_text().startswith("I don't recognise this\nFamiliar to 21 %")
    assert strange.locator(".prediction").inner_text() == "41"
    assert card(report, 0).locator(".unsure").count() == 0
