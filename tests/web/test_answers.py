"""Answers and documents: titles, filters, export, neighbours, editing and deleting."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer import Index
from server.running import Running, running
from web.conftest import Shot, seen_by, small_index
from web.test_page import address, ask, ids
from web.texts import DOCUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

TITLE = "How <b>bread</b> rises"


@pytest.fixture(scope="module")
def titled() -> Iterator[Running]:
    """Two titles, an id that says nothing, and a text of several passages."""
    index = small_index()
    index.add("Bread rises when yeast makes gas in the dough", "kitchen/rise", {"title": TITLE, "theme": "kitchen"})
    index.add("Bread and dough want warmth to rise", "8f14e45fceea167a5a36dedd4bea2543", {"theme": "kitchen"})
    long = " ".join(f"Tractor number {at} ploughs the field and the farmer waits." for at in range(60))
    index.add(long, "farm/long", {"theme": "farm", "tags": ["long", "dull"]})
    with running({"titled": index}) as found:
        yield found


def test_the_title_is_the_heading_and_the_id_is_small(page: Page, titled: Running, shot: Shot) -> None:
    page.goto(titled.url)
    ask(page, "why does bread rise in the dough")
    shot(page, "titles")
    hit = page.locator(".hit[data-id='kitchen/rise']")
    assert hit.locator("h3").inner_text() == TITLE
    assert hit.locator("span.id").inner_text() == "kitchen/rise"
    assert hit.locator(".facts").inner_text().split() == ["theme", "kitchen"]  # the title is not told twice
    nameless = page.locator(".hit[data-id^='8f14']")
    assert nameless.locator("h3").inner_text() == "Bread and dough want warmth to rise"
    assert nameless.locator("h3 mark").count() >= 2
    named = page.locator(".hit[data-id='kitchen/02']")
    assert named.locator("h3").inner_text() == "kitchen/02"
    assert named.locator(".text").inner_text() == DOCUMENTS["kitchen/02"]
    hits = titled.http.post("/v1/search", json={"query": "why does bread rise in the dough"}).json()["hits"]
    (leaf,) = (hit["path"][-1]["id"] for hit in hits if hit["id"] == "kitchen/rise")
    assert page.evaluate("id => canvas.map.marks.hits.find(({path}) => path.at(-1) === id).title", leaf) == TITLE


def test_answers_are_filtered_by_values_of_metadata(page: Page, titled: Running, shot: Shot) -> None:
    page.goto(titled.url)
    ask(page, "light and water")
    page.click("#facets .menu summary:has-text('theme')")
    shot(page, "facet")
    listed = page.locator("#facets .menu[open] label").all_inner_texts()
    counted = titled.http.post("/v1/facets", json={"query": "light and water"}).json()["fields"]
    (theme,) = (facet for facet in counted if facet["field"] == "theme")
    assert [text.split() for text in listed] == [[each["value"], str(each["count"])] for each in theme["values"]]
    page.keyboard.press("Escape")
    page.wait_for_selector("#facets .menu[open]", state="detached")
    page.click("#facets .menu summary:has-text('theme')")
    page.mouse.click(5, 400)
    page.wait_for_selector("#facets .menu[open]", state="detached")
    page.click("#facets .menu summary:has-text('theme')")
    page.click("#facets .menu[open] label:has-text('garden')")
    page.wait_for_selector("#filters .chip")
    page.wait_for_selector("#facets .menu")
    assert json.loads(address(page)["where"]) == {"theme": {"$in": ["garden"]}}
    assert len(ids(page)) == 10
    assert all(id.startswith("garden/") for id in ids(page))
    page.click("#facets .menu summary:has-text('theme')")  # the other values can still be chosen
    page.click("#facets .menu[open] label:has-text('sky')")
    page.wait_for_function("() => document.querySelectorAll('.hit[data-id^=sky]').length > 0")
    assert {id.partition("/")[0] for id in ids(page)} == {"garden", "sky"}
    page.go_back()
    page.wait_for_function("() => document.querySelectorAll('.hit[data-id^=sky]').length === 0")
    page.click("#filters .chip")
    page.wait_for_selector("#filters", state="detached")
    assert "where" not in address(page)


def test_numbers_of_many_values_are_filtered_by_a_range(page: Page) -> None:
    index = Index("lsa")
    index.add(list(DOCUMENTS.values()), list(DOCUMENTS), [{"year": 1980 + at} for at in range(len(DOCUMENTS))])
    with seen_by(page, {"years": index}) as service:
        page.goto(service.url)
        ask(page, "light and water")
        page.click("#facets .menu summary:has-text('year')")
        page.fill("#facets [aria-label='year from']", "2016")
        page.press("#facets [aria-label='year from']", "Enter")
        page.wait_for_selector("#filters .chip:has-text('year: 2016 to …')")
        page.wait_for_function("() => document.querySelectorAll('.hit:not([data-id^=garden])').length === 0")
        assert len(ids(page)) == 10


def test_answers_are_saved_as_csv_and_json(page: Page, titled: Running, tmp_path: Path) -> None:
    page.goto(f"{titled.url}/?q=bread rises")
    page.wait_for_selector(".hit")
    found = titled.http.post("/v1/search", json={"query": "bread rises"}).json()["hits"]
    page.click(".menu summary:has-text('Export')")
    with page.expect_download() as download:
        page.click(".menu button:has-text('CSV')")
    assert download.value.suggested_filename == "bread-rises.csv"
    download.value.save_as(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [hit["id"] for hit in found]
    assert [row["text"] for row in rows] == [hit["text"] for hit in found]
    assert [row["title"] for row in rows] == [hit["metadata"].get("title", "") for hit in found]
    page.click(".menu summary:has-text('Export')")
    with page.expect_download() as download:
        page.click(".menu button:has-text('JSON')")
    saved = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert saved["query"] == "bread rises"
    assert [answer["metadata"] for answer in saved["answers"]] == [hit["metadata"] for hit in found]
    formula = page.evaluate("""() => import("/download.js").then(({asCsv}) =>
        asCsv([{ id: "=1+1", text: 'a "b"', score: -1, path: [], metadata: { "x,y": null } }]))""")  # fmt: skip
    (head, row) = csv.reader(formula.splitlines())
    assert head == ["rank", "id", "score", "dense", "lexical", "concepts", "text", "x,y"]
    assert row == ["1", "'=1+1", "-1", "", "", "", 'a "b"', ""]


def test_a_document_with_its_path_and_neighbours(page: Page, titled: Running, shot: Shot) -> None:
    page.goto(titled.url)
    ask(page, "flat tyre")
    page.click(".hit[data-id='bicycle/02'] h3 a")
    page.wait_for_selector(".neighbours .card")
    shot(page, "document")
    assert address(page) == {"q": "flat tyre", "doc": "bicycle/02"}
    assert page.locator("#list h1").inner_text() == "bicycle/02"
    assert page.locator(".text.whole").inner_text() == DOCUMENTS["bicycle/02"]
    near = titled.http.post(
        "/v1/search", json={"query": DOCUMENTS["bicycle/02"], "k": 7, "hybrid": False}
    ).json()["hits"]  # fmt: skip
    assert near[0]["id"] == "bicycle/02"
    headings = page.locator(".neighbours h3").all_inner_texts()
    assert headings == [hit["id"] for hit in near[1:] if hit["id"][:4] != "8f14"]
    labels = page.locator("#path .crumbs a").all_text_contents()
    steps = near[0]["path"][1:-1]
    assert labels == [f"{step['label']} (basic level)" if step["basic"] else step["label"] for step in steps]
    traced = page.evaluate("[...canvas.map.marks.trace]")
    assert traced == [step["id"] for step in near[0]["path"]]
    page.click(".neighbours a >> nth=0")
    page.wait_for_function("() => document.querySelector('#list h1').innerText !== 'bicycle/02'")
    page.go_back()
    page.wait_for_selector("h1:has-text('bicycle/02')")
    page.click(".tools a:has-text('Why, for')")
    page.wait_for_selector(".hit[data-id='bicycle/02'] .why")
    page.go_back()
    page.click("a:has-text('Answers')")
    page.wait_for_selector(".hit")


def test_a_document_is_edited_and_deleted(page: Page) -> None:
    with seen_by(page, {"own": small_index()}) as own:
        page.goto(f"{own.url}/?doc=sky/03")
        page.click("#edit")
        page.fill("#new-text", "A comet is a dirty snowball with two tails")
        page.fill("#new-metadata", "no json")
        page.click("dialog button[type=submit]")
        page.wait_for_selector("dialog .notice:has-text('JSON object')")
        page.fill("#new-metadata", '{"title": "Comets"}')
        page.click("dialog button[type=submit]")
        page.wait_for_selector("h1:has-text('Comets')")
        stored = own.http.get("/v1/documents/sky/03").json()
        assert stored["text"] == "A comet is a dirty snowball with two tails"
        assert stored["metadata"] == {"title": "Comets"}
        page.wait_for_selector(".neighbours .card")
        page.click("#delete")
        page.click("dialog button:has-text('Keep it')")
        page.click("#delete")
        page.click("dialog button.danger")
        page.wait_for_selector(".lead:has-text('47 documents')")
        assert own.http.get("/v1/documents/sky/03").status_code == 404
        assert "doc" not in address(page)


def test_a_reader_is_offered_no_changes(page: Page) -> None:
    with seen_by(page, {"own": small_index()}, read_only=True) as own:
        page.goto(f"{own.url}/?doc=sky/03")
        page.wait_for_selector(".neighbours .card")
        page.wait_for_selector("#where button")
        place = page.locator("#path a").last.evaluate("link => link.firstChild.textContent")
        assert page.locator("#where [aria-current]").inner_text() == place  # the map shows where it lies
        assert page.locator("#edit, #delete").count() == 0
        assert not page.is_visible("#add")


def test_passages_are_told_apart_from_documents(page: Page, titled: Running) -> None:
    about = titled.http.get("/v1/info").json()
    assert about["passages"] > about["documents"]
    page.goto(titled.url)
    page.wait_for_selector(".card")
    assert page.locator(".lead").inner_text().startswith(f"{about['documents']} documents")
    assert f"there are {about['passages']} passages" in page.locator(".split").inner_text()
    assert all("passage" in text for text in page.locator(".card .small").all_inner_texts())
    with seen_by(page, {"whole": small_index()}) as whole:
        page.goto(whole.url)
        page.wait_for_selector(".card")
        assert page.locator(".split").count() == 0
        assert all("document" in text for text in page.locator(".card .small").all_inner_texts())


def test_texts_of_documents_are_never_markup(page: Page) -> None:
    """In a title, in metadata to choose from, in a file, and in a document's own view."""
    index = Index("lsa")
    evil = "<img src=x onerror='window.pwned = 1'>"
    index.add(
        [f"{evil} soup number {at} with onions" for at in range(12)],
        [f"evil/{at}" for at in range(12)],
        [{"title": f"{evil}{at}", evil: f"{evil}{at % 2}"} for at in range(12)],
    )
    with seen_by(page, {"evil": index}) as service:
        page.goto(f"{service.url}/?q=soup")
        page.wait_for_selector(".hit")
        page.click("#facets .menu summary")
        page.click("#facets .menu[open] label >> nth=0")
        page.wait_for_selector("#filters .chip")
        page.click(".hit h3 a >> nth=0")
        page.wait_for_selector(".neighbours .card")
        page.goto(service.url)
        page.click("#fields summary")
        page.wait_for_selector(".spread li")
        page.click("#changes summary")
        assert page.evaluate("window.pwned") is None
        assert page.locator("main img").count() == 0
