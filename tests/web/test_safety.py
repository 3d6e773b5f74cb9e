"""What a page must never do, and what it says when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer import Index
from gossamer.server.keys import KeyRing, add_key
from server.running import Running, running
from web.conftest import Shot, seen_by, small_index
from web.test_page import ids
from web.texts import DOCUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser

SCRIPT = "<script>window.pwned = 1</script>"
IMAGE = "<img src=x onerror='window.pwned = 2'>"
LINK = "javascript:window.pwned=3//"
HOSTILE = {
    f"{SCRIPT}one": f"kitchen attack {SCRIPT}{IMAGE} soup",
    f'"><svg onload="window.pwned=4">{IMAGE}': f"{IMAGE} kitchen attack {LINK} </textarea></dialog> soup",
    f"{LINK}two": f"kitchen attack {{{{constructor}}}} ${{alert(1)}} <a href='{LINK}'>soup</a>",
}


@pytest.fixture(scope="module")
def hostile() -> Iterator[Running]:
    index = small_index()
    index.add(list(HOSTILE.values()), list(HOSTILE), [{f"{IMAGE}key": SCRIPT, "link": LINK} for _ in HOSTILE])
    with running({"hostile": index}) as found:
        yield found


def test_a_hostile_document_is_only_text(page: Page, hostile: Running, shot: Shot) -> None:
    page.goto(f"{hostile.url}/?q=kitchen attack soup")
    page.wait_for_selector(".hit")
    assert set(HOSTILE) <= set(ids(page))
    for at in range(3):
        page.click(f".hit >> nth={at} >> .reason")
        page.wait_for_selector(".why")
    shot(page, "hostile")
    texts = page.locator(".hit .text").all_inner_texts()
    assert any(SCRIPT in text for text in texts)
    canvas = page.locator("#canvas").bounding_box()
    assert canvas is not None
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        page.mouse.move(canvas["x"] + share * canvas["width"], canvas["y"] + 0.95 * canvas["height"])
        page.wait_for_timeout(160)
    for hit in hostile.http.post("/v1/search", json={"query": "attack", "k": 3}).json()["hits"]:
        page.goto(f"{hostile.url}/?at={hit['path'][-1]['id']}")
        page.wait_for_selector("h1.id")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main script, main img, main svg, [onerror], [onload], a[href^='javascript']").count() == 0


def test_a_hostile_address_is_only_text(page: Page, hostile: Running, complaints: list[str]) -> None:
    complaints.append("404")
    page.goto(f"{hostile.url}/?q={IMAGE}{SCRIPT}&why={IMAGE}&at=99999999&in={SCRIPT}&k=-1")
    page.wait_for_selector("#why-not .notice")
    assert page.input_value("#query") == IMAGE + SCRIPT
    assert page.evaluate("window.pwned") is None
    assert "at=" not in page.url  # there is no such concept, so everything is shown


def test_scripts_and_styles_from_within_are_refused(page: Page, hostile: Running, complaints: list[str]) -> None:
    complaints.append("Content Security Policy")
    page.goto(hostile.url)
    page.wait_for_selector(".card")
    page.evaluate(
        """() => { const script = document.createElement("script"); script.textContent = "window.pwned = 5";
            document.body.append(script); document.body.setAttribute("style", "display: none"); }"""
    )
    assert page.evaluate("window.pwned") is None
    assert page.is_visible(".card")


def test_the_server_is_gone_and_comes_back(page: Page, complaints: list[str], shot: Shot) -> None:
    complaints.append("ERR_CONNECTION_REFUSED")
    complaints.append("ERR_INTERNET_DISCONNECTED")
    with running({"notes": small_index()}) as service:
        page.goto(service.url)
        page.wait_for_selector(".card")
        page.context.set_offline(True)
        page.fill("#query", "soup")
        page.press("#query", "Enter")
        page.wait_for_selector(".failure h2:has-text('The server does not answer')")
        shot(page, "offline")
        page.context.set_offline(False)
        page.click(".failure button")
        page.wait_for_selector(".hit")
    page.fill("#query", "bread")
    page.press("#query", "Enter")
    page.wait_for_selector(".failure h2:has-text('The server does not answer')")


def test_a_slow_answer_shows_shapes_and_a_late_one_is_not_shown(page: Page, hostile: Running, shot: Shot) -> None:
    page.goto(hostile.url)
    page.wait_for_selector(".card")

    def delay(route: Route) -> None:
        if "slow" in (route.request.post_data or ""):
            page.wait_for_timeout(600)
        route.continue_()

    page.route("**/v1/search", delay)
    page.fill("#query", "slow soup")
    page.press("#query", "Enter")
    page.wait_for_selector("#list .skeleton")
    shot(page, "loading")
    page.fill("#query", "planet")
    page.press("#query", "Enter")
    page.wait_for_selector(".hit")
    page.wait_for_timeout(800)
    assert page.locator("#status").inner_text() == "10 answers for planet"
    page.fill("#query", "slow bread")
    page.press("#query", "Enter")
    page.fill("#query", "")
    page.press("#query", "Enter")
    page.wait_for_selector(".card")
    page.wait_for_timeout(800)
    assert page.locator(".hit").count() == 0


def test_an_empty_index_says_how_to_fill_it(page: Page, shot: Shot) -> None:
    with seen_by(page, {"empty": Index("lsa")}) as service:
        page.goto(service.url)
        page.wait_for_selector("h1:has-text('Nothing here yet')")
        shot(page, "empty")
        page.goto(f"{service.url}/?q=anything")
        page.wait_for_selector("h2:has-text('No answers')")
        page.click("#add")
        page.fill("#new-text", "the first one of all")
        page.click("dialog button[type=submit]")
        page.wait_for_selector("h1:has-text('It landed here')")


def test_a_key_is_asked_for_and_kept_in_this_tab(page: Page, tmp_path: Path, complaints: list[str], shot: Shot) -> None:
    complaints.append("401")
    _, token = add_key(tmp_path / "keys.json", "read")
    with seen_by(page, {"notes": small_index()}, keys=KeyRing(tmp_path / "keys.json")) as service:
        page.goto(service.url)
        page.wait_for_selector("dialog")
        shot(page, "key")
        page.fill("#key", "gsm_wrong_key")
        page.press("#key", "Enter")
        page.wait_for_selector("dialog .notice")
        page.fill("#key", token)
        page.press("#key", "Enter")
        page.wait_for_selector(".card")
        assert not page.is_visible("#add")  # a key for reading
        assert page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]") == [1, 0, ""]
        page.reload()
        page.wait_for_selector(".card")
        page.goto(f"{service.url}/?q=soup")
        page.wait_for_selector(".hit")


def test_several_indexes_are_chosen_from(page: Page) -> None:
    other = Index("lsa")
    other.add(list(DOCUMENTS.values())[:12], list(DOCUMENTS)[:12])
    with seen_by(page, {"all": small_index(), "kitchen": other}, read_only=True) as service:
        page.goto(service.url)
        page.wait_for_selector(".card")
        assert not page.is_visible("#add")
        page.select_option("#indexes", "kitchen")
        page.wait_for_selector(".lead:has-text('12 documents')")
        page.fill("#query", "telescope")
        page.press("#query", "Enter")
        page.wait_for_selector(".hit")
        assert "index=kitchen" in page.url
        assert all(id.startswith("kitchen/") for id in ids(page))
