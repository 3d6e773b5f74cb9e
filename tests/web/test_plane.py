"""The plane: points and labels, hovering, picking, the lasso, answers, keys, and themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from scipy.spatial import cKDTree

from bag import encode
from explain.corpus import documents
from gossamer import Index, Plane
from server.running import Running, running
from web.conftest import Shot
from web.test_page import address, ask

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

COLOURS = """() => { // different colours of points, the background aside
    const canvas = document.querySelector("#plane .points");
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Map();
    for (let at = 0; at < data.length; at += 4) {
        const key = `${data[at]},${data[at + 1]},${data[at + 2]}`;
        seen.set(key, (seen.get(key) ?? 0) + 1);
    }
    return [...seen.values()].filter((count) => count > 30).length - 1;
}"""
INK = """(amber) => { // pixels of the overlay: all that are drawn, or those that shine as answers do
    const canvas = document.querySelector("#plane .over");
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let drawn = 0;
    for (let at = 0; at < data.length; at += 4) {
        const shines = data[at] > 190 && data[at] - data[at + 2] > 90;
        if (data[at + 3] > 60 && (shines || !amber)) drawn += 1;
    }
    return drawn;
}"""


@pytest.fixture(scope="module")
def gardens() -> Iterator[Running]:
    index = Index(encode)
    texts, themes = documents(600)
    index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
    with running({"gardens": index}) as found:
        yield found


def opened(page: Page, service: Running, query: str = "?view=plane") -> Plane:
    """The page with the plane on it, labels and all."""
    with page.expect_response(lambda response: "/plane/regions?level=2" in response.url):
        page.goto(f"{service.url}/{query}")
    page.wait_for_function(f"() => ({COLOURS})() > 2 && ({INK})(false) > 300")
    return Plane.from_bytes(service.http.get("/v1/plane", params={"ids": True, "labels": True}).content)


def on_screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a place of the plane is while everything is shown."""
    box = page.locator("#plane .over").bounding_box()
    assert box is not None
    side = min(box["width"], box["height"])
    return box["x"] + box["width"] / 2 + (x - 0.5) * side, box["y"] + box["height"] / 2 + (y - 0.5) * side


def lonely(plane: Plane) -> int:
    """A point far from all labels and all other points, so that a pointer can pick it."""
    distances = cKDTree(plane.positions).query(plane.positions, k=2)[0][:, 1]
    labels = cKDTree([(region.x, region.y) for level in plane.regions for region in level])
    far = labels.query(plane.positions)[0]
    return int((distances * (far > 0.03)).argmax())


def test_the_switch_shows_the_plane_and_the_map_again(page: Page, gardens: Running, shot: Shot) -> None:
    page.goto(gardens.url)
    page.wait_for_selector("#views button[aria-pressed=true]:has-text('Map')")
    assert page.locator("#plane").is_hidden()
    page.click("#views button:has-text('Plane')")
    page.wait_for_function(f"() => ({COLOURS})() > 2")
    shot(page, "plane")
    assert address(page)["view"] == "plane"
    assert page.locator("#canvas").is_hidden()
    page.go_back()
    page.wait_for_selector("#canvas:visible")
    assert page.locator("#plane").is_hidden()


def test_hovering_a_point_shows_its_text(page: Page, gardens: Running) -> None:
    plane = opened(page, gardens)
    point = lonely(plane)
    page.mouse.move(*on_screen(page, *plane.positions[point].tolist()))
    page.wait_for_selector(f"#tip:visible strong:has-text('{plane.ids[point]}')")
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")


def test_a_click_on_a_point_shows_its_document(page: Page, gardens: Running) -> None:
    plane = opened(page, gardens)
    point = lonely(plane)
    page.mouse.click(*on_screen(page, *plane.positions[point].tolist()))
    page.wait_for_selector(f"#list h1:has-text('{plane.ids[point]}')")


def test_a_click_on_a_label_zooms_to_its_concept(page: Page, gardens: Running, shot: Shot) -> None:
    plane = opened(page, gardens)
    region = plane.regions[0][0]
    before = page.evaluate(INK, False)
    page.mouse.click(*on_screen(page, region.x, region.y))
    page.wait_for_selector(f"#list h1:has-text('{region.label}')")
    assert int(address(page)["at"]) == region.concept
    page.wait_for_function(f"(before) => ({INK})(false) !== before", arg=before)
    shot(page, "plane-zoomed")
    page.locator("#plane .over").focus()
    page.keyboard.press("Backspace")
    page.wait_for_function("() => !new URL(location).searchParams.has('at')")


def lasso(page: Page, places: list[tuple[float, float]]) -> None:
    page.mouse.move(*on_screen(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*on_screen(page, *place), steps=4)
    page.mouse.up()


def test_the_lasso_lists_documents_and_their_concept(page: Page, gardens: Running, shot: Shot) -> None:
    plane = opened(page, gardens)
    region = plane.regions[0][0]
    side = 1.1 * region.radius
    corners = [(-side, -side), (side, -side), (side, side), (-side, side)]
    box = [(min(1.0, max(0.0, region.x + x)), min(1.0, max(0.0, region.y + y))) for x, y in corners]
    low, high = box[0], box[2]
    inside = ((plane.positions > low) & (plane.positions < high)).all(axis=1).sum()
    page.click("#plane button:has-text('Lasso')")
    lasso(page, box)
    page.wait_for_selector("#list h1:has-text('documents chosen')")
    shot(page, "plane-lasso")
    count = int(page.inner_text("#list h1").split()[0].replace(",", ""))
    assert abs(count - inside) <= 0.1 * inside + 3
    assert region.label in page.locator("#list .chip").all_inner_texts()
    assert page.locator("#list .chosen .hit").count() == 30
    page.click("#list button:has-text('Show more')")
    page.wait_for_function("() => document.querySelectorAll('#list .chosen .hit').length > 30")
    assert page.get_attribute("#plane button:has-text('Lasso')", "aria-pressed") == "false"
    page.click(f"#list .chip:has-text('{region.label}')")
    page.wait_for_selector(f"#list h1:has-text('{region.label}')")


def test_the_answers_of_a_query_shine(page: Page, gardens: Running, shot: Shot) -> None:
    opened(page, gardens)
    assert page.evaluate(INK, True) == 0
    ask(page, "violin concert")
    page.wait_for_selector(".hit")
    page.wait_for_function(f"() => ({INK})(true) > 100")
    shot(page, "plane-hits")
    page.goto(f"{gardens.url}/?view=plane&q=violin concert")
    page.wait_for_function(f"() => ({INK})(true) > 100")


def test_keys_move_zoom_and_speak(page: Page, gardens: Running) -> None:
    plane = opened(page, gardens)
    page.locator("#plane .over").focus()
    for key in ("+", "+", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_function("() => spoken.textContent.includes('documents')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => new URLSearchParams(location.search).has('at')")
    assert int(address(page)["at"]) in {region.concept for level in plane.regions for region in level}
    page.keyboard.press("0")
    page.wait_for_function("() => !new URLSearchParams(location.search).has('at')")
    page.keyboard.press("l")
    assert page.get_attribute("#plane button:has-text('Lasso')", "aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert page.get_attribute("#plane button:has-text('Lasso')", "aria-pressed") == "false"


def test_the_wheel_zooms_and_dragging_moves(page: Page, gardens: Running) -> None:
    opened(page, gardens)
    picture = "() => document.querySelector('#plane .points').toDataURL()"
    first = page.evaluate(picture)
    page.mouse.move(*on_screen(page, 0.4, 0.4))
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"(before) => ({picture})() !== before", arg=first)
    second = page.evaluate(picture)
    page.mouse.down()
    page.mouse.move(*on_screen(page, 0.6, 0.6), steps=3)
    page.mouse.up()
    page.wait_for_function(f"(before) => ({picture})() !== before", arg=second)


def test_an_added_document_is_on_the_plane(page: Page, shot: Shot) -> None:
    index = Index(encode)
    index.add(documents(60)[0])
    with running({"small": index}) as service:
        page.goto(f"{service.url}/?view=plane")
        page.wait_for_function(f"() => ({COLOURS})() > 0")
        with page.expect_response(lambda response: response.url.endswith("/v1/plane")) as answer:
            page.click("#add")
            page.fill("dialog textarea", "violin concert melody")
            page.click("dialog button.primary")
        assert len(Plane.from_bytes(answer.value.body()).positions) == 61
        page.goto("about:blank")


@pytest.mark.parametrize("complaints", [["willReadFrequently", "status of 503"]])
def test_a_plane_that_cannot_be_loaded_says_so(page: Page, gardens: Running) -> None:
    failing: list[Any] = []

    def refuse(route: Any) -> None:
        failing.append(route)
        route.fulfill(status=503, json={"detail": "busy just now"}) if len(failing) == 1 else route.continue_()

    page.route("**/v1/plane", refuse)
    page.goto(f"{gardens.url}/?view=plane")
    page.wait_for_selector(".plane-note:has-text('Busy just now')")
    page.click(".plane-note button")
    page.wait_for_function(f"() => ({COLOURS})() > 2")
    assert page.locator(".plane-note").is_hidden()
