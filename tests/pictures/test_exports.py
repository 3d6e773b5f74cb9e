"""Exports are read back by real parsers: the same tree, the same texts, whatever stands in them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from gossamer.index import Index
from gossamer.pictures.branch import Branch, mark
from gossamer.pictures.exports import Format, export
from gossamer.plain_text import one_line, shortened

Edges = set[tuple[int, int]]


def edges(branch: Branch) -> Edges:
    return {(each.concept.id, child.concept.id) for each in branch.walk() for child in each.below}


def names(branch: Branch) -> dict[int, str]:
    return {each.concept.id: shortened(one_line(each.name), 60) for each in branch.walk()}


def test_json_nests(branch: Branch) -> None:
    top = json.loads(export(branch, "json"))
    waiting, found = [top], {}
    links: Edges = set()
    while waiting:
        node = waiting.pop()
        found[node["id"]] = node
        links |= {(node["id"], child["id"]) for child in node["children"]}
        waiting += node["children"]
    assert links == edges(branch)
    for each in branch.walk():
        node = found[each.concept.id]
        assert (node["size"], node["label"], node["depth"]) == (
            each.concept.size,
            each.concept.label,
            each.concept.depth,
        )
        assert [exemplar["text"] for exemplar in node["exemplars"]] == [one.text for one in each.concept.exemplars]


def test_dot_strings_end_where_they_should(branch: Branch) -> None:
    text = export(branch, "dot")
    quoted = r'"(?:[^"\\]|\\.)*"'
    statement = re.compile(rf"  c(\d+) \[label=({quoted})\];")
    lines = text.splitlines()
    labels = {int(found[1]): found[2] for line in lines if (found := statement.fullmatch(line))}
    read = {
        id: label[1:-1].rsplit("\\n", 1)[0].replace('\\"', '"').replace("\\\\", "\\") for id, label in labels.items()
    }
    assert read == names(branch)
    links = {(int(found[1]), int(found[2])) for found in re.finditer(r"^  c(\d+) -> c(\d+);$", text, re.MULTILINE)}
    assert links == edges(branch)
    assert len(lines) == 3 + len(labels) + len(links)


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_dot_is_read_by_graphviz(branch: Branch) -> None:
    done = subprocess.run(
        ["dot", "-Tjson"], input=export(branch, "dot"), capture_output=True, text=True, check=True, timeout=60
    )
    read = json.loads(done.stdout)
    assert len(read["objects"]) == len(branch)
    assert len(read["edges"]) == len(branch) - 1


@pytest.mark.parametrize("format", ["json", "dot"])
def test_answers_are_marked(format: Format, branch: Branch, index: Index) -> None:
    marked = mark(branch, index.search("wolf bear", k=3))
    assert export(marked, format) != export(branch, format)


def test_one_line() -> None:
    assert one_line(" a\n\tb\x1b[31m\x00 \x07c ") == "a b�[31m� �c"
    assert shortened("one two three four", 12) == "one two…"
    assert shortened("onetwothreefour", 6) == "onetw…"
    assert shortened("short", 5) == "short"
