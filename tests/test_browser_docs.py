"""The page that describes the API, in a real browser."""

from typing import TYPE_CHECKING

from browser_fixture import visiting
from live_server import thread

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_description_of_the_api_is_drawn_and_can_be_tried(browser: "Browser"):
    with thread() as port, visiting(browser, f"http://127.0.0.1:{port}/") as visit:
        page = visit.page
        page.goto(f"http://127.0.0.1:{port}/api/docs")
        page.wait_for_selector("article")
        headings = page.locator("article h2 code").all_text_contents()
        assert headings[:3] == ["POST /api/look", "POST /api/remember", "POST /api/ask"]
        assert set(headings[3:]) == {f"GET /api/{name}" for name in ("models", "examples", "health", "metrics")}
        look = page.locator("article", has_text="POST /api/look")
        fields = look.locator("table").first.locator("td:first-child").all_text_contents()
        assert fields == ["images", "names", "model", "memory"]
        told = look.inner_text()
        for words in ("application/json", "list of Glimpse", '"sketchpad"', "503", "Retry-After", "singular_values"):
            assert words in told
        page.get_by_role("button", name="GET /api/health").click()
        # A function, not an expression: Playwright evaluates expressions, which the page's policy forbids.
        page.wait_for_function("""() => document.body.innerText.includes('"status":"ok"')""")
        assert f"http://127.0.0.1:{port}/api/look" in page.locator("#terminal").inner_text()
