"""The map: zooming, hovering, glowing, keys, and a tree of 100,000 nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from server.running import Running
from web.conftest import Shot
from web.test_page import address, ask

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

GLOW = """() => { // pixels that are amber, as hits are
    const {width, height} = canvas;
    const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
    let lit = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at] > 190 && data[at] - data[at + 2] > 90) lit += 1;
    return lit;
}"""


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    """A place on the canvas, given as shares of its sides."""
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def opened(page: Page, service: Running, query: str = "") -> dict[str, Any]:
    """The page with the map on it; returns the root and its children."""
    page.goto(f"{service.url}/{query}")
    page.wait_for_selector("#where .crumbs")
    page.wait_for_function(
        "() => { const {data} = canvas.getContext('2d').getImageData(250, 20, 1, 1); return data[2] !== 246; }"
    )
    root = service.http.get("/v1/concepts", params={"depth": 0}).json()["concepts"][0]
    found: dict[str, Any] = service.http.get(f"/v1/concepts/{root['id']}").json()
    return found


def test_a_click_zooms_in_and_the_trail_leads_back(page: Page, service: Running, shot: Shot) -> None:
    first = opened(page, service)["children"][0]
    page.mouse.click(*at(page, 0.3, 0.1))
    page.wait_for_selector(f"h1:has-text('{first['label']}')")
    shot(page, "zoomed")
    assert int(address(page)["at"]) == first["id"]
    page.mouse.click(*at(page, 0.01, 0.5))  # the strip of the parent, on the left
    page.wait_for_selector("h1:has-text('Look around')")
    page.go_back()
    page.wait_for_selector(f"h1:has-text('{first['label']}')")
    page.click("#where a:has-text('Everything')")
    page.wait_for_selector("h1:has-text('Look around')")


def test_the_wheel_zooms_about_the_pointer(page: Page, service: Running) -> None:
    last = opened(page, service)["children"][-1]
    page.mouse.move(*at(page, 0.3, 0.995))
    for _ in range(12):
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(15)
    page.wait_for_selector("#where button")
    path = service.http.get(f"/v1/concepts/{address(page)['at']}").json()["concept"]["path"]
    assert path[1] == last["id"]
    for _ in range(14):
        page.mouse.wheel(0, 300)
    page.wait_for_selector("#where [aria-current]:text('Everything')")


def test_hovering_shows_exemplars(page: Page, service: Running, shot: Shot) -> None:
    first = opened(page, service)["children"][0]
    page.mouse.move(*at(page, 0.3, 0.1))
    page.wait_for_selector("#tip li")
    shot(page, "hover")
    assert page.locator("#tip strong").inner_text() == first["label"]
    assert page.locator("#tip li").all_inner_texts() == [each["text"] for each in first["exemplars"]]
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")


def test_hits_glow(page: Page, service: Running, shot: Shot) -> None:
    opened(page, service)
    before = page.evaluate(GLOW)
    ask(page, "planet moon telescope")
    page.wait_for_timeout(150)
    shot(page, "glow")
    assert before == 0
    assert page.evaluate(GLOW) > 300
    page.fill("#query", "")
    page.press("#query", "Enter")
    page.wait_for_selector(".card")
    page.wait_for_timeout(100)
    assert page.evaluate(GLOW) == 0


def test_a_document_on_the_map_is_asked_why_not(page: Page, service: Running) -> None:
    root = opened(page, service)
    deep = service.http.get("/v1/concepts", params={"depth": 20}).json()["concepts"]
    small = min((each for each in deep if each["size"] == len(each["children"]) > 1), key=lambda each: each["size"])
    page.goto(f"{service.url}/?q=soup&at={small['id']}")
    page.wait_for_selector("#where button")
    page.wait_for_timeout(300)
    column = page.evaluate(
        "import('/map/painter.js').then(({Painter}) => new Painter(canvas).column / canvas.clientWidth)"
    )
    page.mouse.click(*at(page, 1.8 * column, 0.5 / small["size"]))
    page.wait_for_selector(".why")
    leaf = service.http.get(f"/v1/concepts/{min(small['children'])}").json()["concept"]
    assert address(page)["why"] == leaf["exemplars"][0]["id"]
    assert root["concept"]["size"] == 48


def test_the_map_is_worked_with_keys(page: Page, service: Running) -> None:
    found = opened(page, service)
    first, second = found["children"][:2]
    page.focus("#canvas")
    page.keyboard.press("ArrowRight")
    assert page.locator("#spoken").inner_text() == f"{first['label']}, {first['size']} documents, level 1"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"h1:has-text('{second['label']}')")
    page.keyboard.press("Backspace")
    page.wait_for_selector("h1:has-text('Look around')")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"


def test_every_control_can_be_reached_and_has_a_name(page: Page, service: Running) -> None:
    opened(page, service, "?q=soup")
    page.wait_for_selector(".hit")
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"query", "add", "canvas", "expected"} <= reached
    assert any("reason" in name for name in reached)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, select, textarea, canvas")].filter((each) =>
            !(each.getAttribute("aria-label") || each.textContent.trim() || each.labels?.length)
        ).map((each) => each.outerHTML)"""
    )
    assert nameless == []


BIG = """async () => {
    const [{ Tree }, { Painter }, { Camera }] =
        await Promise.all(["tree", "painter", "camera"].map((name) => import(`/map/${name}.js`)));
    const wide = 18, deep = 4;
    const columns = { ids: [1], parents: [null], depths: [0], labels: ["all"] };
    Object.assign(columns, { sizes: [wide ** deep], children: [wide] });
    const grow = (parent, depth) => {
        for (let at = 0; at < wide; at++) {
            const id = columns.ids.length + 1;
            columns.ids.push(id); columns.parents.push(parent); columns.depths.push(depth);
            columns.sizes.push(wide ** (deep - depth)); columns.labels.push(`concept ${id}, of many`);
            columns.children.push(depth < deep ? wide : 0);
            if (depth < deep) grow(id, depth + 1);
        }
    };
    grow(1, 1);
    const tree = new Tree();
    tree.merge(columns);
    const painter = new Painter(document.querySelector("#canvas"));
    const camera = new Camera();
    const marks = { heat: new Map(), hits: [], trace: [], hover: null, cursor: null };
    const drawn = [];
    let node = tree.root;
    for (let level = 0; level < deep; level++) {
        camera.fly(Camera.on(node), 0, 100);
        for (let time = 0; time <= 100; time += 10) {
            camera.step(time);
            painter.draw(tree, camera.now, marks);
            drawn.push(painter.drawn);
        }
        node = node.children?.[9 + level];
    }
    return { nodes: tree.size, most: Math.max(...drawn), height: painter.height,
             columns: painter.width / painter.column };
}"""


def test_a_large_tree_costs_no_more_than_what_is_seen(page: Page, service: Running) -> None:
    opened(page, service)
    seen = page.evaluate(BIG)
    assert seen["nodes"] > 100_000
    # A box is at least 0.8 pixels high, so a column holds no more than its height allows.
    assert seen["most"] <= (seen["columns"] + 2) * seen["height"] / 0.8
