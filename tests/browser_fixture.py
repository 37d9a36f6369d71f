"""A real browser for tests: Debian's chromium or what else is there, through Playwright, and the server to visit."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
CURE = "no browser to test with; apt-get install chromium, pip install playwright"
STARTED = 150
"""Seconds that a server may take to answer for the first time."""


@dataclass
class Visit:
    """A page that is open in the browser, with everything that must not happen on it."""

    page: "Page"
    complaints: list[str] = field(default_factory=list)
    """Errors in the console, uncaught ones too."""
    strangers: list[str] = field(default_factory=list)
    """Requests to anywhere but the server under test."""

    def check(self) -> None:
        """Assert that nothing happened that must not."""
        assert not self.complaints, self.complaints
        assert not self.strangers, self.strangers

    def forgive(self, words: str) -> None:
        """Take out complaints that a test caused on purpose; there must be some."""
        kept = [complaint for complaint in self.complaints if words not in complaint]
        assert len(kept) < len(self.complaints), f"nothing complained of {words!r}"
        self.complaints[:] = kept


# Playwright keeps an event loop running in this thread, and other modules have tests with loops of their own:
# so the browser lasts for a module, not for the session.
@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """The browser, or a skip that says how to get one (a failure where STAWM_BROWSER=required)."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None or find_spec("playwright") is None:
        if os.environ.get("STAWM_BROWSER") == "required":
            pytest.fail(CURE, pytrace=False)
        pytest.skip(CURE)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield opened
        opened.close()


SIZE: "ViewportSize" = {"width": 1240, "height": 900}


@contextmanager
def visiting(browser: "Browser", home: str, **options: Any) -> Iterator[Visit]:
    """A new visit whose console and requests are watched; at its end there were no complaints and no strangers."""
    settings: dict[str, Any] = {"viewport": SIZE} | options
    context = browser.new_context(**settings)
    visit = Visit(context.new_page())
    page = visit.page
    page.set_default_timeout(30_000)
    page.on("console", lambda told: visit.complaints.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda failure: visit.complaints.append(str(failure)))

    def watched(route) -> None:
        if route.request.url.startswith(home):
            return route.continue_()
        visit.strangers.append(route.request.url)
        return route.abort()

    context.route("**/*", watched)
    try:
        yield visit
        visit.check()
    finally:
        context.close()


@contextmanager
def anew(visit: Visit, address: str) -> Iterator[Visit]:
    """The open page, loaded again as for a first visitor: a new browser context for each test takes twice as long."""
    page = visit.page
    page.unroute_all()
    page.mouse.up()
    page.set_viewport_size(SIZE)
    visit.complaints.clear()
    visit.strangers.clear()
    page.goto(address)
    page.wait_for_selector(".player")
    try:
        yield visit
        visit.check()
    finally:
        page.evaluate("() => localStorage.clear()")


@contextmanager
def serving(*weights: str, log: Path) -> Iterator[str]:
    """The address of a `stawm serve` in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "stawm", "serve", "--port", str(port), "--threads", "1", "--log", "none"]
    with log.open("wb") as told:
        process = subprocess.Popen([*command, "--weights", *weights], stdout=told, stderr=told)
    home = f"http://127.0.0.1:{port}/"
    try:
        _wait(process, home, log)
        yield home
    finally:
        process.terminate()
        process.wait(20)


def _wait(process: subprocess.Popen[bytes], home: str, log: Path) -> None:
    deadline = time.monotonic() + STARTED
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{home}api/health", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
