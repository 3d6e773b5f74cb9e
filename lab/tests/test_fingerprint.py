"""Pages of results name the engine that made them; one that an earlier engine made says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer_lab import fingerprint, pages
from gossamer_lab.tables import Report, Table, write

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("family", fingerprint.FAMILIES)
def test_the_kept_answers_are_those_of_this_engine(family: str) -> None:
    assert fingerprint.same(fingerprint.answers(family), fingerprint.kept()[family]), (
        f"the engine answers otherwise than when lab/src/gossamer_lab/fingerprint.json was written ({family}). If that "
        "is meant, run: python -m gossamer_lab.fingerprint && gossamer eval check --mark"
    )


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_a_page_is_current_or_says_that_it_is_not(page: pages.Page) -> None:
    assert pages.is_current(page, RESULTS) != pages.says_so(page, RESULTS), (
        f"{page.name}.md was made by an earlier engine: make it again (gossamer eval all --only {page.name}), or run "
        "gossamer eval check --mark"
    )


def test_every_page_has_a_command() -> None:
    assert {page.name for page in pages.PAGES} == {file.stem for file in RESULTS.glob("*.json")} - {"gpu"}


def test_rounding_changes_nothing_and_a_new_answer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = fingerprint.kept()["words"]
    rounded = [each if isinstance(each, str) else each * (1 + 1e-5) for each in kept]
    other = [kept[0], *(1.01 * each for each in kept[1:] if not isinstance(each, str))]
    now = fingerprint.current(["words"])
    monkeypatch.setattr(fingerprint, "answers", lambda family: rounded)
    assert fingerprint.of_this_engine(["words"]) == now
    monkeypatch.setattr(fingerprint, "answers", lambda family: other)
    assert fingerprint.of_this_engine(["words"]) not in ("", now)
    assert fingerprint.of_this_engine([]) == ""


def test_the_sentence_comes_and_goes(tmp_path: Path) -> None:
    page = next(page for page in pages.PAGES if page.name == "words")
    report = Report("words", "gossamer bench words", "made-up data", [Table("t", "T", [{"a": 1}])], 1.0)
    write(replace(report, engine="of long ago"), tmp_path)
    before = (tmp_path / "words.md").read_text()
    assert pages.mark(tmp_path, ["words"]) == ["words"]
    assert pages.mark(tmp_path, ["words"]) == ["words"]
    assert (tmp_path / "words.md").read_text().count(pages.EARLIER) == 1
    write(replace(report, engine=fingerprint.current(page.families)), tmp_path)
    assert pages.mark(tmp_path, ["words"]) == []
    text = (tmp_path / "words.md").read_text()
    assert pages.EARLIER not in text
    assert text.replace(fingerprint.current(page.families), "of long ago") == before
    assert json.loads((tmp_path / "words.json").read_text())["engine"] == fingerprint.current(page.families)
