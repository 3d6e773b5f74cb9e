"""The page of a concept, what changed in it, the description of the API, and what every page has to be."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from bag import encode, sentence
from gossamer import Index
from server.running import Running
from web.conftest import Shot, seen_by, small_index
from web.test_page import address
from web.texts import DOCUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def largest(service: Running) -> dict[str, object]:
    found: dict[str, object] = service.http.get("/v1/concepts", params={"depth": 1}).json()["concepts"][1]
    return found


def test_a_concept_has_terms_exemplars_and_parts(page: Page, service: Running, shot: Shot) -> None:
    concept = service.http.get(f"/v1/concepts/{largest(service)['id']}").json()
    page.goto(f"{service.url}/?at={concept['concept']['id']}")
    page.wait_for_selector("#list h1")
    shot(page, "concept")
    assert page.locator("#list h1").inner_text() == concept["concept"]["label"]
    assert page.locator(".chips .chip").all_inner_texts() == concept["concept"]["terms"][:10]
    exemplars = page.locator("#list > .examples a")
    assert exemplars.all_inner_texts() == [each["text"] for each in concept["concept"]["exemplars"]]
    assert page.locator(".cards .card").count() == len(concept["children"])
    exemplars.first.click()
    page.wait_for_selector(".text.whole")
    assert address(page)["doc"] == concept["concept"]["exemplars"][0]["id"]


def test_parts_are_compared_by_a_field(page: Page, service: Running, shot: Shot) -> None:
    themes = service.http.get("/v1/concepts", params={"depth": 1}).json()["concepts"][1:]
    inner = [theme for theme in themes if theme["children"]]
    page.goto(service.url)
    page.click("#fields summary")
    page.wait_for_selector(".spread li")
    shot(page, "fields")
    assert page.locator(".choice[aria-pressed=true]").inner_text() == "theme"
    assert page.locator(".spread .name").all_inner_texts() == [theme["label"] for theme in themes]
    fields = service.http.post("/v1/facets", json={"within": inner[0]["id"]}).json()["fields"]
    (spread,) = (facet for facet in fields if facet["field"] == "theme")
    told = page.locator(".stack").first.get_attribute("aria-label")
    first = spread["values"][0]
    assert told is not None
    assert told.startswith(f"{first['value']} {round(100 * first['count'] / spread['count'])} %")
    page.click(".choice:has-text('words')")
    page.wait_for_selector(".choice[aria-pressed=true]:has-text('words')")


def test_what_changed_is_told(page: Page, shot: Shot) -> None:
    rng = random.Random(1)
    index = Index(encode)
    for _ in range(3):
        index.add([sentence(rng) for _ in range(150)])
    with seen_by(page, {"grown": index}) as service:
        operation = service.http.get("/v1/info").json()["operation"]
        answer = service.http.get("/v1/changes", params={"since": 0}).json()
        assert answer["operation"] == operation
        page.goto(service.url)
        page.click("#changes summary")
        page.wait_for_selector("#changes li, #changes div p")
        shot(page, "changes")
        root = service.http.get("/v1/concepts", params={"depth": 0}).json()["concepts"][0]["id"]
        told = [change["kind"] for change in answer["changes"] if change["id"] != root]
        assert told, "something changed"
        assert page.locator("#changes .kind").all_inner_texts() == told[:15]
        page.select_option("#changes select", "1")
        page.wait_for_function("kinds => document.querySelectorAll('#changes .kind').length <= kinds", arg=len(told))


def test_the_api_is_described_and_can_be_tried(page: Page, service: Running, shot: Shot) -> None:
    page.goto(f"{service.url}/docs")
    page.wait_for_selector(".route")
    described = service.http.get("/v1/openapi.json").json()
    operations = [path for path, methods in described["paths"].items() for _ in methods if "{name}" not in path]
    assert sorted(page.locator(".route .path").all_inner_texts()) == sorted(operations)
    page.click(".route:has(.path:text-is('/v1/search')) summary")
    shot(page, "docs")
    form = page.locator(".route:has(.path:text-is('/v1/search')) form")
    form.locator("textarea").fill('{"query": "soup", "k": 1}')
    form.locator("button").click()
    page.wait_for_selector("pre:has-text('200 OK')")
    found = service.http.post("/v1/search", json={"query": "soup", "k": 1}).json()["hits"][0]["id"]
    assert f'"id": "{found}"' in form.locator("pre").inner_text()
    hosts = page.evaluate("performance.getEntriesByType('resource').map((each) => new URL(each.name).host)")
    assert set(hosts) == {service.url.removeprefix("http://")}  # nothing from anywhere else


def test_the_header_of_a_phone_is_one_row(browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    page = context.new_page()
    other = Index("lsa")
    other.add(list(DOCUMENTS.values())[:12], list(DOCUMENTS)[:12])
    with seen_by(page, {"a-collection-with-a-long-name": small_index(), "other": other}) as service:
        page.goto(service.url)
        page.wait_for_selector("#indexes option >> nth=1", state="attached")
        box = page.locator("header").bounding_box()
        assert box is not None
        assert box["height"] <= 64
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        field = page.locator("#query").bounding_box()
        assert field is not None
        assert field["width"] >= 110
        for control in ("#query", "#indexes", "#add", "#search button"):
            each = page.locator(control).bounding_box()
            assert each is not None
            assert each["x"] >= 0
            assert each["x"] + each["width"] <= 360
            assert each["height"] >= 32
    context.close()


CONTRAST = """async () => {
    const luminance = (colour) => {
        const pixel = new OffscreenCanvas(1, 1).getContext("2d");
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...pixel.getImageData(0, 0, 1, 1).data].map((value) => {
            const share = value / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (one, other) => {
        const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
        return (light + 0.05) / (dark + 0.05);
    };
    const { painter } = canvas.map;
    const fills = Object.values(painter.tones).flat().flatMap((tone) =>
        Array.from({ length: 24 }, (_, at) => `oklch(${tone} ${at * 15})`));
    return { name: Math.min(...fills.map((fill) => ratio(painter.colour.ink, fill))),
             size: Math.min(...fills.map((fill) => ratio(painter.colour.soft, fill))),
             hit: ratio(painter.colour.onGlow, painter.colour.glow) };
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_on_the_map_can_be_read(browser: Browser, service: Running, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(service.url)
    page.wait_for_selector(".card")
    found = page.evaluate(CONTRAST)
    context.close()
    assert found["name"] >= 7  # WCAG AAA
    assert found["size"] >= 4.5  # AA
    assert found["hit"] >= 7


def test_names_without_spaces_are_wrapped(page: Page, service: Running) -> None:
    page.goto(service.url)
    page.wait_for_selector(".card")
    lines = page.evaluate(
        """() => import("/map/text.js").then(({wrap}) => {
            const context = canvas.getContext("2d");
            context.font = "12px sans-serif";
            const all = (text, width, most) => wrap(context, {}, text, width, most);
            const long = "os.path.supercalifragilistic";
            return [all("東京都の天気は晴れのち曇り", 30, 9), all(long, 90, 9), all("one two", 500, 3)];
        })"""
    )
    japanese, name, short = lines
    assert "".join(japanese) == "東京都の天気は晴れのち曇り"
    assert len(japanese) > 1
    assert name[0].startswith("os.path.")
    assert short == ["one two"]
