"""`gossamer tree --html`: the explorer's map in a file, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer import Index
from gossamer.pictures.branch import Branch, mark, read_branch
from gossamer.pictures.page import to_html
from web.conftest import Shot, small_index
from web.test_map import GLOW, heading_of
from web.test_page import SHADE

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with small_index() as found:
        yield found


@pytest.fixture(scope="module")
def branch(index: Index) -> Branch:
    found = read_branch(index, most=50)
    assert found is not None
    return mark(found, index.search("planet moon", 3))


@pytest.fixture
def tree(page: Page, branch: Branch, tmp_path: Path) -> Page:
    """The page, opened from a file."""
    file = tmp_path / "tree.html"
    file.write_text(to_html(branch, title="notes", query="planet moon"), encoding="utf-8")
    page.goto(file.as_uri())
    page.wait_for_selector("#where .crumbs")
    return page


def test_it_shows_everything_and_the_answers_shine(tree: Page, branch: Branch, shot: Shot) -> None:
    tree.wait_for_timeout(150)
    shot(tree, "tree-page")
    assert tree.locator("#list h1").inner_text() == "everything"
    assert tree.locator(".card h3").all_inner_texts() == [each.name for each in branch.below]
    assert tree.locator(".over").first.inner_text().lower() == "answers to “planet moon”"
    assert tree.evaluate(GLOW) > 300


def test_a_click_zooms_in_and_back_goes_back(tree: Page, branch: Branch) -> None:
    first = branch.below[0]
    tree.mouse.click(*heading_of(tree, first.concept.id))
    tree.wait_for_function(f"location.hash === '#{first.concept.id}'")
    assert tree.locator("#list h1").inner_text() == first.name
    assert tree.locator("#where li").all_inner_texts() == ["everything", first.name]
    tree.click("#where a:has-text('everything')")
    tree.wait_for_function(f"location.hash === '#{branch.concept.id}'")
    tree.go_back()
    tree.wait_for_function(f"location.hash === '#{first.concept.id}'")
    assert tree.locator("#list h1").inner_text() == first.name


def test_keys(tree: Page, branch: Branch) -> None:
    second = branch.below[1]
    tree.keyboard.press("ArrowRight")
    tree.keyboard.press("ArrowDown")
    assert tree.locator("#spoken").inner_text() == f"{second.name}, {second.concept.size} documents, level 1"
    tree.keyboard.press("Enter")
    tree.wait_for_selector(f"h1:has-text('{second.name}')")
    tree.keyboard.press("Escape")
    tree.wait_for_selector("h1:has-text('everything')")
    light = tree.evaluate(SHADE)
    tree.keyboard.press("d")
    tree.wait_for_timeout(150)
    assert tree.evaluate(SHADE) < light - 50
    tree.keyboard.press("/")
    assert tree.evaluate("document.activeElement.id") == "query"


def test_hovering_shows_exemplars(tree: Page, branch: Branch) -> None:
    first = branch.below[0]
    tree.mouse.move(*heading_of(tree, first.concept.id))
    tree.wait_for_selector("#tip li")
    assert tree.locator("#tip strong").inner_text() == first.name
    assert tree.locator("#tip li").all_inner_texts() == [each.text for each in first.concept.exemplars]


def test_finding(tree: Page, branch: Branch) -> None:
    tree.fill("#query", "tyre flat")
    tree.wait_for_selector("#count")
    holding = [
        each.name
        for each in branch.walk()
        for texts in [" ".join([each.name, *each.concept.terms, *(one.text for one in each.concept.exemplars)]).lower()]
        if "tyre" in texts and "flat" in texts
    ]
    assert tree.locator("#count").inner_text() == f"{len(holding)} found"
    assert sorted(tree.locator(".card h3").all_inner_texts()) == sorted(holding)
    tree.press("#query", "Enter")
    tree.wait_for_selector("#list h1")
    assert tree.locator("#list h1").inner_text() in holding


def test_what_is_left_out_is_told(tree: Page, branch: Branch) -> None:
    closed = next(each for each in branch.walk() if each.hidden)
    tree.evaluate(f"location.hash = '#{closed.concept.id}'")
    tree.wait_for_selector(".notice")
    assert f"--concept {closed.concept.id}" in tree.locator(".notice").inner_text()


def test_a_part_of_the_tree_has_its_own_name(page: Page, index: Index, branch: Branch, tmp_path: Path) -> None:
    inner = next(each for each in branch.below if each.below)
    part = read_branch(index, concept=inner.concept.id)
    assert part is not None
    (tmp_path / "part.html").write_text(to_html(part, title="part"), encoding="utf-8")
    page.goto((tmp_path / "part.html").as_uri())
    page.wait_for_selector("#where .crumbs")
    assert page.locator("#list h1").inner_text() == inner.name
    page.mouse.move(*heading_of(page, inner.below[0].concept.id))
    page.wait_for_selector("#tip strong")
    assert page.locator("#tip strong").inner_text() == inner.below[0].name
