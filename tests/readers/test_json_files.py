"""JSON Lines and JSON."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import InputError
from gossamer.readers import read

GOOD = '{"id": 1, "text": "one"}\n\n{"id": 2, "text": "two"}\n'


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "A.JSONL"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(GOOD)
    assert [(record.id, record.text) for record in read(tmp_path)] == [("1", "one"), ("2", "two")]


def test_json_lines_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(GOOD.encode()))
    assert [record.id for record in read(tmp_path)] == ["1", "2"]


def test_other_line_separators_do_not_end_a_line(tmp_path: Path) -> None:
    content = '{"text":\r"one\u2028two\u0085three"}\r\n{"text": "x"}\r\n'
    (tmp_path / "a.jsonl").write_text(content, newline="")
    assert [record.text for record in read(tmp_path)] == ["one\u2028two\u0085three", "x"]


BROKEN = ['{"text": "cut', "[1]", "7", '"text"', "null", "not json", '{"text": ' + "[" * 100_000]


@pytest.mark.parametrize("line", BROKEN, ids=[line[:12] for line in BROKEN])
def test_a_broken_line_is_named_or_skipped(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + line + "\n" + GOOD)
    with pytest.raises(InputError, match=r"a\.jsonl:4: .*Repair the line, or skip such input with on_error='skip'"):
        list(read(path))
    reading = read(path, on_error="skip")
    assert [record.id for record in reading] == ["1", "2", "1", "2"]
    assert (reading.broken, reading.skipped, reading.records) == (1, 1, 4)


def test_a_file_wrong_throughout_does_not_fill_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.jsonl").write_text("wrong\n" * 1000)
    with caplog.at_level(logging.WARNING):
        reading = read(tmp_path, on_error="skip")
        assert list(reading) == []
    assert reading.broken == 1000
    assert len(caplog.records) == 20


def test_empty_texts_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": " "}\n{"text": null}\n{"text": "x"}\n')
    reading = read(tmp_path)
    assert len(list(reading)) == 1
    assert (reading.empty, reading.broken) == (2, 0)


def test_nan_and_halves_of_pairs_do_not_get_through(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "\\ud800", "text": "a\\udc00\\u0000", "x": NaN, "y": [-Infinity, "\\ud83d"]}'
    )
    (record,) = read(tmp_path)
    assert (record.id, record.text) == ("\ufffd", "a\ufffd\ufffd")
    assert record.metadata == {"x": None, "y": [None, "\ufffd"]}


@pytest.mark.parametrize(
    ("value", "ids"),
    [([{"text": "a"}, {"text": "b", "id": "x"}], ["a.json:1", "x"]), ({"text": "a"}, ["a.json"]), ([], [])],
)
def test_json_files(tmp_path: Path, value: Any, ids: list[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(value, indent=2))
    assert [record.id for record in read(tmp_path)] == ids


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", r"a\.json:1: item 1 is a int"),
        ("7", r"a\.json: a list of objects"),
        (GOOD, r"a\.json: not valid JSON .*\.jsonl"),
        ("[" * 100_000, r"a\.json: not valid JSON"),
    ],
)
def test_json_files_that_are_wrong(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=message):
        list(read(tmp_path))
    reading = read(tmp_path, on_error="skip")
    assert list(reading) == []
    assert reading.broken == 1
