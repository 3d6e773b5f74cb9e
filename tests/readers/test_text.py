"""Plain text and Markdown."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from gossamer.readers import Record, read
from gossamer.readers.formats.text import title_of


def test_one_document_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("  One\n\ntwo  \n")
    os.utime(path, (1_767_225_600, 1_767_225_600))
    about = {"path": "a.txt", "modified": "2026-01-01T00:00:00+00:00"}
    assert list(read(path)) == [Record("a.txt", "  One\n\ntwo  \n", about, str(path), frozenset(about))]


def test_one_document_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\n  two \r\nthree\u2028still three")
    reading = read(tmp_path, lines=True)
    assert [(record.id, record.text) for record in reading] == [
        ("a.txt:1", "one"),
        ("a.txt:3", "two"),
        ("a.txt:4", "three\u2028still three"),
    ]
    assert reading.empty == 1


def test_the_heading_is_the_title(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("intro\n\n## The *tree* ##\ntext")
    (record,) = read(tmp_path)
    assert record.own_metadata == {"title": "The *tree*"}
    assert record.text.startswith("intro")


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("# One\n# Two", "One"),
        ("text\n\n### Deep ###\n", "Deep"),
        ("Underlined\n==========\n# Later", "Underlined"),
        ("Also this\n---\n", "Also this"),
        ("```sh\n# a comment\n```\n# Real", "Real"),
        ("~~~\n# a\n```\n# b\n~~~\n# Real", "Real"),
        ("---\n# yaml\nkey: value\n---\n# Real", "Real"),
        ("---\nno end\n# Real", "Real"),
        ("#hashtag\ntext", None),
        ("    # code", None),
        ("plain", None),
        ("#\n", None),
        ("# a" + " " * 50_000 + "x", "a" + " " * 50_000 + "x"),  # in linear time
        ("#" + " #" * 20_000 + "\tx ##  ", "# " * 19_999 + "#\tx"),
        ("# C# and F#\t", "C# and F"),
        ("", None),
    ],
)
def test_titles(markdown: str, title: str | None) -> None:
    assert title_of(markdown) == title


def test_a_blank_file_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" \n")
    (tmp_path / "b.txt").write_text("")
    reading = read(tmp_path)
    assert list(reading) == []
    assert (reading.empty, reading.skipped) == (2, 2)


def test_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.md.gz").write_bytes(gzip.compress("# Títle\nx".encode()))
    (record,) = read(tmp_path)
    assert (record.id, record.text, record.own_metadata) == ("a.md.gz", "# Títle\nx", {"title": "Títle"})
