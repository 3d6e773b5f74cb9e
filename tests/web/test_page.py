"""The explorer as a reader uses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from server.running import Running
from web.conftest import Shot, seen_by, small_index
from web.texts import DOCUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser


SHADE = """() => { // the mean of a channel over the map
    const {width, height} = canvas;
    const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
    let sum = 0;
    for (let at = 0; at < data.length; at += 4) sum += data[at];
    return sum / (data.length / 4);
}"""


def ask(page: Page, query: str) -> None:
    page.fill("#query", query)
    page.press("#query", "Enter")
    page.wait_for_function("query => document.title.startsWith(query)", arg=query)
    page.wait_for_selector(".hit")


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def ids(page: Page) -> list[str]:
    found: list[str] = page.locator(".hit").evaluate_all("hits => hits.map((hit) => hit.dataset.id)")
    return found


def test_without_a_query_topics_are_shown_as_cards(page: Page, service: Running, shot: Shot) -> None:
    page.goto(service.url)
    page.wait_for_selector(".card")
    shot(page, "browse")
    cards = page.locator(".card")
    root = service.http.get("/v1/concepts", params={"depth": 1}).json()["concepts"]
    assert page.locator(".card h3").all_inner_texts() == [
        each["label"] if each["children"] else each["exemplars"][0]["id"] for each in root[1:]
    ]
    sizes = [int(text.split()[0]) for text in page.locator(".card .small").all_inner_texts()]
    single = page.locator(".card h3.id").count()
    assert sum(sizes) + single == len(DOCUMENTS)
    examples = {text for text in page.locator(".examples li").all_inner_texts() if "…" not in text}
    assert examples
    assert examples <= set(DOCUMENTS.values())
    label = cards.first.locator("h3").inner_text()
    cards.first.click()
    page.wait_for_selector(f"h1:has-text('{label}')")
    assert "at" in address(page)
    assert page.locator("#where [aria-current]").inner_text() == label


def test_answers_have_scores_and_paths(page: Page, service: Running, shot: Shot) -> None:
    page.goto(service.url)
    ask(page, "why does my bread not rise")
    shot(page, "results")
    found = service.http.post("/v1/search", json={"query": "why does my bread not rise"}).json()["hits"]
    assert ids(page) == [hit["id"] for hit in found]
    assert page.locator(".score").first.inner_text() == f"{found[0]['score']:.2f}"
    levels = page.locator(".hit").first.locator(".crumbs a")
    assert levels.count() >= 1
    basic = [concept["label"] for concept in found[0]["path"][1:-1] if concept["basic"]]
    shown = page.locator(".hit").first.locator(".crumbs .basic").all_text_contents()
    assert shown == [f"{label} (basic level)" for label in basic]
    assert page.locator("#status").inner_text() == "10 answers for why does my bread not rise"


def test_matches_are_marked_by_code_points(page: Page, service: Running, shot: Shot) -> None:
    """Offsets count code points; a JavaScript string counts an emoji as two."""
    passage = "🍞🥖 Sourdough bread rises 🐌 slowly: bread needs time. " + "Wait. " * 100

    def with_matches(route: Route) -> None:
        answer = route.fetch().json()
        spans = [list(found.span()) for found in re.finditer("bread|rises|🐌", passage)]
        changed = {"text": "🍞 Recipes. " + passage + "And 🧈 butter.", "passage": passage, "start": 11}
        answer["hits"] = [{**hit, **changed, "matches": spans} for hit in answer["hits"][:1]]
        route.fulfill(json=answer)

    page.route("**/v1/search", with_matches)
    page.goto(f"{service.url}/?q=bread")
    page.wait_for_selector("mark")
    shot(page, "marks")
    assert page.locator(".hit mark").all_inner_texts() == ["bread", "rises", "🐌", "bread"]
    assert page.locator(".hit .text").text_content() == passage[:418].rsplit(" ", 1)[0] + "…"
    page.click(".hit button:has-text('Read all of it')")
    assert page.locator(".hit mark").all_inner_texts() == ["bread", "rises", "🐌", "bread"]
    assert page.locator(".hit .text").text_content() == "🍞 Recipes. " + passage + "And 🧈 butter."


def test_more_answers_are_asked_for_without_losing_the_place(page: Page, service: Running) -> None:
    page.goto(f"{service.url}/?q=light")
    page.click("button:has-text('More answers')")
    page.wait_for_selector(".hit >> nth=19")
    assert page.evaluate("list.scrollTop") > 500
    assert address(page) == {"q": "light", "k": "20"}
    found = service.http.post("/v1/search", json={"query": "light", "k": 20}).json()["hits"]
    assert ids(page) == [hit["id"] for hit in found]


def test_the_page_ends_with_its_list(page: Page, service: Running) -> None:
    """Hidden words in the list made the page itself longer than the window, and a wheel led into emptiness."""
    page.set_viewport_size({"width": 1200, "height": 600})
    page.goto(f"{service.url}/?q=light&k=20")
    page.wait_for_selector(".hit >> nth=19")
    assert page.evaluate("document.documentElement.scrollHeight") <= 600
    page.hover("#list h3 >> nth=0")
    for _ in range(3):
        page.mouse.wheel(0, 5000)
    page.wait_for_function("list.scrollTop > 0 && list.scrollTop + list.clientHeight >= list.scrollHeight - 2")
    assert page.evaluate("window.scrollY") == 0


def test_the_answer_that_is_explained_stays_in_sight(page: Page, service: Running) -> None:
    page.set_viewport_size({"width": 1200, "height": 420})
    last = service.http.post("/v1/search", json={"query": "light", "k": 10}).json()["hits"][-1]["id"]
    page.goto(f"{service.url}/?q=light&why={last}")
    page.wait_for_selector(".why")
    page.wait_for_timeout(100)
    heading = page.locator(f".hit[data-id='{last}'] h3").bounding_box()
    shown = page.locator("#list").bounding_box()
    assert heading is not None
    assert shown is not None
    assert shown["y"] - 1 <= heading["y"] <= shown["y"] + shown["height"]


def test_why_this_one_adds_up(page: Page, service: Running, shot: Shot) -> None:
    page.goto(f"{service.url}/?q=flat tyre")
    page.click(".hit .reason")
    page.wait_for_selector(".why")
    page.wait_for_timeout(100)
    shot(page, "why")
    id = ids(page)[0]
    why = service.http.post("/v1/explain", json={"query": "flat tyre", "id": id}).json()
    sentence = page.locator(".why .plain").inner_text()
    assert sentence.startswith("Number 1 of 48. Found by meaning (")
    assert all(f"“{word}”" in sentence for word in why["words"])
    assert not page.is_visible(".why .bars")  # folded
    page.click(".why summary")
    shot(page, "why-open")
    values = [float(text.replace("−", "-")) for text in page.locator(".why .value").all_inner_texts()]
    assert len(values) == len(why["path"])  # every step but the root, and words
    assert sum(values) + why["base"] == pytest.approx(why["score"], abs=0.0006 * len(values))
    assert f"{why['base']:.3f} as any document here" in page.locator(".why .sum").inner_text()
    assert why["text"] in page.locator(".why details").inner_text()
    assert page.locator(".reason").first.get_attribute("aria-expanded") == "true"
    assert address(page)["why"] == id
    page.click(".hit .reason")
    page.wait_for_selector(".why", state="detached")


def test_why_not_of_any_document(page: Page, service: Running, complaints: list[str], shot: Shot) -> None:
    complaints.append("404")
    page.goto(f"{service.url}/?q=flat tyre")
    page.fill("#expected", "sky/03")
    page.press("#expected", "Enter")
    page.wait_for_selector("#why-not .why")
    shot(page, "why-not")
    assert page.locator("#why-not .plain").inner_text().startswith("Not among the first 10: number")
    page.fill("#expected", "nobody")
    page.press("#expected", "Enter")
    page.wait_for_selector("#why-not .notice")
    assert page.locator("#why-not .notice").inner_text() == "Id 'nobody' is not in the index, which holds 48 documents."


def test_a_search_inside_a_concept(page: Page, service: Running, shot: Shot) -> None:
    page.goto(service.url)
    page.click(".card >> nth=0")
    page.click("#where button:has-text('Search inside')")
    page.wait_for_selector("#scope .chip")
    assert page.evaluate("document.activeElement.id") == "query"
    ask(page, "light")
    shot(page, "inside")
    at = int(address(page)["in"])
    inside = service.http.post("/v1/search", json={"query": "light", "within": at}).json()["hits"]
    assert ids(page) == [hit["id"] for hit in inside]
    page.click("#scope .chip")
    page.wait_for_selector("#scope .chip", state="detached")
    assert "in" not in address(page)


def test_reasons_that_come_late_do_not_open_again(page: Page, service: Running) -> None:
    page.goto(service.url)
    page.wait_for_selector(".card")
    ask(page, "tomato")

    def late(route: Route) -> None:
        page.wait_for_timeout(600)
        route.continue_()

    page.route("**/explain", late)
    page.click(".hit .reason")
    page.wait_for_selector(".place .skeleton")
    page.go_back()
    page.wait_for_selector(".place .skeleton", state="detached")
    page.wait_for_timeout(1200)
    assert page.locator(".why").count() == 0


def test_the_back_button_and_shared_addresses(page: Page, browser: Browser, service: Running) -> None:
    page.goto(service.url)
    page.wait_for_selector(".card")
    ask(page, "comet")
    ask(page, "tomato")
    page.click(".hit .reason")
    page.wait_for_selector(".why")
    page.click(".hit .crumbs a >> nth=0")
    page.wait_for_selector("#where [aria-current]:not(:text('Everything'))")
    place = page.locator("#where [aria-current]").inner_text()
    shared = page.url

    other = browser.new_context().new_page()
    other.goto(shared)
    other.wait_for_selector(".why")
    other.wait_for_selector("#where button")
    assert other.input_value("#query") == "tomato"
    assert ids(other) == ids(page)
    assert other.locator("#where [aria-current]").inner_text() == place
    other.context.close()

    page.go_back()
    page.wait_for_selector("#where [aria-current]:text('Everything')")
    page.go_back()
    page.wait_for_selector(".why", state="detached")
    page.go_back()
    page.wait_for_selector(".hit[data-id='sky/03']")
    assert page.input_value("#query") == "comet"
    page.go_back()
    page.wait_for_selector(".card")
    assert page.input_value("#query") == ""


def test_a_new_document_is_added_and_seen_landing(page: Page, shot: Shot) -> None:
    with seen_by(page, {"own": small_index()}) as own:
        page.goto(own.url)
        page.wait_for_selector(".card")
        page.click("#add")
        page.fill("#new-text", "Glue and a patch mend any flat bicycle tyre on a ride")
        page.fill("#new-id", "mine")
        page.click("dialog button[type=submit]")
        page.wait_for_selector("h1:has-text('It landed here')")
        page.wait_for_selector("#where button")
        shot(page, "added")
        path = own.http.post("/v1/explain", json={"query": "glue", "id": "mine"}).json()["path"]
        inner = [step["concept"] for step in path if step["concept"]["children"]]
        assert page.locator(".landing li").count() == len(inner)
        assert int(address(page)["at"]) == inner[-1]["id"]
        ask(page, "mend a flat tyre with glue")
        assert "mine" in ids(page)[:3]
        page.click("#add")
        page.fill("#new-text", "anything")
        page.press("#new-text", "Escape")
        page.wait_for_selector("dialog", state="detached")
        assert len(own.http.post("/v1/search", json={"query": "tyre", "k": 100}).json()["hits"]) == len(DOCUMENTS) + 1


def test_a_phone_sees_one_thing_at_a_time(browser: Browser, service: Running, shot: Shot) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(service.url)
    page.wait_for_selector(".card")
    shot(page, "phone-browse")
    assert not page.is_visible("#where")
    ask(page, "oil the chain")
    page.click(".hit .reason")
    page.wait_for_selector(".why")
    shot(page, "phone-why")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("[...document.querySelectorAll('#list *')].every(e => e.getBoundingClientRect().right <= 361)")
    page.tap("#panes button:has-text('Map')")
    assert page.is_visible("#canvas")
    assert not page.is_visible(".hit")
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + 0.2 * box["width"], box["y"] + 12)
    page.wait_for_selector("#where button")
    shot(page, "phone-map")
    context.close()


def test_dark_and_light(browser: Browser, service: Running, shot: Shot) -> None:
    def brightness(scheme: str) -> float:
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 800})  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(service.url)
        page.wait_for_selector(".card")
        page.wait_for_function("() => canvas.map.shown.length > 1")
        shot(page, scheme)
        shade = page.evaluate(SHADE)
        context.close()
        return float(shade)

    assert brightness("dark") < 90
    assert brightness("light") > 170


def test_the_page_is_light(page: Page, service: Running) -> None:
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(len(response.body())) if "/v1/" not in response.url else None)
    page.goto(service.url)
    page.wait_for_selector(".card")
    page.wait_for_timeout(100)
    assert len(sizes) > 15
    assert sum(sizes) <= 300_000
