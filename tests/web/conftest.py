"""A real Chromium, a real server, and a page that must not complain."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gossamer import Index
from server.running import Running, running
from web.texts import DOCUMENTS, METADATA

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

CHROMIUM = os.environ.get("GOSSAMER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SWITCHES = [
    *("--no-sandbox", "--headless", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

Shot = Callable[["Page", str], None]


def small_index() -> Index:
    index = Index("lsa")
    index.add(list(DOCUMENTS.values()), list(DOCUMENTS), METADATA)
    return index


@contextmanager
def seen_by(page: Page, indexes: Mapping[str, Index], **options: Any) -> Iterator[Running]:
    """A server for one test. The page leaves it before it goes, so that nothing asks for what is no more."""
    with running(indexes, **options) as found:
        yield found
        page.goto("about:blank")


# Playwright's event loop lives in this thread until it is stopped, and other tests have loops of their own: so nothing
# here lives longer than a module.


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium here (Debian: apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"notes": small_index()}) as found:
        yield found


@pytest.fixture
def complaints() -> list[str]:
    """What the browser may complain about in this test: parts of its sentences."""
    return ["willReadFrequently"]  # tests look at the canvas; the page does not


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """A page of 1200 by 800, at the end of which no script has failed and no policy was broken."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    heard: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            heard.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.set_default_timeout(30_000)
    yield page
    context.close()
    assert [said for said in heard if not any(expected in said for expected in complaints)] == []


@pytest.fixture(scope="session")
def shot(tmp_path_factory: pytest.TempPathFactory) -> Shot:
    """Keep a picture: in the folder GOSSAMER_SCREENSHOTS, or in pytest's own."""
    named = os.environ.get("GOSSAMER_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        page.screenshot(path=folder / f"{name}.png")

    return take
