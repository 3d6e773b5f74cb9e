"""The page: one file, its data as data, no script but its own, and in a real browser no text becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gossamer.index import Index
from gossamer.pictures.branch import Branch, mark, read_branch
from gossamer.pictures.page import to_html

QUERY = "</script> wolf & bear"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


class Elements(HTMLParser):
    """What a browser's parser sees."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[int, str] = {}
        self.inside = True
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        place = len(self.tags) - 1 if self.inside else -1
        self.content[place] = self.content.get(place, "") + data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, self.content.get(i, "")) for i, (name, attrs) in enumerate(self.tags) if name == tag]


def data_of(page: str) -> Any:
    ((_, text),) = [(attrs, text) for attrs, text in Elements(page).of("script") if attrs.get("id") == "data"]
    return json.loads(text)


@pytest.fixture(scope="module")
def page(branch: Branch, index: Index) -> str:
    return to_html(mark(branch, index.search(QUERY, k=3)), title="<b>title</b>", subtitle="&amp;", query=QUERY)


def test_texts_are_data_and_nothing_else(page: str, branch: Branch) -> None:
    seen = Elements(page)
    assert [attrs.get("type") for attrs, _ in seen.of("script")] == ["application/json", None]
    assert not seen.of("img")
    assert not seen.of("b")
    assert seen.of("title")[0][1] == "<b>title</b>"
    concepts = data_of(page)["concepts"]
    walked = list(branch.walk())
    assert [concept["id"] for concept in concepts] == [each.concept.id for each in walked]
    assert [concept["parent"] for concept in concepts] == [each.concept.parent for each in walked]
    assert [concept["children"] for concept in concepts] == [len(each.concept.children) for each in walked]
    texts = {exemplar["text"] for concept in concepts for exemplar in concept["exemplars"]}
    assert any("<script>alert('pwned')</script>" in text for text in texts)
    assert any("{{data}}" in text for text in texts)


def test_answers_are_in_the_deepest_concept_shown(page: str, branch: Branch, index: Index) -> None:
    data = data_of(page)
    assert data["query"] == QUERY
    hits = index.search(QUERY, k=3)
    assert [(answer["rank"], answer["id"]) for answer in data["answers"]] == [
        (rank, hit.id) for rank, hit in enumerate(hits, 1)
    ]
    assert [answer["concept"] for answer in data["answers"]] == [hit.path[-1].id for hit in hits]


def test_the_only_script_allowed_is_its_own(page: str) -> None:
    seen = Elements(page)
    policy = next(attrs["content"] for attrs, _ in seen.of("meta") if attrs.get("http-equiv"))
    script = seen.of("script")[1][1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_nothing_comes_from_elsewhere(page: str) -> None:
    assert not re.findall(r"(?:src|href)\s*=\s*[\"']?(?!data:)[^\"'>\s]*//", page.partition('<script id="data"')[0])
    assert not re.search(
        r"https?://|\bfetch\(|XMLHttpRequest|import\(|@import|url\(", Elements(page).of("script")[1][1]
    )
    assert not re.search(r"https?://|@import|url\(", Elements(page).of("style")[0][1])


def test_children_that_are_left_out_are_counted(index: Index) -> None:
    small = read_branch(index, most=8)
    assert small is not None
    concepts = data_of(to_html(small, title="t"))["concepts"]
    shown = [concept["parent"] for concept in concepts]
    left_out = [concept["children"] - shown.count(concept["id"]) for concept in concepts]
    assert left_out == [each.hidden for each in small.walk()]
    assert sum(left_out) > 0


def test_the_map_is_the_explorers(page: str) -> None:
    """Every module of web/map is in the script, each once, with its body unchanged but for imports and exports."""
    script = Elements(page).of("script")[1][1]
    for file in (files("gossamer") / "web" / "map").iterdir():
        if file.name.endswith(".js"):
            body = re.split(r"^import .*\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[-1]
            assert script.count(re.sub(r"^export ", "", body, flags=re.MULTILINE).strip()) == 1, file.name
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no browser")
def test_in_a_browser(page: str, tmp_path: Path) -> None:
    """It draws, says what it shows, and no script of a text has run."""
    assert BROWSER is not None
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER, "--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run",
            "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    after = Elements(done.stdout)
    assert not after.of("img")
    assert after.of("h1")[0][1] == "everything"
    assert f"Answers to “{QUERY}”" in [text for _, text in after.of("h2")]
