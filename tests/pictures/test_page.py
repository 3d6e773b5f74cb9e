"""The page: one file, its data as data, no script but its own, and in a real browser no text becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gossamer.index import Index
from gossamer.pictures.branch import Branch, mark, read_branch
from gossamer.pictures.page import to_html

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
    query = "</script> wolf & bear"
    return to_html(mark(branch, index.search(query, k=3)), title="<b>title</b>", subtitle="&amp;", query=query)


def test_texts_are_data_and_nothing_else(page: str, branch: Branch) -> None:
    seen = Elements(page)
    assert [attrs.get("type") for attrs, _ in seen.of("script")] == ["application/json", None]
    assert not seen.of("img")
    assert not seen.of("b")
    assert seen.of("title")[0][1] == "<b>title</b>"
    columns = data_of(page)["concepts"]
    walked = list(branch.walk())
    assert columns["ids"] == [each.concept.id for each in walked]
    parents = [None if place < 0 else columns["ids"][place] for place in columns["parent"]]
    assert parents == [each.concept.parent for each in walked]
    texts = {text for exemplars in columns["exemplars"] for _, text in exemplars}
    assert any("<script>alert('pwned')</script>" in text for text in texts)
    assert any("{{data}}" in text for text in texts)


def test_answers_are_in_their_places(page: str) -> None:
    data = data_of(page)
    assert data["query"] == "</script> wolf & bear"
    assert [answer["rank"] for answer in data["answers"]] == [1, 2, 3]
    parent = data["concepts"]["parent"]
    for answer in data["answers"]:
        places = answer["places"]
        assert places[0] == 0
        assert [parent[place] for place in places[1:]] == places[:-1]


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
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|import\(|@import|url\(", Elements(page).of("script")[1][1])
    assert not re.search(r"https?://|@import|url\(", Elements(page).of("style")[0][1])


def test_what_is_hidden_is_told(index: Index) -> None:
    small = read_branch(index, most=8)
    assert small is not None
    columns = data_of(to_html(small, title="t"))["concepts"]
    assert sum(columns["hidden"]) == sum(each.hidden for each in small.walk()) > 0


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
    assert after.of("h2")[0][1] == "everything"
    assert "Answers to “</script> wolf & bear”" in [text for _, text in after.of("h3")]
