"""Exports are read back by real parsers: the same tree, the same texts, whatever stands in them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

from gossamer.index import Index
from gossamer.pictures.branch import Branch, mark
from gossamer.pictures.exports import FORMATS, Format, export
from gossamer.pictures.words import one_line
from gossamer.rendering import shortened

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


def test_graphml_is_xml_that_says_the_same(branch: Branch) -> None:
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    root = ElementTree.fromstring(export(branch, "graphml").encode())
    graph = root.find("g:graph", space)
    assert graph is not None
    links = {
        (int(edge.attrib["source"][1:]), int(edge.attrib["target"][1:])) for edge in graph.findall("g:edge", space)
    }
    assert links == edges(branch)
    known = {key.attrib["id"] for key in root.findall("g:key", space)}
    for node, each in zip(graph.findall("g:node", space), branch.walk(), strict=True):
        data = {one.attrib["key"]: one.text or "" for one in node.findall("g:data", space)}
        assert set(data) == known
        assert data["label"] == one_line(each.name)
        assert int(data["size"]) == each.concept.size


def test_graphml_is_read_by_networkx(branch: Branch) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.parse_graphml(export(branch, "graphml"))
    assert networkx.is_arborescence(graph)
    assert len(graph) == len(branch)
    assert graph.nodes[f"c{branch.concept.id}"]["size"] == branch.concept.size


def read_newick(text: str) -> tuple[str, list[object]]:
    """A reader of its own: names in quotes, doubled quotes inside, lengths after a colon."""
    at = 0

    def node() -> tuple[str, list[object]]:
        nonlocal at
        below: list[object] = []
        if text[at] == "(":
            at += 1
            below.append(node())
            while text[at] == ",":
                at += 1
                below.append(node())
            assert text[at] == ")"
            at += 1
        assert text[at] == "'"
        found = re.compile(r"'((?:[^']|'')*)'(?::1)?").match(text, at)
        assert found
        at = found.end()
        return found[1].replace("''", "'"), below

    read = node()
    assert text[at:] == ";\n"
    return read


def test_newick_is_read_back(branch: Branch) -> None:
    def expected(each: Branch) -> tuple[str, list[object]]:
        name = f"{names(branch)[each.concept.id]} #{each.concept.id} ({each.concept.size})"
        return name, [expected(child) for child in each.below]

    assert read_newick(export(branch, "newick")) == expected(branch)


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


def test_mermaid_labels_hold_nothing_of_its_language(branch: Branch) -> None:
    lines = export(branch, "mermaid").splitlines()
    assert lines[0] == "flowchart LR"
    shown = {}
    for line in lines[1 : len(branch) + 1]:
        found = re.fullmatch(r'  c(\d+)\["([^"<>\[\]`(){};&$]*(?:#\d+;[^"<>\[\]`(){};&$]*)*)<br/>([\d,]+)"\]', line)
        assert found, line
        shown[int(found[1])] = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), found[2])
    assert shown == names(branch)
    links = {tuple(map(int, re.findall(r"\d+", line))) for line in lines[len(branch) + 1 :]}
    assert links == edges(branch)


@pytest.mark.parametrize("format", FORMATS)
def test_answers_are_marked(format: Format, branch: Branch, index: Index) -> None:
    marked = mark(branch, index.search("wolf bear", k=3))
    assert export(marked, format) != export(branch, format) or format == "newick"


def test_one_line() -> None:
    assert one_line(" a\n\tb\x1b[31m\x00 \x07c ") == "a b�[31m� �c"
    assert one_line("\ud800 \ufffe") == "� �"
    assert shortened("one two three four", 12) == "one two…"
    assert shortened("onetwothreefour", 6) == "onetw…"
    assert shortened("short", 5) == "short"
