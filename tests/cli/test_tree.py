"""`gossamer tree`: in the terminal, for other programs, as a page and as a figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TEXTS, Run
from gossamer.index import Index


def read(run: Run, *arguments: object, **options: Any) -> Any:
    return json.loads(run(*arguments, "--json", **options).stdout)


def test_as_json(run: Run, ready: Path) -> None:
    concepts = read(run, "tree", ready, "--depth", "2")["concepts"]
    root = concepts[0]
    assert (root["size"], root["depth"], root["parent"]) == (12, 0, None)
    below = [concept for concept in concepts if concept["parent"] == root["id"]]
    assert sum(concept["size"] for concept in below) == 12
    assert {concept["id"] for concept in below} == set(root["children"])
    assert all(concept["label"] for concept in concepts)

    largest = below[0]
    for name in ("--concept", "--within"):
        part = read(run, "tree", ready, "--depth", "1", name, largest["id"], "--examples", "2")
        assert part["concepts"][0] == largest
        assert {concept["id"] for concept in part["concepts"][1:]} == set(largest["children"])
        assert set(part["examples"]) == {str(id) for id in largest["children"] or [largest["id"]]}
        assert all(1 <= len(documents) <= 2 for documents in part["examples"].values())


def test_for_people(run: Run, ready: Path) -> None:
    lines = run("tree", ready, "--depth", "1").stdout.splitlines()
    assert lines[0].startswith("12 #")
    assert lines[0].endswith("everything")
    assert lines[-1].startswith("└── ")
    assert "more" in run("tree", ready, "--depth", "1", "--top", "1").stdout.splitlines()[-1]
    shown = run("tree", ready, "--depth", "0", "--examples", "3").stdout.splitlines()
    assert 2 <= len(shown) <= 4
    assert all(any(text[:20] in line for text, _ in TEXTS.values()) for line in shown[1:])
    assert "\x1b" not in "".join(shown)


def test_where_answers_lie(run: Run, ready: Path) -> None:
    lines = run("tree", ready, "--query", "fox in the forest", "-k", "2", "--depth", "1", "--top", "1").stdout
    assert lines.splitlines()[0].endswith("◆ 1, 2")
    assert "1. fox" in lines
    found = read(run, "tree", ready, "--query", "fox in the forest", "-k", "2")["answers"]
    assert [(answer["rank"], answer["id"]) for answer in found] == [(1, "fox"), (2, found[1]["id"])]
    assert len(found[0]["path"]) > 1


def test_topics(run: Run, ready: Path) -> None:
    found = read(run, "tree", ready, "--topics", "4")
    groups = set(found["topics"])
    assert len(groups) == 4
    assert set(found["assignments"]) == set(TEXTS)
    assert set(found["assignments"].values()) == groups
    assert groups == {concept["id"] for concept in found["concepts"][1:]}
    for group in groups:
        assert f"#{group} " in run("tree", ready, "--topics", "4").stdout


@pytest.mark.parametrize("format", ["json", "dot"])
def test_formats_to_a_file_and_to_standard_output(format: str, run: Run, ready: Path, tmp_path: Path) -> None:
    out = tmp_path / "tree"
    printed = run("tree", ready, "--format", format).stdout
    told = run("tree", ready, "--format", format, "--out", out)
    assert out.read_text() == printed
    assert not told.stdout
    assert "concepts" in told.stderr
    assert read(run, "tree", ready, "--format", format, "--out", out) == {"written": [str(out)]}
    if format == "json":
        assert json.loads(printed)["size"] == 12


def test_page(run: Run, ready: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert read(run, "tree", ready, "--html", out, "--query", "red fox")["written"] == [str(out)]
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert "<title>texts</title>" in page
    assert "12 documents" in page
    assert '"query":"red fox"' in page


def test_of_nothing(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.gsm"
    Index.create(empty, "lsa").close()
    assert run("tree", empty).stdout == "the index is empty\n"
    assert read(run, "tree", empty)["concepts"] == []
    assert run("tree", empty, "--format", "dot").stdout == ""
    failed = run("tree", empty, "--html", tmp_path / "x.html", ok=False)
    assert failed.exit_code == 1
    assert "the index is empty" in failed.stderr


def test_wrong_calls(run: Run, ready: Path, tmp_path: Path) -> None:
    for arguments in (("--format", "pdf"), ("--out", "x"), ("--topics", "0"), ("--format", "dot", "--json")):
        assert run("tree", ready, *arguments, ok=False).exit_code == 2
    failed = run("tree", ready, "--html", tmp_path / "none" / "x.html", ok=False)
    assert failed.exit_code == 1
    assert "cannot be written" in failed.stderr
