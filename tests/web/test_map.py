"""The map: zooming, hovering, glowing, keys, and a tree of 100,000 nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from server.running import Running
from web.conftest import Shot
from web.test_page import address, ask

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

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


def place_of(page: Page, id: int) -> list[float]:
    """Where the box of a concept is on the canvas: left, top, width, height."""
    page.wait_for_function("id => canvas.map.place(id) !== null", arg=id)
    found: list[float] = page.evaluate("id => canvas.map.place(id)", id)
    return found


def heading_of(page: Page, id: int) -> tuple[float, float]:
    """A place in the window at the upper left of a concept's box, where its name stands."""
    left, top, width, _ = place_of(page, id)
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    return box["x"] + left + min(20, width / 2), box["y"] + top + 10


def opened(page: Page, service: Running, query: str = "") -> dict[str, Any]:
    """The page with the map on it; returns the root and its children."""
    page.goto(f"{service.url}/{query}")
    page.wait_for_selector("#where .crumbs")
    page.wait_for_function("() => canvas.map.boxes.length > 1")
    root = service.http.get("/v1/concepts", params={"depth": 0}).json()["concepts"][0]
    found: dict[str, Any] = service.http.get(f"/v1/concepts/{root['id']}").json()
    return found


def test_it_starts_with_the_themes_and_what_is_in_them(page: Page, service: Running) -> None:
    found = opened(page, service)
    width, height = page.evaluate("[canvas.clientWidth, canvas.clientHeight]")
    areas = {}
    for theme in found["children"]:
        left, top, wide, high = place_of(page, theme["id"])
        assert left >= 0
        assert top >= 0
        assert left + wide <= width + 1
        assert top + high <= height + 1
        areas[theme["id"]] = wide * high / (width * height)
        assert areas[theme["id"]] == pytest.approx(theme["size"] / found["concept"]["size"], abs=0.002)
    assert sum(areas.values()) == pytest.approx(1, abs=0.005)  # nothing is spent on "Everything"
    assert page.evaluate("canvas.map.boxes.filter((box) => box.level === 2).length") > len(areas)


def test_a_map_that_is_slow_to_come_is_waited_for(page: Page, service: Running) -> None:
    def late(route: Route) -> None:
        page.wait_for_timeout(300)
        route.continue_()

    page.route("**/v1/map*", late)
    page.goto(service.url)
    page.wait_for_selector("#stage.waiting")
    page.wait_for_selector("#stage:not(.waiting)")
    page.wait_for_function("() => canvas.map.boxes.length > 1")


def test_a_click_zooms_in_and_the_trail_leads_back(page: Page, service: Running, shot: Shot) -> None:
    first = opened(page, service)["children"][0]
    page.mouse.click(*heading_of(page, first["id"]))
    page.wait_for_selector(f"h1:has-text('{first['label']}')")
    shot(page, "zoomed")
    assert int(address(page)["at"]) == first["id"]
    assert place_of(page, first["id"])[2:] == page.evaluate("[canvas.map.painter.width, canvas.map.painter.height]")
    page.click("#where button:has-text('Zoom out')")
    page.wait_for_selector("h1:has-text('notes')")
    page.go_back()
    page.wait_for_selector(f"h1:has-text('{first['label']}')")
    page.click("#where a:has-text('Everything')")
    page.wait_for_selector("h1:has-text('notes')")


def test_the_wheel_zooms_to_what_is_under_the_pointer(page: Page, service: Running) -> None:
    last = opened(page, service)["children"][-1]
    page.mouse.move(*heading_of(page, last["id"]))
    page.mouse.wheel(0, -300)
    page.wait_for_selector("#where button")
    assert int(address(page)["at"]) == last["id"]
    page.wait_for_timeout(400)
    page.mouse.wheel(0, 300)
    page.wait_for_selector("#where [aria-current]:text('Everything')")


def test_a_theme_keeps_its_colour(page: Page, service: Running) -> None:
    """Zooming does not change it, nor does a tree that is loaded again."""
    found = opened(page, service)
    hues = "import('/themes.js').then(({hueOf}) => (ids) => ids.map(hueOf))"
    themes = [theme["id"] for theme in found["children"]]
    before = page.evaluate(f"async (ids) => (await {hues})(ids)", themes)
    assert len(set(before)) == len(themes)
    page.goto(f"{service.url}/?at={themes[-1]}")
    page.wait_for_selector("#where button")
    page.wait_for_function("() => canvas.map.boxes.length > 1")
    assert page.evaluate(f"async (ids) => (await {hues})(ids)", themes) == before
    assert page.evaluate("id => canvas.map.boxes.every((box) => box.level === 0 || box.node.theme === id)", themes[-1])
    learn = "import('/themes.js').then(({learnThemes, hueOf}) => { learnThemes(ids); return ids.map(hueOf); })"
    ids = [101, 205, 309, 412, 518, 623, 731, 840]
    every, fewer = page.evaluate(f"(ids) => {learn}", ids), page.evaluate(f"(ids) => {learn}", ids[1:])
    assert sum(old == new for old, new in zip(every[1:], fewer, strict=True)) >= len(fewer) - 1, (
        "others had to give way"
    )


def test_hovering_shows_exemplars(page: Page, service: Running, shot: Shot) -> None:
    first = opened(page, service)["children"][0]
    page.mouse.move(*heading_of(page, first["id"]))
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


def test_the_map_makes_room_for_the_answers(page: Page, service: Running) -> None:
    """Every answer is a box that can be read, whatever its place in the tree."""
    opened(page, service)
    ask(page, "planet moon telescope")
    hits = service.http.post("/v1/search", json={"query": "planet moon telescope"}).json()["hits"]
    for hit in hits:
        _, _, width, height = place_of(page, hit["path"][-1]["id"])
        assert width >= 40
        assert height >= 30


def test_a_document_on_the_map_is_asked_why_not(page: Page, service: Running) -> None:
    root = opened(page, service)
    deep = service.http.get("/v1/concepts", params={"depth": 20}).json()["concepts"]
    small = min((each for each in deep if each["size"] == len(each["children"]) > 1), key=lambda each: each["size"])
    page.goto(f"{service.url}/?q=soup&at={small['id']}")
    page.wait_for_selector("#where button")
    page.mouse.click(*heading_of(page, min(small["children"])))
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
    page.wait_for_selector("h1:has-text('notes')")
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
    const [{ Tree }, { Painter }, { layOut }, { Transition }] =
        await Promise.all(["tree", "painter", "layout", "transition"].map((name) => import(`/map/${name}.js`)));
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
    const marks = { heat: new Map(), hits: [], trace: new Set(), hover: null, cursor: null };
    const drawn = [];
    let node = tree.root;
    let before = null;
    for (let level = 0; level < deep; level++) {
        const boxes = layOut(node, painter.width, painter.height, (each) => each.size);
        const way = before && new Transition(before, boxes, 0, 100);
        for (let time = 0; time <= 100; time += 10) {
            painter.draw(way?.at(time) ?? boxes, marks, tree);
            drawn.push(painter.drawn);
        }
        before = boxes;
        node = node.children?.[9 + level];
    }
    return { nodes: tree.size, most: Math.max(...drawn) };
}"""


def test_a_large_tree_costs_no_more_than_what_is_seen(page: Page, service: Running) -> None:
    opened(page, service)
    seen = page.evaluate(BIG)
    assert seen["nodes"] > 100_000
    assert 300 < seen["most"] < 3000  # boxes are opened only where there is room for what is inside
